import type { Broadcast } from "./broadcast.ts";

/** Until it is so, which is looked at after every change. False: not within `ms`, or the viewer has gone, or nothing more will come. */
export function waitFor(
  broadcast: Broadcast,
  met: () => boolean,
  { ms, signal }: { ms: number; signal: AbortSignal },
): Promise<boolean> {
  if (met()) return Promise.resolve(true);
  if (broadcast.over || signal.aborted) return Promise.resolve(false);
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
      else if (broadcast.over) end(false);
    });
    signal.addEventListener("abort", gone);
  });
}
