/** Limits on the workers cached by one process. */
export interface LiveLimits {
  /** Maximum number of scripts whose deployment is cached. */
  routes: number;
  /**
   * Maximum number of versions in the runtime, and maximum bytes of their modules. The least recently used versions are
   * evicted first; a busy version is not evicted.
   */
  versions: number;
  versionBytes: number;
  /** Idle time after which a version is evicted together with its process. */
  restMs: number;
}

export const DEFAULT_LIVE_LIMITS: LiveLimits = {
  routes: 10_000,
  versions: 1000,
  versionBytes: 1024 ** 3,
  restMs: 10 * 60_000,
};
