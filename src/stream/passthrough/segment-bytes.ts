import { Readable } from "node:stream";
import { writeFragment } from "../../protocol/mp4/index.ts";
import type { ObjectHandle } from "../../store/index.ts";
import type { SegmentBytes } from "../playback/index.ts";
import { samplesOf, type CutTrack } from "./cut.ts";

/** Bytes [start, end) of the source. */
interface SourceRange {
  start: number;
  end: number;
}

/** Ranges with smaller gaps are read in one operation, and the bytes in the gaps are discarded. */
const MAX_GAP_BYTES = 64 * 1024;

/** Returns a segment as sent to players: a generated header, then samples copied from the source. */
export function segmentBytes(source: ObjectHandle, track: CutTrack, n: number): SegmentBytes | undefined {
  const cut = track.segments[n];
  if (cut === undefined) return undefined;
  const { time, samples } = samplesOf(track, n);
  const head = writeFragment({ track: 1, sequence: n + 1, time, samples });
  const pieces = joinRanges(samples.map(({ offset, size }) => ({ start: offset, end: offset + size })));
  return createSegmentBytes(
    head,
    (from, to) => readRanges(source, rangesWithin(pieces, from, to)),
    head.length + cut.size,
  );
}

/** Returns the whole segment in memory. */
export const bufferBytes = (bytes: Buffer): SegmentBytes =>
  createSegmentBytes(bytes, async function* () {}, bytes.length);

function createSegmentBytes(
  head: Buffer,
  rest: (from: number, to: number) => AsyncIterable<Buffer>,
  size: number,
): SegmentBytes {
  async function* read(start: number, end: number) {
    if (start < head.length) yield head.subarray(start, Math.min(end, head.length));
    if (end > head.length) yield* rest(Math.max(0, start - head.length), end - head.length);
  }
  return {
    size,
    read: ({ start, end = size - 1 } = { start: 0 }) =>
      Readable.from(read(start, Math.min(end + 1, size)), { objectMode: false }),
  };
}

/** Merges adjacent ranges. */
function joinRanges(pieces: SourceRange[]): SourceRange[] {
  const result: SourceRange[] = [];
  for (const piece of pieces) {
    const last = result.at(-1);
    if (last?.end === piece.start) last.end = piece.end;
    else if (piece.end > piece.start) result.push({ ...piece });
  }
  return result;
}

/** Returns bytes [from, to) of the concatenated ranges. */
function rangesWithin(pieces: readonly SourceRange[], from: number, to: number): SourceRange[] {
  const result: SourceRange[] = [];
  let position = 0;
  for (const { start, end } of pieces) {
    const first = Math.max(from - position, 0);
    const last = Math.min(to - position, end - start);
    if (first < last) result.push({ start: start + first, end: start + last });
    position += end - start;
  }
  return result;
}

async function* readRanges(source: ObjectHandle, pieces: readonly SourceRange[]): AsyncGenerator<Buffer, void> {
  for (let i = 0; i < pieces.length;) {
    let next = i + 1;
    while (
      next < pieces.length &&
      pieces[next]!.start >= pieces[next - 1]!.end &&
      pieces[next]!.start - pieces[next - 1]!.end <= MAX_GAP_BYTES
    )
      next++;
    yield* readAdjacentRanges(source, pieces.slice(i, next));
    i = next;
  }
}

/** Reads ascending ranges with small gaps. */
async function* readAdjacentRanges(source: ObjectHandle, pieces: readonly SourceRange[]): AsyncGenerator<Buffer, void> {
  let position = pieces[0]!.start;
  let current = 0;
  for await (const chunk of source.read({ start: position, end: pieces.at(-1)!.end - 1 }) as AsyncIterable<Buffer>) {
    const end = position + chunk.length;
    for (; current < pieces.length && pieces[current]!.start < end; current++) {
      const piece = pieces[current]!;
      yield chunk.subarray(Math.max(0, piece.start - position), Math.min(chunk.length, piece.end - position));
      if (piece.end > end) break;
    }
    position = end;
  }
}
