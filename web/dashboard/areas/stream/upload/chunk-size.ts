const MIB = 1024 * 1024;
/** Chunks are multiples of 256 KiB and at least 5 MiB, which every TUS server for videos accepts. */
const STEP_BYTES = 256 * 1024;
const MIN_BYTES = 5 * MIB;
const MAX_BYTES = 50 * MIB;

/** Size of the first chunk, before the speed is known. */
const FIRST_BYTES = 8 * MIB;
/**
 * Duration of one request. Shorter than the timeouts of common proxies; long enough that the pause between two requests
 * does not matter.
 */
const CHUNK_SECONDS = 10;

export const firstChunkBytes = (limit?: number): number => Math.min(FIRST_BYTES, limit ?? MAX_BYTES);

/**
 * Computes the size of the next chunk from the size and duration of the previous one. `limit`: the maximum that the
 * server accepts, in bytes; it may be below the usual minimum.
 */
export function nextChunkBytes(sentBytes: number, seconds: number, limit = MAX_BYTES): number {
  // An empty chunk, or one without a duration, has no speed.
  if (sentBytes <= 0 || seconds <= 0) return firstChunkBytes(limit);
  const bytes = Math.floor(((sentBytes / seconds) * CHUNK_SECONDS) / STEP_BYTES) * STEP_BYTES;
  return Math.min(MAX_BYTES, limit, Math.max(MIN_BYTES, bytes));
}
