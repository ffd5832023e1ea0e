import type { ObjectHandle } from "../../store/index.ts";
import type { Video } from "../videos/index.ts";

/** A segment that is not stored yet, with the viewers waiting for it. */
export interface SegmentRequest {
  readonly key: string;
  readonly video: Video;
  readonly rendition: string;
  readonly n: number | "init";
  readonly waiters: Set<Waiter>;
  /** The run that encodes it. Undefined while it is queued. */
  run: EncoderRun | undefined;
  /** The beginning of the segment, while a run encodes it. */
  chunks: Buffer[];
  /** Number of runs that failed before the segment was stored. */
  failures: number;
}

export interface Waiter {
  resolve(handle: ObjectHandle | undefined): void;
  reject(err: unknown): void;
  /** Receives the chunks so far, in a list that grows, whenever there is another. Absent if only the whole segment is useful. */
  onChunk?(chunks: readonly Buffer[]): void;
}

/** One encoder process, and the segments it encodes. */
export interface EncoderRun {
  readonly video: Video;
  readonly rendition: string;
  readonly urgency: "urgent" | "soon";
  readonly requests: Set<SegmentRequest>;
  readonly control: AbortController;
  /** Aborted when a viewer starts waiting for one of its requests. */
  readonly awaited: AbortController;
}

export const isAwaited = ({ requests }: Pick<EncoderRun, "requests">): boolean =>
  [...requests].some(({ waiters }) => waiters.size > 0);

/** Maximum number of audio segments in one run: half a second of work, most of it start-up. */
const AUDIO_BATCH = 8;
/** Maximum number of consecutive awaited video segments in one run: they do not delay the first one. */
const VIDEO_BATCH = 4;

/**
 * Returns the requests of the next run. Awaited requests take precedence (`urgency`), then those of the video with the
 * fewest runs, then the oldest. Consecutive segments of the same rendition join the run.
 */
export function nextBatch(
  queued: Iterable<SegmentRequest>,
  running: Iterable<EncoderRun>,
  urgency: EncoderRun["urgency"],
  isAudio: (rendition: string) => boolean,
): SegmentRequest[] {
  const runsByVideo = new Map<string, number>();
  for (const { video } of running) runsByVideo.set(video.uid, (runsByVideo.get(video.uid) ?? 0) + 1);
  const candidates = [...queued].filter(({ waiters }) => (urgency === "urgent") === waiters.size > 0);
  let first: SegmentRequest | undefined;
  for (const request of candidates)
    if (first === undefined || (runsByVideo.get(request.video.uid) ?? 0) < (runsByVideo.get(first.video.uid) ?? 0))
      first = request;
  if (first === undefined) return [];
  const renditionRequests = candidates.filter(
    ({ video, rendition }) => video.uid === first.video.uid && rendition === first.rendition,
  );
  const init = renditionRequests.find(({ n }) => n === "init");
  const start = first.n === "init" ? renditionRequests.find(({ n }) => n !== "init") : first;
  const row =
    start === undefined
      ? []
      : batchFrom(start, renditionRequests, isAudio(first.rendition) ? AUDIO_BATCH : VIDEO_BATCH);
  return [...(init === undefined ? [] : [init]), ...row];
}

function batchFrom(
  start: SegmentRequest,
  renditionRequests: readonly SegmentRequest[],
  maxSegments: number,
): SegmentRequest[] {
  // A failed segment is retried alone, because another segment of its batch may have caused the failure.
  if (start.failures > 0) return [start];
  const byNumber = new Map(renditionRequests.map((request) => [request.n, request]));
  const row = [start];
  for (let n = (start.n as number) + 1; row.length < maxSegments; n++) {
    const next = byNumber.get(n);
    if (next === undefined || next.failures > 0) break;
    row.push(next);
  }
  return row;
}
