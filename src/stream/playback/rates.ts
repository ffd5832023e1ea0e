import type { Log } from "../../kernel/index.ts";
import { type BitRates, bitRatesOf } from "../../protocol/hls/index.ts";
import type { ObjectStore } from "../../store/index.ts";
import { AUDIO_FRAME_SAMPLES, AUDIO_RATE, segmentFrameCount } from "../encode/index.ts";
import type { MediaModel } from "../model.ts";
import type { Video } from "../videos/index.ts";

/** Bitrates of stored renditions, measured from segment sizes. */
export interface RenditionRates {
  /** Resolves with bitrates by rendition; omits renditions with missing segments. Empty before the video is ready. */
  of(video: Video, renditions: readonly string[]): Promise<ReadonlyMap<string, BitRates>>;
}

interface RenditionRatesOptions {
  objects: Pick<ObjectStore, "list">;
  log: Pick<Log, "warn">;
  /** Maximum number of cached videos. Default 10,000. */
  maxVideos?: number;
}

/** Measures a rendition when a manifest first lists it, and only once: stored segments never change. */
export function createRenditionRates({ objects, log, maxVideos = 10_000 }: RenditionRatesOptions): RenditionRates {
  /** By uid, least recently used first. */
  const cachedRates = new Map<string, Map<string, Promise<BitRates | undefined>>>();

  async function measure(uid: string, rendition: string, model: MediaModel): Promise<BitRates | undefined> {
    const prefix = `stream/${uid}/${rendition}/`;
    const { count } = model.segments;
    const sizes: number[] = [];
    for await (const { key, size } of objects.list(prefix)) {
      const [, n] = /^(\d+)\.m4s$/.exec(key.slice(prefix.length)) ?? [];
      if (n !== undefined && Number(n) < count) sizes[Number(n)] = size;
    }
    const segments = Array.from({ length: count }, (_, n) => ({
      size: sizes[n] ?? -1,
      duration: segmentSeconds(model, rendition, n),
    }));
    return segments.some(({ size }) => size < 0) ? undefined : bitRatesOf(segments);
  }

  function cachedRatesOf(uid: string): Map<string, Promise<BitRates | undefined>> {
    const rates = cachedRates.get(uid) ?? new Map<string, Promise<BitRates | undefined>>();
    cachedRates.delete(uid);
    cachedRates.set(uid, rates);
    if (cachedRates.size > maxVideos) cachedRates.delete(cachedRates.keys().next().value!);
    return rates;
  }

  return {
    async of({ uid, state, model }, renditions) {
      const foundRates = new Map<string, BitRates>();
      if (state !== "ready" || model === null) return foundRates;
      const rates = cachedRatesOf(uid);
      await Promise.all(
        renditions.map(async (rendition) => {
          const pendingRates = rates.get(rendition) ?? measure(uid, rendition, model);
          rates.set(rendition, pendingRates);
          const measured = await pendingRates.catch(
            (err: unknown) =>
              void log.warn(
                { err, video: uid, rendition },
                "stream: failed to measure a rendition's bitrate; the manifest uses an estimate",
              ),
          );
          if (measured !== undefined) foundRates.set(rendition, measured);
          // An added audio track may not be fully encoded yet.
          else rates.delete(rendition);
        }),
      );
      return foundRates;
    },
  };
}

/**
 * Returns the duration of segment n: whole video or AAC frames, including the priming frame, because a player that sums
 * durations (shaka) expects the decode times of the segments.
 */
export function segmentSeconds(model: MediaModel, rendition: string, n: number): number {
  const { fps, framesPerSegment, frames } = model.segments;
  if (!model.ladder.some(({ name }) => name === rendition))
    return (segmentFrameCount(model, n) * AUDIO_FRAME_SAMPLES) / AUDIO_RATE;
  return (Math.min(framesPerSegment, frames - n * framesPerSegment) * fps.den) / fps.num;
}
