import { hasStartedProgram } from "./begun.ts";
import type { MediaRun } from "./port.ts";

/** Pauses background runs while a viewer waits: niceness shares processor time, but not caches and memory bandwidth. */
interface BackgroundThrottle {
  /**
   * Registers a run that has started, by its process group. Background runs are paused, and so are look-ahead runs
   * until `awaited` is aborted because a viewer is waiting for them. Returns a function that ends the run.
   */
  register(group: number, urgency: NonNullable<MediaRun["urgency"]>, awaited?: AbortSignal): () => void;
}

interface BackgroundThrottleDeps {
  /** Milliseconds. */
  now?: () => number;
  signal?: (group: number, signal: "SIGSTOP" | "SIGCONT") => void;
  /** Whether a run can be stopped yet. */
  hasStarted?: (group: number) => boolean;
}

/**
 * Maximum length of a pause in milliseconds; after it, paused runs work for a share of that time, even if viewers are
 * waiting.
 */
const MAX_MS = 3_000;
const PART = 1 / 4;
/** Delay before a newly started run is checked again. */
const BEGIN_MS = 25;

export function createBackgroundThrottle({
  now = () => performance.now(),
  signal = toGroup,
  hasStarted: mayStop = hasStartedProgram,
}: BackgroundThrottleDeps = {}): BackgroundThrottle {
  const pausable = new Set<number>();
  let waiting = 0;
  let heldSince: number | undefined;
  let notBefore = 0;
  let timer: NodeJS.Timeout | undefined;

  function hold() {
    if (heldSince !== undefined || pausable.size === 0 || waiting === 0) return;
    clearTimeout(timer);
    const early = notBefore - now();
    if (early > 0) {
      timer = setTimeout(hold, early).unref();
      return;
    }
    heldSince = now();
    for (const group of pausable) stop(group);
    timer = setTimeout(release, MAX_MS).unref();
  }

  function stop(group: number) {
    if (heldSince === undefined || !pausable.has(group)) return;
    if (mayStop(group)) signal(group, "SIGSTOP");
    else setTimeout(() => stop(group), BEGIN_MS).unref();
  }

  function release() {
    clearTimeout(timer);
    if (heldSince !== undefined) {
      notBefore = now() + PART * (now() - heldSince);
      heldSince = undefined;
      for (const group of pausable) signal(group, "SIGCONT");
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
    register(group, urgency, awaited) {
      if (urgency === "urgent" || awaited?.aborted === true) return wait();
      // Images for pages and similar requests: they are awaited too, but less urgently than a stalled video.
      if (urgency === "soon" && awaited === undefined) return () => {};
      let leave: (() => void) | undefined;
      const hurry = () => {
        pausable.delete(group);
        if (heldSince !== undefined) signal(group, "SIGCONT");
        leave = wait();
      };
      pausable.add(group);
      awaited?.addEventListener("abort", hurry, { once: true });
      if (heldSince === undefined) hold();
      else stop(group);
      return () => {
        awaited?.removeEventListener("abort", hurry);
        pausable.delete(group);
        leave?.();
      };
    },
  };
}

function toGroup(group: number, signal: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(-group, signal);
  } catch {
    // The group is already empty.
  }
}
