import { isoDuration, representationElement, roleElement, type Representation, textSet, type TextSet } from "./mpd.ts";
import { writeXml, type XmlElement } from "./xml.ts";

/**
 * A presentation with several periods, which may grow; each segment has its own time and duration (ISO/IEC 23009-1).
 * Durations are in seconds, instants in epoch milliseconds.
 */
interface LiveMpd {
  /** Absent if the presentation has ended and no longer changes. */
  dynamic?: DynamicMpd;
  /** Only set if the presentation has ended. */
  duration?: number;
  minBuffer: number;
  periods: readonly LivePeriod[];
}

interface DynamicMpd {
  /** Time zero of the timeline: constant for a broadcast (5.3.1.2). */
  availabilityStartTime: number;
  now: number;
  /** Players reload the manifest at this interval. */
  minimumUpdatePeriod: number;
  /** How far back viewers can seek. */
  timeShiftBufferDepth: number;
  /** How far players stay behind the live edge. */
  suggestedPresentationDelay: number;
}

export interface LivePeriod {
  /** The same in every version of the presentation. */
  id: string;
  start: number;
  /** Absent for the growing period. */
  duration?: number;
  sets: readonly (LiveMediaSet | TextSet)[];
}

export interface LiveMediaSet {
  kind: "video" | "audio";
  /** The same in every version of the presentation, and in all periods that continue it. */
  id: number;
  timescale: number;
  /** Media time at the start of the period, in timescale units. */
  offset: number;
  /** With the placeholders `$RepresentationID$` and `$Number$`. */
  initialization: string;
  media: string;
  firstNumber: number;
  /** In timescale units, with consecutive numbers. */
  segments: readonly { time: number; duration: number }[];
  representations: readonly Representation[];
}

export function writeLiveMpd({ dynamic, duration, minBuffer, periods }: LiveMpd): string {
  const toIsoTime = (instant: number) => new Date(instant).toISOString();
  return writeXml({
    name: "MPD",
    attributes: {
      xmlns: "urn:mpeg:dash:schema:mpd:2011",
      profiles: "urn:mpeg:dash:profile:isoff-live:2011",
      type: dynamic === undefined ? "static" : "dynamic",
      ...(dynamic === undefined
        ? { mediaPresentationDuration: duration === undefined ? undefined : isoDuration(duration) }
        : {
            availabilityStartTime: toIsoTime(dynamic.availabilityStartTime),
            publishTime: toIsoTime(dynamic.now),
            minimumUpdatePeriod: isoDuration(dynamic.minimumUpdatePeriod),
            timeShiftBufferDepth: isoDuration(dynamic.timeShiftBufferDepth),
            suggestedPresentationDelay: isoDuration(dynamic.suggestedPresentationDelay),
          }),
      minBufferTime: isoDuration(minBuffer),
    },
    children: [
      ...periods.map(toPeriod),
      // 5.8.4.11: a player with a wrong clock would request segments that do not exist yet.
      ...(dynamic === undefined
        ? []
        : [
            {
              name: "UTCTiming",
              attributes: { schemeIdUri: "urn:mpeg:dash:utc:direct:2014", value: toIsoTime(dynamic.now) },
            },
          ]),
    ],
  });
}

function toPeriod({ id, start, duration, sets }: LivePeriod): XmlElement {
  return {
    name: "Period",
    attributes: { id, start: isoDuration(start), duration: duration === undefined ? undefined : isoDuration(duration) },
    children: sets.map((set, index) => (set.kind === "text" ? textSet(set, 100 + index) : toAdaptationSet(set))),
  };
}

function toAdaptationSet({
  kind,
  id,
  timescale,
  offset,
  initialization,
  media,
  firstNumber,
  segments,
  representations,
}: LiveMediaSet): XmlElement {
  return {
    name: "AdaptationSet",
    attributes: { id, contentType: kind, mimeType: `${kind}/mp4`, segmentAlignment: true, startWithSAP: 1 },
    children: [
      roleElement("main"),
      {
        name: "SegmentTemplate",
        attributes: { timescale, presentationTimeOffset: offset, initialization, media, startNumber: firstNumber },
        children: [{ name: "SegmentTimeline", children: timelineElements(segments) }],
      },
      ...representations.map((one) => representationElement(one)),
    ],
  };
}

/** 5.3.9.6: `t` if a segment does not start where the previous one ends; `r` repeats the duration. */
function timelineElements(segments: LiveMediaSet["segments"]): XmlElement[] {
  const elements: { t: number | undefined; d: number; r: number }[] = [];
  let end: number | undefined;
  for (const { time, duration } of segments) {
    const last = elements.at(-1);
    if (last !== undefined && time === end && last.d === duration) last.r++;
    else elements.push({ t: time === end ? undefined : time, d: duration, r: 0 });
    end = time + duration;
  }
  return elements.map(({ t, d, r }) => ({ name: "S", attributes: { t, d, r: r === 0 ? undefined : r } }));
}
