/** The input that a connection is waiting for. */
type Phase = "command" | "data" | "handshake";

/** Creates the single deadline of a connection. */
export function createDeadline() {
  let current: { phase: Phase; timer: NodeJS.Timeout } | undefined;

  function clear() {
    clearTimeout(current?.timer);
    current = undefined;
  }

  return {
    currentPhase: () => current?.phase,
    /** Replaces the deadline. */
    set(phase: Phase, ms: number, onExpired: () => void) {
      clear();
      current = { phase, timer: setTimeout(onExpired, ms).unref() };
    },
    clear,
  };
}
