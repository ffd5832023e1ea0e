export interface TailLimits {
  /** How long a tail lives that nobody reads, in ms. Every heartbeat of its reader begins this anew. */
  ttlMs: number;
  /** Tails of one script that are read or were made just now. */
  perScript: number;
  heartbeatMs: number;
  /** Without a heartbeat for this long, nobody reads a tail: records are no longer kept for it, and it counts no more. */
  staleMs: number;
  /** Records wait this long, in ms, for the process that holds the reader. */
  bufferMs: number;
  /** What one process puts into the table of waiting records within bufferMs. */
  bufferRecords: number;
  bufferBytes: number;
  /** What waits for one slow reader; more is left out, and the reader is told. */
  queueRecords: number;
  queueBytes: number;
  /** Readers of one process. */
  readers: number;
}

const MIB = 1024 * 1024;

/** The hosted service allows ten tails of a script and lets them live for some hours. */
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
