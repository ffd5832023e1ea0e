import { END_MARGIN_SECONDS, type LiveMediaSet, type LivePeriod, writeLiveMpd } from "../../../protocol/dash/index.ts";
import { nearestToHint, type TextTrack } from "../../playback/index.ts";
import type { LiveRendition } from "../fragments.ts";
import type { LiveSegment, LiveTimeline } from "../timeline.ts";
import { longest, windowStart } from "./lists.ts";
import type { LiveSource } from "./sources.ts";

interface LiveDashOptions {
  /** Epoch milliseconds. */
  now: number;
  /** Appended to the URL of every segment. */
  suffix: string;
  bandwidthHint?: string | null;
  text?: readonly TextTrack[];
}

const TIMESCALE = 1_000_000;
const WINDOW_SECONDS = 30;
const MIN_SEGMENTS = 6;
const MIN_BUFFER_SECONDS = 2;
/** Delay behind the live edge, in target durations. */
const DELAY_SEGMENTS = 3;
const SET_IDS = { video: 0, audio: 1 };

/** `/{id}/manifest/video.mpd`: one period per run. Live: the most recent part; ended: everything. */
export function liveDash(
  source: Pick<LiveSource, "timeline" | "renditions" | "targetDuration">,
  { now, suffix, bandwidthHint = null, text = [] }: LiveDashOptions,
): string {
  const { timeline, targetDuration } = source;
  const { segments, runs, ended } = timeline;
  const from = ended ? 0 : windowStart(segments, WINDOW_SECONDS, MIN_SEGMENTS);
  const firstStart = runs[0]!.started;
  let playedSeconds = 0;
  const periods: LivePeriod[] = [];
  for (const [runIndex, runSegments] of Map.groupBy(segments.slice(from), ({ run }) => run)) {
    const run = runs[runIndex]!;
    // After the end, periods are contiguous, and the first one keeps its position.
    const offset = ended && runIndex > 0 ? runSegments[0]!.start : 0;
    const chosenRenditions = choose(source, run.renditions, bandwidthHint);
    const media = (["video", "audio"] as const).flatMap((kind) =>
      mediaSetsOf(timeline, kind, chosenRenditions, runSegments, { offset, run: run.id, suffix }),
    );
    if (media.length === 0) continue;
    // Duration of the longest track: a player may stall if a period ends before its media.
    const seconds =
      Math.max(
        ...media.map(({ segments: segmentTimes }) => segmentTimes.at(-1)!.time + segmentTimes.at(-1)!.duration),
      ) /
        TIMESCALE -
      offset +
      (ended && runIndex === runs.length - 1 ? END_MARGIN_SECONDS : 0);
    periods.push({
      id: run.id,
      start: ended ? playedSeconds : (run.started - firstStart) / 1000,
      ...((ended || runIndex < runs.length - 1) && { duration: seconds }),
      sets: [
        ...media,
        ...(runIndex === 0 ? text : []).map(
          ({ language, label }) =>
            ({ kind: "text", id: `text-${language}`, language, label, uri: `../captions/${language}.vtt` }) as const,
        ),
      ],
    });
    playedSeconds += seconds;
  }
  return writeLiveMpd({
    minBuffer: MIN_BUFFER_SECONDS,
    periods,
    ...(ended
      ? { duration: playedSeconds }
      : {
          dynamic: {
            availabilityStartTime: firstStart,
            now,
            minimumUpdatePeriod: targetDuration,
            timeShiftBufferDepth: WINDOW_SECONDS,
            suggestedPresentationDelay: DELAY_SEGMENTS * targetDuration,
          },
        }),
  });
}

/**
 * While a run is live: all renditions, because players still use those that the next run drops. After the end:
 * renditions present throughout.
 */
