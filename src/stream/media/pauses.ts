import { hasBegun } from "./begun.ts";
import type { MediaRun } from "./port.ts";

/** Holds back what nobody waits for while somebody waits: niceness shares out processors, but neither their caches nor the memory behind them. */
export interface Pauses {
  /** A run begins, as a process group. Held back is the background, and what is made ahead: until `awaited` is aborted, and somebody waits for it. Returns its end. */
  enter(group: number, urgency: NonNullable<MediaRun["urgency"]>, awaited?: AbortSignal): () => void;
}

export interface PausesParts {
  /** Milliseconds. */
  now?: () => number;
  signal?: (group: number, signal: "SIGSTOP" | "SIGCONT") => void;
  /** Whether a run may be stopped already. */
  hasBegun?: (group: number) => boolean;
}

/** Milliseconds that runs are held back at a time; after that they work for a part of that time, whoever waits. */
const LONGEST_MS = 3_000;
const PART = 1 / 4;
/** Until a run that has just been started is looked at again. */
const BEGIN_MS = 25;

export function createPauses({
  now = () => performance.now(),
  signal = toGroup,
  hasBegun: mayStop = hasBegun,
}: PausesParts = {}): Pauses {
  const patient = new Set<number>();
  let waiting = 0;
  let heldSince: number | undefined;
  let notBefore = 0;
  let timer: NodeJS.Timeout | undefined;

  function hold() {
    if (heldSince !== undefined || patient.size === 0 || waiting === 0) return;
    clearTimeout(timer);
    const early = notBefore - now();
    if (early > 0) {
      timer = setTimeout(hold, early).unref();
      return;
    }
    heldSince = now();
    for (const group of patient) stop(group);
    timer = setTimeout(release, LONGEST_MS).unref();
  }

  function stop(group: number) {
    if (heldSince === undefined || !patient.has(group)) return;
    if (mayStop(group)) signal(group, "SIGSTOP");
    else setTimeout(() => stop(group), BEGIN_MS).unref();
  }

  function release() {
    clearTimeout(timer);
    if (heldSince !== undefined) {
      notBefore = now() + PART * (now() - heldSince);
      heldSince = undefined;
      for (const group of patient) signal(group, "SIGCONT");
    }
    hold();
  }

  function wait(): () => void {
    waiting++;
    hold();
    return () => {
      if (--waiting === 0) release();
    };
  }

  return {
    enter(group, urgency, awaited) {
      if (urgency === "urgent" || awaited?.aborted === true) return wait();
      // Pictures for pages and the like: somebody waits for them too, though not as for a film that stands still.
      if (urgency === "soon" && awaited === undefined) return () => {};
      let leave: (() => void) | undefined;
      const hurry = () => {
        patient.delete(group);
        if (heldSince !== undefined) signal(group, "SIGCONT");
        leave = wait();
      };
      patient.add(group);
      awaited?.addEventListener("abort", hurry, { once: true });
      if (heldSince === undefined) hold();
      else stop(group);
      return () => {
        awaited?.removeEventListener("abort", hurry);
        patient.delete(group);
        leave?.();
      };
    },
  };
}

function toGroup(group: number, signal: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(-group, signal);
  } catch {
    // Nobody is left in it.
  }
}
