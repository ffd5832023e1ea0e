import { streamErrors } from "../errors.ts";

const MIN = 5 * 1024 * 1024;
const UNIT = 256 * 1024;

export interface Chunk {
  offset: number;
  /** Octets of this request, as declared; undefined where they are sent without saying how many. */
  octets: number | undefined;
  /** Total upload length; undefined while deferred. */
  length: number | undefined;
  /** Most octets of one request; 0: no limit. */
  max: number;
}

/**
 * What clients of the hosted service are held to: a chunk that does not end the upload is at least 5 MiB and whole units of 256 KiB; no chunk is larger
 * than `max`. An empty one does no harm: some clients ask that way whether the server is still there. Throws badParameter.
 */
export function checkChunk({ offset, octets, length, max }: Chunk): void {
  if (octets === undefined || octets === 0) return;
  const bad = (rule: string) =>
    streamErrors.badParameter({
      reason: `Chunk size must be ${rule}, and not ${octets} bytes (at offset ${offset} of ${length ?? "an unknown length"})`,
    });
  if (max > 0 && octets > max) throw bad(`at most ${max} bytes (chunkSize of tus-js-client; stream.chunk_mb here)`);
  // With a deferred length, any chunk may be the last one.
  if (length === undefined || offset + octets >= length) return;
  if (octets % UNIT !== 0) throw bad(`a multiple of 256KiB (${UNIT} bytes) unless it is the last one`);
  // Where no chunk may be so large, the largest will do.
  const min = max > 0 ? Math.min(MIN, max) : MIN;
  if (octets < min) throw bad(`at least ${min} bytes unless it is the last one`);
}
