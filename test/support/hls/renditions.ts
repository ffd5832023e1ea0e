import type { Playlist, Segment } from "./playlist.ts";
import { ROUNDING_S, type Expect } from "./rules.ts";

/** Timing of a segment's samples, in seconds on the media timeline. */
interface Measured {
  n: number;
  discontinuity: number;
  first: number;
  duration: number;
  at: number | undefined;
  octets: number;
}

export interface Rendition {
  uri: string;
  kind: "video" | "audio";
  seen: Map<number, Segment>;
  measured: Measured[];
  last?: Playlist;
}

/** Duration of an audio frame (1024 samples at 22,050 Hz), which may overlap a segment boundary. */
const AUDIO_FRAME_S = 0.047;

/** An EXT-X-RENDITION-REPORT in the playlist `by`. Without parts, `part` is -1. */
export interface Report {
  by: string;
  uri: string;
  n: number;
  part: number;
}

/** Checks that the renditions have the same timeline, and that they report each other. */
export function compareRenditions(renditions: readonly Rendition[], reported: readonly Report[], expect: Expect): void {
  const [leader] = renditions;
  for (const rendition of renditions) {
    for (const { n, discontinuity, first, at } of rendition.measured) {
      const its = leader!.measured.find((one) => one.n === n);
      if (its === undefined) continue;
      expect(
        Math.abs(first - its.first) < (rendition.kind === "audio" ? AUDIO_FRAME_S / 2 : ROUNDING_S),
        () => `${rendition.uri}: segment ${n} begins at ${first}, where ${leader!.uri} begins at ${its.first}`,
      );
      expect(discontinuity === its.discontinuity, () => `${rendition.uri}: segment ${n} is in another discontinuity`);
      // All renditions of an encoder run share one clock.
      if (at !== undefined && its.at !== undefined)
        expect(
          Math.abs(at - its.at - (first - its.first) * 1000) <= 1000 * ROUNDING_S,
          () =>
            `${rendition.uri}: segment ${n} is dated ${(at - its.at!).toFixed(0)} ms after that of ${leader!.uri}, and its first sample is presented ${((first - its.first) * 1000).toFixed(0)} ms after`,
        );
    }
  }
  for (const { by, uri, n, part } of reported) {
    const other = renditions.find((one) => one.uri === uri);
    expect(other !== undefined, () => `${by}: a report of ${uri}, which is not offered`);
    const segment = other?.seen.get(n);
    const last = Math.max(0, ...(other?.seen.keys() ?? []));
    // The run may have ended before that segment was loaded.
    if (other === undefined || n >= last) continue;
    expect(
      segment !== undefined && (part < 0 || segment.parts.length === 0 || part < segment.parts.length),
      () => `${by}: ${uri} is reported to have part ${n}.${part}`,
    );
  }
  for (const { uri } of renditions)
    for (const by of renditions)
      if (by.uri !== uri)
        expect(
          reported.some((one) => one.by === by.uri && one.uri === uri),
          () => `${by.uri}: no report of ${uri}`,
        );
}

interface Variant {
  uri: string;
  attributes: Record<string, string>;
}

/** Bits per second: declared in the multivariant playlist, and measured with the first audio rendition. */
export interface Bandwidths {
  uri: string;
  bandwidth: number;
  averageBandwidth: number;
  frameRate: number;
  measured: { peak: number; average: number };
}

export function bandwidthsOf({ uri, attributes }: Variant, renditions: readonly Rendition[]): Bandwidths {
  const parts = [
    renditions.find((one) => one.uri === uri)!,
    ...renditions.filter(({ kind }) => kind === "audio").slice(0, 1),
  ].map(({ measured }) => measured);
  const sum = (of: (measured: Measured[]) => number) =>
    Math.round(parts.reduce((total, measured) => total + of(measured), 0));
  return {
    uri,
    bandwidth: Number(attributes["BANDWIDTH"]),
    averageBandwidth: Number(attributes["AVERAGE-BANDWIDTH"]),
    frameRate: Number(attributes["FRAME-RATE"]),
    measured: {
      peak: sum((measured) => Math.max(0, ...measured.map(({ octets, duration }) => (8 * octets) / duration))),
      average: sum(
        (measured) =>
          (8 * measured.reduce((total, { octets }) => total + octets, 0)) /
          measured.reduce((total, { duration }) => total + duration, 0),
      ),
    },
  };
}