function choose(
  { timeline, renditions: offeredRenditions }: Pick<LiveSource, "timeline" | "renditions">,
  runRenditions: readonly LiveRendition[],
  hint: string | null,
): LiveRendition[] {
  const byName = new Map(offeredRenditions.map((rendition) => [rendition.name, rendition]));
  const keptRenditions = timeline.ended ? runRenditions.filter(({ name }) => byName.has(name)) : runRenditions;
  const videoRenditions = nearestToHint(
    keptRenditions.filter(({ kind }) => kind === "video"),
    hint,
    ({ name, averageBandwidth }) => byName.get(name)?.averageBandwidth ?? averageBandwidth,
  );
  return [...videoRenditions, ...keptRenditions.filter(({ kind }) => kind === "audio")];
}

/** One set per codec: the renditions in a set must be interchangeable at every segment. */
function mediaSetsOf(
  { segments }: LiveTimeline,
  kind: "video" | "audio",
  renditions: readonly LiveRendition[],
  runSegments: readonly LiveSegment[],
  { offset, run, suffix }: { offset: number; run: string; suffix: string },
): LiveMediaSet[] {
  const byCodec = [
    ...Map.groupBy(
      renditions.filter((rendition) => rendition.kind === kind),
      ({ codecs }) => codecs.replace(/\..*$/s, ""),
    ).values(),
  ];
  return byCodec.map((codecRenditions, index) => ({
    kind,
    id: SET_IDS[kind] + 2 * index,
    timescale: TIMESCALE,
    offset: Math.round(offset * TIMESCALE),
    initialization: `../segments/$RepresentationID$/init-${run}.mp4${suffix}`,
    media: `../segments/$RepresentationID$/$Number$.m4s${suffix}`,
    firstNumber: runSegments[0]!.n,
    segments: placesOf(segments, codecRenditions[0]!, runSegments),
    representations: codecRenditions.map(({ name, codecs, peakBandwidth, width, height, frameRate, channels }) => ({
      id: name,
      codecs,
      bandwidth: peakBandwidth,
      ...(width !== undefined && width > 0 && { width }),
      ...(height !== undefined && height > 0 && { height }),
      ...(frameRate !== undefined && frameRate > 0 && { frameRate: toFraction(frameRate) }),
      ...(channels !== undefined && { channels }),
    })),
  }));
}

/**
 * Video is cut at the exact times, audio at the nearest frame: the start of an audio segment is the sum of all
 * durations since the beginning of the run, whichever section of the run is listed. Missing segments get the duration
 * of the other renditions: numbering has no gaps.
 */
function placesOf(
  segments: readonly LiveSegment[],
  { name, kind }: LiveRendition,
  runSegments: readonly LiveSegment[],
): LiveMediaSet["segments"] {
  const [{ run }] = runSegments as readonly [LiveSegment];
  let begin = runSegments[0]!.n;
  if (kind === "audio") while (begin > 0 && segments[begin - 1]!.run === run) begin--;
  const segmentTimes: { time: number; duration: number }[] = [];
  let firstSegmentStart = segments[begin]!.start;
  for (let n = begin; n <= runSegments.at(-1)!.n; n++) {
    const { start, durations, starts } = segments[n]!;
    if (kind === "audio" && starts?.[name] !== undefined) firstSegmentStart = starts[name];
    else if (kind === "video" || Math.abs(firstSegmentStart - start) > MAX_GAP_SECONDS) firstSegmentStart = start;
    const duration = durations[name] ?? longest(durations);
    const time = Math.round(firstSegmentStart * TIMESCALE);
    if (n >= runSegments[0]!.n)
      segmentTimes.push({ time, duration: Math.round((firstSegmentStart + duration) * TIMESCALE) - time });
    firstSegmentStart += duration;
  }
  return segmentTimes;
}

/** Seconds: a larger distance between audio and video indicates a gap. */
const MAX_GAP_SECONDS = 0.5;

/** 29.97 is 30000/1001. */
function toFraction(rate: number): { num: number; den: number } {
  const roundedRate = Math.round(rate);
  if (Math.abs(rate - roundedRate) < 1e-3) return { num: roundedRate, den: 1 };
  return Math.abs((roundedRate * 1000) / 1001 - rate) < 5e-3
    ? { num: roundedRate * 1000, den: 1001 }
    : { num: Math.round(rate * 1000), den: 1000 };
}
