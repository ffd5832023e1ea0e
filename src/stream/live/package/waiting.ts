import type { Broadcast } from "./broadcast.ts";

/**
 * Waits for the condition, which is checked after every change. False: the condition was not met within `ms`, the
 * viewer has disconnected, or the broadcast has ended.
 */
export function waitFor(
  broadcast: Broadcast,
  met: () => boolean,
  { ms, signal }: { ms: number; signal: AbortSignal },
): Promise<boolean> {
  if (met()) return Promise.resolve(true);
  if (broadcast.isClosed || signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (result: boolean) => {
      clearTimeout(timer);
      unlisten();
      signal.removeEventListener("abort", gone);
      resolve(result);
    };
    const gone = () => end(false);
    const timer = setTimeout(gone, ms);
    const unlisten = broadcast.onChange(() => {
      if (met()) end(true);
      else if (broadcast.isClosed) end(false);
    });
    signal.addEventListener("abort", gone);
  });
}
