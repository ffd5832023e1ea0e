/** Bounds of what one process keeps of the workers it may be asked for. */
export interface LiveLimits {
  /** Scripts whose deployment is remembered. */
  routes: number;
  /** Versions that the runtime knows, and octets of their modules. The least recently used go first; one that is at work stays. */
  versions: number;
  versionBytes: number;
  /** A version that has not been used for this long is forgotten, with its process. */
  restMs: number;
}

export const DEFAULT_LIVE_LIMITS: LiveLimits = {
  routes: 10_000,
  versions: 1000,
  versionBytes: 1024 ** 3,
  restMs: 10 * 60_000,
};
