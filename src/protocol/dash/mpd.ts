import { writeXml, type XmlElement } from "./xml.ts";

/** A presentation with one period that has ended (ISO/IEC 23009-1). */
interface Mpd {
  /** Seconds. */
  duration: number;
  /**
   * With this many seconds in the buffer, a representation plays without stalling at its stated bandwidth (5.3.1.2).
   */
  minBuffer: number;
  sets: readonly AdaptationSet[];
}

export type AdaptationSet = MediaSet | TextSet;

export interface MediaSet {
  kind: "video" | "audio";
  language?: string;
  label?: string;
  role: "main" | "alternate";
  timeline: SegmentTimeline;
  /** With the placeholders `$RepresentationID$` and `$Number$`. */
  initialization: string;
  media: string;
  representations: readonly Representation[];
}

export interface TextSet {
  kind: "text";
  id: string;
  language: string;
  label: string;
  /** URL of the whole WebVTT file. */
  uri: string;
}

export interface Representation {
  id: string;
  codecs: string;
  bandwidth: number;
  width?: number;
  height?: number;
  /** A fraction of integers. */
  frameRate?: { num: number; den: number };
  channels?: number;
  sampleRate?: number;
  /** Segment boundaries in seconds, if they differ from those of the set: one more than the number of segments. */
  boundaries?: readonly number[];
}

/**
 * Segments numbered from 0, all of the same duration except a shorter last one if there is a remainder. In units of
 * 1/timescale.
 */
export interface SegmentTimeline {
  timescale: number;
  segmentDuration: number;
  total: number;
}

export function writeMpd({ duration, minBuffer, sets }: Mpd): string {
  return writeXml({
    name: "MPD",
    attributes: {
      xmlns: "urn:mpeg:dash:schema:mpd:2011",
      profiles: "urn:mpeg:dash:profile:isoff-live:2011",
      type: "static",
      mediaPresentationDuration: isoDuration(duration),
      minBufferTime: isoDuration(minBuffer),
    },
    children: [
      {
        name: "Period",
        attributes: { id: "0", start: "PT0S" },
        children: sets.map((set, index) => (set.kind === "text" ? textSet(set, index) : toAdaptationSet(set, index))),
      },
    ],
  });
}

function toAdaptationSet(
  { kind, language, label, role, timeline, initialization, media, representations }: MediaSet,
  id: number,
): XmlElement {
  const largestOf = (valueOf: (item: Representation) => number | undefined) =>
    kind === "video" ? Math.max(...representations.map((item) => valueOf(item) ?? 0)) : undefined;
  return {
    name: "AdaptationSet",
    attributes: {
      id,
      contentType: kind,
      lang: language,
      mimeType: `${kind}/mp4`,
      maxWidth: largestOf((item) => item.width),
      maxHeight: largestOf((item) => item.height),
      segmentAlignment: representations.every(({ boundaries }) => boundaries === undefined),
      startWithSAP: 1,
    },
    children: [
      ...(label === undefined ? [] : [{ name: "Label", children: [label] }]),
      roleElement(role),
      toTemplate(timeline, initialization, media),
      ...representations.map((item) =>
        representationElement(item, item.boundaries && [toExplicitTemplate(item.boundaries, initialization, media)]),
      ),
    ],
  };
}

export function textSet({ id, language, label, uri }: TextSet, index: number): XmlElement {
  return {
    name: "AdaptationSet",
    attributes: { id: index, contentType: "text", lang: language, mimeType: "text/vtt" },
    children: [
      { name: "Label", children: [label] },
      roleElement("subtitle"),
      { name: "Representation", attributes: { id, bandwidth: 256 }, children: [{ name: "BaseURL", children: [uri] }] },
    ],
  };
}

export const roleElement = (value: string): XmlElement => ({
  name: "Role",
  attributes: { schemeIdUri: "urn:mpeg:dash:role:2011", value },
});

/** 5.3.9.6: `r` counts repetitions, so a single segment has none. */
function toTemplate(
  { timescale, segmentDuration, total }: SegmentTimeline,
  initialization: string,
  media: string,
): XmlElement {
  const fullSegments = Math.floor(total / segmentDuration);
  const rest = total - fullSegments * segmentDuration;
  const children: XmlElement[] = [];
  if (fullSegments > 0)
    children.push({
      name: "S",
      attributes: { t: 0, d: segmentDuration, r: fullSegments > 1 ? fullSegments - 1 : undefined },
    });
  if (rest > 0) children.push({ name: "S", attributes: { t: fullSegments === 0 ? 0 : undefined, d: rest } });
  return {
    name: "SegmentTemplate",
    attributes: { timescale, initialization, media, startNumber: 0 },
    children: [{ name: "SegmentTimeline", children }],
  };
}

const MICROSECONDS_PER_SECOND = 1_000_000;

/**
 * SegmentTimeline with unequal segments. Rounds boundaries, not durations, so that rounding errors do not accumulate.
 */
function toExplicitTemplate(boundaries: readonly number[], initialization: string, media: string): XmlElement {
  const ticks = boundaries.map((seconds) => Math.round(seconds * MICROSECONDS_PER_SECOND));
  const children = ticks
    .slice(0, -1)
    .map((t, n): XmlElement => ({ name: "S", attributes: { t: n === 0 ? t : undefined, d: ticks[n + 1]! - t } }));
  return {
    name: "SegmentTemplate",
    attributes: { timescale: MICROSECONDS_PER_SECOND, initialization, media, startNumber: 0 },
    children: [{ name: "SegmentTimeline", children }],
  };
}

export function representationElement(
  { id, codecs, bandwidth, width, height, frameRate, channels, sampleRate }: Representation,
  template: XmlElement[] = [],
): XmlElement {
  return {
    name: "Representation",
    attributes: {
      id,
      codecs,
      bandwidth: Math.ceil(bandwidth),
      width,
      height,
      frameRate: frameRate && (frameRate.den === 1 ? frameRate.num : `${frameRate.num}/${frameRate.den}`),
      sar: width === undefined ? undefined : "1:1",
      audioSamplingRate: sampleRate,
    },
    // Element order required by the schema (5.3.7.3).
    children: [
      ...(channels === undefined
        ? []
        : [
            {
              name: "AudioChannelConfiguration",
              attributes: { schemeIdUri: "urn:mpeg:dash:23003:3:audio_channel_configuration:2011", value: channels },
            },
          ]),
      ...template,
    ],
  };
}

/**
 * Seconds by which the announced duration exceeds the media. If both were equal, dash.js 5.2 could reach its end just
 * before the media element fires `ended`; it would then seek to the end and stop there without firing an event.
 */
export const END_MARGIN_SECONDS = 0.001;

/** Formats a duration as an xs:duration. */
export const isoDuration = (seconds: number) => `PT${seconds.toFixed(6).replace(/\.?0+$/, "")}S`;
