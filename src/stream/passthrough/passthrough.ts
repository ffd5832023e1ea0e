import type { Log } from "../../kernel/index.ts";
import { createKeyedQueue } from "../../kernel/keyed-queue.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import type { SourceRenditions, SourceRung, SourceTrack } from "../playback/index.ts";
import type { Video } from "../videos/index.ts";
import type { CutTrack } from "./cut.ts";
import { bufferBytes, segmentBytes } from "./segment-bytes.ts";
import { readSourceIndex, type SourceIndex } from "./source-index.ts";

interface PassthroughOptions {
  objects: Pick<ObjectStore, "open">;
  log: Log;
  /** settings.stream.passthrough */
  enabled: boolean;
  /**
   * Maximum bytes of cached indexes. Default 64 MiB; the most recently used index is always cached, regardless of its
   * size.
   */
  maxBytes?: number;
}

interface IndexedSource {
  index: SourceIndex | undefined;
  shown: SourceRenditions | undefined;
}

const MAX_CACHED_BYTES = 64 * 1024 * 1024;
/** Cache weight of a source that is not offered. */
const MIN_WEIGHT = 500;
/** Maximum number of concurrent index reads: each may need dozens of megabytes. */
const MAX_INDEX_READS = 3;

/**
 * Offers the source as a rendition, cut at its key frames from byte ranges; nothing is encoded, and only its index is
 * cached, in memory.
 */
export function createSourcePassthrough({
  objects,
  log,
  enabled,
  maxBytes = MAX_CACHED_BYTES,
}: PassthroughOptions): SourceRung {
  /** By uid, most recently used last. A source never changes. */
  const indexCache = new Map<string, { value: Promise<IndexedSource | undefined>; weight: number }>();
  const queue = createKeyedQueue({ concurrency: MAX_INDEX_READS });
  let total = 0;

  const canPassThrough = ({ model, clip, watermark, sourceKey }: Video) =>
    enabled &&
    sourceKey !== null &&
    model?.video?.passthrough === true &&
    model.source.format === "mov" &&
    model.source.start === 0 &&
    clip === undefined &&
    watermark === null &&
    model.watermark === undefined;

  async function find(video: Video): Promise<IndexedSource | undefined> {
    if (!canPassThrough(video)) return undefined;
    const entry = indexCache.get(video.uid) ?? { value: queue("index", () => load(video)), weight: 0 };
    indexCache.delete(video.uid);
    indexCache.set(video.uid, entry);
    return entry.value;
  }

  async function load(video: Video): Promise<IndexedSource | undefined> {
    try {
      const source = await objects.open(video.model!.source.key);
      // The source has just been deleted.
      if (source === undefined) return forget(video.uid);
      const index = await readSourceIndex((start, length) => readAll(source, start, length), source.size, video.model!);
      if (typeof index === "string")
        log.debug({ video: video.uid, reason: index }, "stream: source not offered as a rendition");
      const result = typeof index === "string" ? { index: undefined, shown: undefined } : { index, shown: show(index) };
      weigh(video.uid, result.index?.weight ?? MIN_WEIGHT);
      return result;
    } catch (err) {
      forget(video.uid);
      throw err;
    }
  }

  function forget(uid: string): undefined {
    total -= indexCache.get(uid)?.weight ?? 0;
    indexCache.delete(uid);
  }

  function weigh(uid: string, weight: number) {
    const entry = indexCache.get(uid);
    if (entry === undefined) return;
    // If an entry was evicted while being read and was then read again, two reads finish here.
    total += weight - entry.weight;
    entry.weight = weight;
    for (const [oldestUid] of indexCache) {
      if (total <= maxBytes) return;
      if (oldestUid !== uid) forget(oldestUid);
    }
  }

  return {
    of: async (video) => (await find(video))?.shown,
    async segment(video, track, n) {
      const index = (await find(video))?.index;
      const cut = track === "video" ? index?.video : index?.audio;
      if (cut === undefined) return undefined;
      if (n === "init") return bufferBytes(cut.init);
      const source = await objects.open(video.model!.source.key);
      return source && segmentBytes(source, cut, n);
    },
  };
}

async function readAll(source: ObjectHandle, start: number, length: number): Promise<Buffer> {
  if (start >= source.size || length <= 0) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  for await (const chunk of source.read({
    start,
    end: Math.min(start + length, source.size) - 1,
  }) as AsyncIterable<Buffer>)
    chunks.push(chunk);
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

function show({ video, audio }: SourceIndex): SourceRenditions {
  const { width, height, fps } = video;
  return {
    video: { ...showTrack(video), width, height, fps },
    ...(audio !== undefined && { audio: { ...showTrack(audio), channels: audio.channels } }),
  };
}

/** Playlists start at zero: the initial delay of a track becomes part of its first segment. */
function showTrack({ segments, timescale, codecs, peakBandwidth, averageBandwidth }: CutTrack): SourceTrack {
  const renditionSegments = segments.map(({ start, duration }, n) => ({
    start: n === 0 ? 0 : start / timescale,
    duration: (duration + (n === 0 ? start : 0)) / timescale,
  }));
  return { segments: renditionSegments, codecs, peakBandwidth, averageBandwidth };
}
