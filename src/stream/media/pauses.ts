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
  /** Returns true if a run can be stopped yet. */
  hasStarted?: (group: number) => boolean;
}

/**
 * Maximum length of a pause in milliseconds; after that, paused runs continue for a share of the time, even if viewers
 * are waiting.
 */
const MAX_PAUSE_MS = 3_000;
const MIN_RUN_RATIO = 1 / 4;
/** Delay before a newly started run is checked again. */
const START_RETRY_MS = 25;

export function createBackgroundThrottle({
  now = () => performance.now(),
  signal = signalGroup,
  hasStarted: canPause = hasStartedProgram,
}: BackgroundThrottleDeps = {}): BackgroundThrottle {
  const pausable = new Set<number>();
  let waiting = 0;
  let heldSince: number | undefined;
  let nextPauseAt = 0;
  let timer: NodeJS.Timeout | undefined;

  function pauseAll() {
    if (heldSince !== undefined || pausable.size === 0 || waiting === 0) return;
    clearTimeout(timer);
    const remainingMs = nextPauseAt - now();
    if (remainingMs > 0) {
      timer = setTimeout(pauseAll, remainingMs).unref();
      return;
    }
    heldSince = now();
    for (const group of pausable) stop(group);
    timer = setTimeout(release, MAX_PAUSE_MS).unref();
  }

  function stop(group: number) {
    if (heldSince === undefined || !pausable.has(group)) return;
    if (canPause(group)) signal(group, "SIGSTOP");
    else setTimeout(() => stop(group), START_RETRY_MS).unref();
  }

  function release() {
    clearTimeout(timer);
    if (heldSince !== undefined) {
      nextPauseAt = now() + MIN_RUN_RATIO * (now() - heldSince);
      heldSince = undefined;
      for (const group of pausable) signal(group, "SIGCONT");
    }
    pauseAll();
  }

  function wait(): () => void {
    waiting++;
    pauseAll();
    return () => {
      if (--waiting === 0) release();
    };
  }

  return {
    register(group, urgency, awaited) {
      if (urgency === "urgent" || awaited?.aborted === true) return wait();
      // Images for pages and similar requests: they are awaited too, but less urgently than a stalled video.
      if (urgency === "soon" && awaited === undefined) return () => {};
      let leaveWait: (() => void) | undefined;
      const runUnpaused = () => {
        pausable.delete(group);
        if (heldSince !== undefined) signal(group, "SIGCONT");
        leaveWait = wait();
      };
      pausable.add(group);
      awaited?.addEventListener("abort", runUnpaused, { once: true });
      if (heldSince === undefined) pauseAll();
      else stop(group);
      return () => {
        awaited?.removeEventListener("abort", runUnpaused);
        pausable.delete(group);
        leaveWait?.();
      };
    },
  };
}

function signalGroup(group: number, signal: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(-group, signal);
  } catch {
    // The group is already empty.
  }
}
