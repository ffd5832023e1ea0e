import { Readable } from "node:stream";
import { streamErrors } from "../../errors.ts";
import type { DeliveryRoute, DeliveryContext } from "../../delivery/index.ts";
import { readTime } from "../../thumbnails/index.ts";
import type { LiveTimeline } from "../timeline.ts";
import { moviePartsOf } from "./movie-parts.ts";
import { decoderHeaders, joinMovie, type JoinMovieOptions } from "./movie.ts";
import type { Recordings } from "./port.ts";
import { lengthOf } from "./summary.ts";

/** Maximum seconds of an instant clip. */
const MAX_CLIP_SECONDS = 60;
const FILENAME_PATTERN = /^[A-Za-z0-9_-]{1,120}$/;
/** Tolerance for durations, which are sums of fractions. */
const TIME_TOLERANCE_S = 0.002;

/**
 * `/{uid}/clip.mp4?time=600s&duration=30s&filename=…`: a few seconds of a broadcast, or of its recording, as a file.
 * Whole segments: starts with the segment that contains `time`, and ends early if the publisher's encoder settings
 * changed.
 */
export function createClipFiles({
  recordings,
}: {
  recordings: Pick<Recordings, "timeline" | "stored">;
}): DeliveryRoute[] {
  async function handle(viewing: DeliveryContext): Promise<void> {
    const { video, id, query, signal } = viewing;
    if (video.liveInput === undefined) throw streamErrors.liveOnly();
    if (id === video.liveInput)
      throw streamErrors.badParameter({
        reason: "an instant clip requires the uid of a video in the URL, not that of a live input",
      });
    const time = readSeconds(query, "time", 0, Infinity);
    const duration = readSeconds(query, "duration", 0.1, MAX_CLIP_SECONDS);
    const filename = query.get("filename");
    if (filename !== null && !FILENAME_PATTERN.test(filename))
      throw streamErrors.badParameter({
        reason: `filename must have at most 120 characters from A-Z a-z 0-9 _ -, not ${JSON.stringify(filename.slice(0, 130))}`,
      });
    const timeline = await recordings.timeline(video.uid);
    const range = timeline && rangeOf(timeline, time, duration);
    if (timeline === undefined || range === undefined)
      throw streamErrors.badParameter({ reason: `the recording does not reach second ${time}` });
    const openStored: JoinMovieOptions["stored"] = (rendition, segmentOrRun) =>
      recordings.stored(video.uid, rendition, segmentOrRun);
    const movieParts = moviePartsOf(timeline, range.from, range.to);
    if (movieParts.length === 0)
      throw streamErrors.badParameter({ reason: `the recording has a gap at second ${time}` });
    const headers = await Promise.all(movieParts.map((part) => decoderHeaders(part, openStored)));
    const firstIncompatible = headers.findIndex((header) => header !== headers[0]);
    const movie = await joinMovie({
      parts: firstIncompatible === -1 ? movieParts : movieParts.slice(0, firstIncompatible),
      stored: openStored,
      signal,
    });
    // A range is read by skipping from the beginning of the file, which is a minute long at most.
    const read = ({ start = 0, end = movie.size - 1 }: { start?: number; end?: number } = {}) =>
      Readable.from(sliceBody(movie.body(), start, end + 1), { objectMode: false });
    await viewing.sendObject(
      { size: movie.size, read },
      { type: "video/mp4", filename: `${filename ?? video.uid}.mp4`, ...(timeline.ended && { cache: 3600 }) },
    );
  }

  return [{ path: "clip.mp4", purpose: "play", handle }];
}

function readSeconds(query: URLSearchParams, name: string, minSeconds: number, maxSeconds: number): number {
  const value = readTime(query.get(name) ?? "");
  if (value === undefined) throw streamErrors.badParameter({ reason: `${name} must be like 30s, 5m2s or 1.5s` });
  if (value < minSeconds || value > maxSeconds)
    throw streamErrors.badParameter({ reason: `${name} must be from ${minSeconds} to ${maxSeconds} seconds` });
  return value;
}

/** Returns the range of segments that contain the seconds from `time` onwards; gaps between runs do not count. */
function rangeOf(
  { runs, segments }: LiveTimeline,
  time: number,
  duration: number,
): { from: number; to: number } | undefined {
  let segmentStart = 0;
  let from: number | undefined;
  for (const segment of segments) {
    const { n } = segment;
    segmentStart += lengthOf(runs, segment);
    if (from === undefined && segmentStart > time + TIME_TOLERANCE_S) from = n;
    if (from !== undefined && segmentStart >= time + duration - TIME_TOLERANCE_S) return { from, to: n };
  }
  return from === undefined ? undefined : { from, to: segments.length - 1 };
}

/** Yields octets [start, end) of the body. */
async function* sliceBody(
  body: AsyncIterable<Uint8Array>,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array, void> {
  let segmentStart = 0;
  for await (const chunk of body) {
    const [from, to] = [Math.max(0, start - segmentStart), Math.min(chunk.length, end - segmentStart)];
    if (from < to) yield chunk.subarray(from, to);
    segmentStart += chunk.length;
    if (segmentStart >= end) return;
  }
}
