import type { Clock } from "./clock.ts";
import { networkOf } from "./networks.ts";

/** Length of the windows in which requests and failed authentication attempts are counted. */
export const RATE_WINDOW_SECONDS = 300;
/** Requests per token and window by default: the published limit of the hosted API. */
export const DEFAULT_REQUESTS_PER_WINDOW = 1200;

/** Failed authentication attempts per client network, in fixed windows. */
export interface FailureWindows {
  /**
   * Returns the seconds until the network may try again; undefined if it has not reached the limit, or if it is exempt.
   * Returns a promise if the counts of other processes must be read.
   */
  secondsLeft(ip: string | undefined, isExempt?: () => boolean): number | undefined | Promise<number | undefined>;
  /** Counts a failed attempt. The promise resolves when it counts in every process. */
  failed(ip: string | undefined): void | Promise<void>;
}

/** Counts failures in this process only. */
interface LocalFailureWindows extends FailureWindows {
  secondsLeft(ip: string | undefined, isExempt?: () => boolean): number | undefined;
  failed(ip: string | undefined): void;
}

/** Maximum number of tracked networks; a new one evicts the one with the oldest window. */
const MAX_NETWORKS = 10_000;

/** `failures`: allowed attempts per network and window; 0 disables the limit. */
export function createFailureWindows(
  { failures, seconds }: { failures: number; seconds: number },
  clock: Pick<Clock, "now">,
): LocalFailureWindows {
  const windows = new Map<string, { ends: number; count: number }>();
  return {
    secondsLeft(ip, isExempt = () => false) {
      if (windows.size === 0) return undefined;
      const { ends, count } = windows.get(networkOf(ip ?? "")) ?? { ends: 0, count: 0 };
      const leftMs = ends - clock.now();
      return leftMs <= 0 || count < failures || isExempt() ? undefined : Math.ceil(leftMs / 1000);
    },
    failed(ip) {
      if (failures === 0) return;
      const [network, now] = [networkOf(ip ?? ""), clock.now()];
      const window = windows.get(network);
      if (window !== undefined && window.ends > now) return void window.count++;
      windows.delete(network);
      if (windows.size >= MAX_NETWORKS) windows.delete(windows.keys().next().value!);
      windows.set(network, { ends: now + seconds * 1000, count: 1 });
    },
  };
}
