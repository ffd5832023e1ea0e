import { streamErrors } from "../errors.ts";

const MIN_CHUNK_BYTES = 5 * 1024 * 1024;
const CHUNK_UNIT_BYTES = 256 * 1024;

export interface UploadChunk {
  offset: number;
  /** Declared bytes of this request; undefined without Content-Length. */
  octets: number | undefined;
  /** Total upload length; undefined while deferred. */
  length: number | undefined;
  /** Maximum bytes per request; 0: no limit. */
  max: number;
}

/**
 * Rules of the hosted service: a chunk that does not end the upload is at least 5 MiB long and a multiple of 256 KiB;
 * no chunk is larger than `max`. An empty chunk is allowed: some clients use it to check the connection. Throws
 * badParameter.
 */
export function checkChunk({ offset, octets, length, max }: UploadChunk): void {
  if (octets === undefined || octets === 0) return;
  const badChunkSize = (rule: string) =>
    streamErrors.badParameter({
      reason: `Chunk size must be ${rule}, not ${octets} bytes (at offset ${offset} of ${length ?? "an unknown length"})`,
    });
  if (max > 0 && octets > max)
    throw badChunkSize(`at most ${max} bytes (chunkSize of tus-js-client; stream.chunk_mb here)`);
  // With a deferred length, any chunk may be the last one.
  if (length === undefined || offset + octets >= length) return;
  if (octets % CHUNK_UNIT_BYTES !== 0)
    throw badChunkSize(`a multiple of 256KiB (${CHUNK_UNIT_BYTES} bytes) unless it is the last one`);
  // If `max` is below the minimum, chunks of `max` are accepted.
  const min = max > 0 ? Math.min(MIN_CHUNK_BYTES, max) : MIN_CHUNK_BYTES;
  if (octets < min) throw badChunkSize(`at least ${min} bytes unless it is the last one`);
}
