import type { Broadcast } from "./broadcast.ts";

/**
 * Waits for the condition, which is checked after every change. False if the condition was not met within `ms`, the
 * viewer has disconnected, or the broadcast has ended.
 */
export function waitFor(
  broadcast: Broadcast,
  isMet: () => boolean,
  { ms, signal }: { ms: number; signal: AbortSignal },
): Promise<boolean> {
  if (isMet()) return Promise.resolve(true);
  if (broadcast.isClosed || signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (result: boolean) => {
      clearTimeout(timer);
      stopListening();
      signal.removeEventListener("abort", onGone);
      resolve(result);
    };
    const onGone = () => end(false);
    const timer = setTimeout(onGone, ms);
    const stopListening = broadcast.onChange(() => {
      if (isMet()) end(true);
      else if (broadcast.isClosed) end(false);
    });
    signal.addEventListener("abort", onGone);
  });
}
