import { MAIN_AUDIO } from "../model.ts";
import type { Video } from "../videos/video.ts";
import type { Kept } from "./kept.ts";
import type { Maker } from "./maker.ts";

export interface FillOptions {
  signal: AbortSignal;
  /** Called for each segment that has been made and kept. */
  onKept?: () => void;
}

/** What is made without anybody waiting for it, several renditions at once. */
export interface Filling {
  /**
   * Makes what is missing of these segments, in every rendition of the ladder and the main audio: one run for all pictures. What is kept is not made again.
   * Resolves with how many were missing. Rejects MediaRunError, Mp4Error, SourceGone, InitDiffers, VideoGone, mediaToolsMissing.
   */
  fill(video: Video, segments: readonly number[], options: FillOptions): Promise<number>;
  /** Makes the missing segments of one audio rendition. */
  fillAudio(video: Video, rendition: string, segments: readonly number[], options: FillOptions): Promise<number>;
  /** The initialisation segments of all renditions: whoever changes to one then has half of what he needs. */
  fillInits(video: Video, options: { signal: AbortSignal }): Promise<void>;
}

export function createFilling({ kept, maker }: { kept: Kept; maker: Maker }): Filling {
  async function fillAudio(
    video: Video,
    rendition: string,
    segments: readonly number[],
    options: FillOptions,
  ): Promise<number> {
    const missing = await kept.missing(video.uid, rendition, segments);
    for (const row of rows(missing)) await maker.sound(video, rendition, row, { urgency: "background", ...options });
    return missing.length;
  }

  return {
    fillAudio,
    async fill(video, segments, options) {
      const { ladder, audio } = video.model!;
      let count = audio === undefined ? 0 : await fillAudio(video, MAIN_AUDIO, segments, options);
      const wanted = await Promise.all(
        ladder.map(async (rendition) => ({
          rendition,
          segments: await kept.missing(video.uid, rendition.name, segments),
        })),
      );
      const lacking = wanted.filter(({ segments: { length } }) => length > 0);
      if (lacking.length > 0) await maker.video(video, lacking, { urgency: "background", ...options });
      for (const {
        segments: { length },
      } of lacking)
        count += length;
      return count;
    },
    async fillInits(video, { signal }) {
      const opened = await Promise.all(
        video.model!.ladder.map(async (rendition) =>
          (await kept.open(video.uid, rendition.name, "init")) === undefined ? [{ rendition, segments: [] }] : [],
        ),
      );
      const wanted = opened.flat();
      if (wanted.length > 0) await maker.video(video, wanted, { urgency: "soon", signal });
    },
  };
}

/** Those that follow each other without a gap. */
function rows(segments: readonly number[]): number[][] {
  const found: number[][] = [];
  for (const n of segments) {
    if (found.at(-1)?.at(-1) === n - 1) found.at(-1)!.push(n);
    else found.push([n]);
  }
  return found;
}
