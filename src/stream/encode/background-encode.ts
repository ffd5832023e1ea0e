import { MAIN_AUDIO } from "../model.ts";
import type { Video } from "../videos/index.ts";
import type { SegmentStore } from "./segment-store.ts";
import type { SegmentEncoder } from "./segment-encoder.ts";

interface BackgroundEncodeOptions {
  signal: AbortSignal;
  /** Called for each segment that has been encoded and stored. */
  onStored?: () => void;
  /**
   * Encodes all segments except those that this process knows are stored, without asking the object store. Use it for
   * segments that no earlier run can have stored, except runs for viewers. Default false.
   */
  assumeMissing?: boolean;
}

/** Encodes segments before viewers request them, several renditions in one run. */
export interface BackgroundEncoding {
  /**
   * Encodes the missing segments among `segments`, in every rendition of the ladder and the main audio: one run for all
   * video renditions. Resolves with the number of segments that were missing. Rejects with MediaRunError, Mp4Error,
   * SourceMissing, InitMismatch, VideoDeleted, mediaToolsMissing.
   */
  encodeMissing(video: Video, segments: readonly number[], options: BackgroundEncodeOptions): Promise<number>;
  /** Encodes the missing segments of one audio rendition. */
  encodeMissingAudio(
    video: Video,
    rendition: string,
    segments: readonly number[],
    options: BackgroundEncodeOptions,
  ): Promise<number>;
  /**
   * Encodes the initialization segments of all renditions, so that a player that switches renditions waits only for
   * media segments.
   */
  encodeInits(video: Video, options: { signal: AbortSignal }): Promise<void>;
}

export function createBackgroundEncoding({
  store,
  encoder,
}: {
  store: SegmentStore;
  encoder: SegmentEncoder;
}): BackgroundEncoding {
  const missingOf = (
    { uid }: Video,
    rendition: string,
    segments: readonly number[],
    assumeMissing: boolean,
  ): Promise<number[]> | number[] =>
    assumeMissing
      ? segments.filter((n) => !store.isKnownStored(uid, rendition, n))
      : store.missing(uid, rendition, segments);

  async function encodeMissingAudio(
    video: Video,
    rendition: string,
    segments: readonly number[],
    { assumeMissing = false, ...options }: BackgroundEncodeOptions,
  ): Promise<number> {
    const missing = await missingOf(video, rendition, segments, assumeMissing);
    for (const row of rows(missing)) await encoder.audio(video, rendition, row, { urgency: "background", ...options });
    return missing.length;
  }

  return {
    encodeMissingAudio,
    async encodeMissing(video, segments, { assumeMissing = false, ...options }) {
      const { ladder, audio } = video.model!;
      let count =
        audio === undefined ? 0 : await encodeMissingAudio(video, MAIN_AUDIO, segments, { ...options, assumeMissing });
      const missingByRendition = await Promise.all(
        ladder.map(async (rendition) => ({
          rendition,
          segments: await missingOf(video, rendition.name, segments, assumeMissing),
        })),
      );
      const incompleteRenditions = missingByRendition.filter(({ segments: { length } }) => length > 0);
      if (incompleteRenditions.length > 0)
        await encoder.video(video, incompleteRenditions, { urgency: "background", ...options });
      for (const {
        segments: { length },
      } of incompleteRenditions)
        count += length;
      return count;
    },
    async encodeInits(video, { signal }) {
      const missingInitsByRendition = await Promise.all(
        video.model!.ladder.map(async (rendition) =>
          (await store.open(video.uid, rendition.name, "init")) === undefined ? [{ rendition, segments: [] }] : [],
        ),
      );
      const missingInits = missingInitsByRendition.flat();
      if (missingInits.length > 0) await encoder.video(video, missingInits, { urgency: "soon", signal });
    },
  };
}

/** Returns groups of consecutive segments. */
function rows(segments: readonly number[]): number[][] {
  const inits: number[][] = [];
  for (const n of segments) {
    if (inits.at(-1)?.at(-1) === n - 1) inits.at(-1)!.push(n);
    else inits.push([n]);
  }
  return inits;
}
