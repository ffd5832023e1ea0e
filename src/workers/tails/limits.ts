export interface TailLimits {
  /** Lifetime in ms of a tail without a reader. Every heartbeat of its reader restarts it. */
  ttlMs: number;
  /** Tails of one script that have a reader or were created recently. */
  perScript: number;
  heartbeatMs: number;
  /**
   * Without a heartbeat for this long, a tail is considered to have no reader: records are no longer stored for it, and
   * it no longer counts.
   */
  staleMs: number;
  /** How long, in ms, records wait for the process to which the reader is connected. */
  bufferMs: number;
  /** Limits on the records that one process may write to the table within bufferMs. */
  bufferRecords: number;
  bufferBytes: number;
  /** Records that may wait for one slow reader; further ones are dropped, and the reader is notified. */
  queueRecords: number;
  queueBytes: number;
  /** Maximum number of readers connected to one process. */
  readers: number;
}

const MIB = 1024 * 1024;

/** The hosted service allows ten tails per script and keeps them for some hours. */
export const TAIL_LIMITS: TailLimits = {
  ttlMs: 6 * 3600_000,
  perScript: 10,
  heartbeatMs: 60_000,
  staleMs: 180_000,
  bufferMs: 60_000,
  bufferRecords: 10_000,
  bufferBytes: 16 * MIB,
  queueRecords: 1000,
  queueBytes: 4 * MIB,
  readers: 1000,
};
