import type { AudioSources } from "./port.ts";
import { MAIN_AUDIO, type MediaModel, type VideoRendition } from "../model.ts";
import type { Video } from "../videos/index.ts";
import { audioInitSegment } from "./audio-fragments.ts";
import { encodeAudioRun } from "./audio-run.ts";
import { addParameterSets, includesParameterSets } from "./parameter-sets.ts";
import { type SegmentStore, VideoDeleted } from "./segment-store.ts";
import { encodeVideoRun, type RunDeps } from "./video-run.ts";
import type { RenditionSegments } from "./video-graph.ts";
import type { EncoderRun } from "./segment-requests.ts";

interface SegmentEncoderDeps extends RunDeps {
  store: SegmentStore;
  audio?: AudioSources;
}

type Urgency = "urgent" | "soon" | "background";

interface EncodeOptions {
  urgency: Urgency;
  signal: AbortSignal;
  /** See MediaRun. */
  awaited?: AbortSignal;
  onStored?: () => void;
  onChunk?: OnChunk;
}

/**
 * Called for each CMAF chunk of a video segment before the segment is stored. `isFirst`: chunks of the segment received
 * so far are void. Not called for audio.
 */
type OnChunk = (n: number, chunk: Buffer, isFirst: boolean) => void;

/** Runs the encoder for requested segments, and stores its output. */
export interface SegmentEncoder {
  /** True if the video has such a segment, stored or not. */
  has(video: Video, rendition: string, n: number | "init"): Promise<boolean>;
  isAudio(rendition: string): boolean;
  /** Returns the segments after `segments` that the same run encodes. */
  audioLookahead(video: Video, segments: readonly number[]): number[];
  encode(run: EncoderRun, onChunk: OnChunk): Promise<void>;
  video(video: Video, requestedSegments: readonly RenditionSegments[], options: EncodeOptions): Promise<void>;
  /** `segments` are consecutive. */
  audio(video: Video, rendition: string, segments: readonly number[], options: EncodeOptions): Promise<void>;
}

/** A larger value would take CPU time from video requested at the same moment. */
const AUDIO_LOOKAHEAD = 3;

export function createSegmentEncoder({ store, audio, ...parts }: SegmentEncoderDeps): SegmentEncoder {
  const isAudio = (rendition: string) => rendition === MAIN_AUDIO || rendition.startsWith("audio-");
  const addedAudio = (video: Video, rendition: string) =>
    rendition === MAIN_AUDIO
      ? Promise.resolve(undefined)
      : (audio?.find(video, rendition) ?? Promise.resolve(undefined));

  async function audioSourceOf(video: Video, rendition: string) {
    const { source, audio: track } = modelOf(video);
    if (rendition === MAIN_AUDIO)
      return track && { key: source.key, format: source.format, stream: track.stream, start: source.start };
    const addedTrack = await addedAudio(video, rendition);
    return addedTrack && { ...addedTrack, start: addedTrack.start ?? 0 };
  }

  /**
   * Creates the initialization segments of the software encoder for renditions of a hardware encoder that have none.
   * This run precedes the other one: within it, it could wait forever for the slot that the other one occupies.
   */
  async function softwareInits(
    video: Video,
    requested: readonly RenditionSegments[],
    { urgency, signal, awaited }: EncodeOptions,
  ): Promise<ReadonlyMap<VideoRendition, Buffer>> {
    const model = modelOf(video);
    const inits = new Map<VideoRendition, Buffer>();
    if (model.softwareFallback !== true) return inits;
    const missing: RenditionSegments[] = [];
    for (const { rendition } of requested)
      if (rendition.codec === "h264" && (await store.open(video.uid, rendition.name, "init")) === undefined)
        missing.push({ rendition, segments: [] });
    if (missing.length > 0)
      await encodeVideoRun(parts, {
        model,
        requested: missing,
        software: true,
        urgency,
        signal,
        ...(awaited && { awaited }),
        onInit: async (rendition, bytes) => void inits.set(rendition, bytes),
        onSegment: async () => {},
      });
    return inits;
  }

  /** Returns the initialization segment with the parameter sets of both encoders. */
  async function completeInit(uid: string, { name }: VideoRendition, bytes: Buffer, softwareInit: Buffer | undefined) {
    const stored = await (await store.open(uid, name, "init"))?.bytes();
    if (stored !== undefined) return includesParameterSets(stored, bytes) ? stored : bytes;
    return softwareInit === undefined || includesParameterSets(softwareInit, bytes)
      ? bytes
      : addParameterSets(bytes, softwareInit);
  }

  const encoder: SegmentEncoder = {
    isAudio,
    async has(video, rendition, n) {
      if (video.model === null) return false;
      const {
        segments: { count },
        ladder,
        audio: track,
      } = video.model;
      if (n !== "init" && (!Number.isSafeInteger(n) || n < 0 || n >= count)) return false;
      if (rendition === MAIN_AUDIO) return track !== undefined;
      return (
        ladder.some(({ name }) => name === rendition) ||
        (isAudio(rendition) && (await addedAudio(video, rendition)) !== undefined)
      );
    },
    audioLookahead(video, segments) {
      const next = Math.max(...segments) + 1;
      const end = Math.min(modelOf(video).segments.count, segments[0]! + AUDIO_LOOKAHEAD);
      return Array.from({ length: Math.max(0, end - next) }, (_, i) => next + i);
    },
    async encode({ video, rendition, requests, urgency, control: { signal }, awaited }, onChunk) {
      const segments = [...requests].flatMap(({ n }) => (n === "init" ? [] : [n])).sort((a, b) => a - b);
      if (isAudio(rendition))
        return encoder.audio(video, rendition, segments, { urgency, signal, awaited: awaited.signal });
      const rung = modelOf(video).ladder.find(({ name }) => name === rendition)!;
      return encoder.video(video, [{ rendition: rung, segments }], {
        urgency,
        signal,
        awaited: awaited.signal,
        onChunk,
      });
    },
    async video(video, requested, options) {
      const { urgency, signal, awaited, onStored, onChunk } = options;
      const { uid } = video;
      const model = modelOf(video);
      const inits = await softwareInits(video, requested, options);
      await encodeVideoRun(parts, {
        model,
        requested,
        urgency,
        signal,
        ...(awaited && { awaited }),
        onChunk: onChunk && ((_rendition, n, chunk, isFirst) => onChunk(n, chunk, isFirst)),
        async onInit(rendition, bytes) {
          const isShared = model.softwareFallback === true && rendition.codec === "h264";
          const init = isShared ? await completeInit(uid, rendition, bytes, inits.get(rendition)) : bytes;
          await store.put(uid, rendition.name, "init", init);
        },
        async onSegment(rendition, n, bytes) {
          await store.put(uid, rendition.name, n, bytes);
          onStored?.();
        },
      });
    },
    async audio(video, rendition, segments, { urgency, signal, awaited, onStored }) {
      const source = await audioSourceOf(video, rendition);
      if (source === undefined) throw new VideoDeleted(`${video.uid} no longer has the rendition ${rendition}`);
      await store.put(video.uid, rendition, "init", audioInitSegment(modelOf(video)));
      await encodeAudioRun(parts, {
        model: modelOf(video),
        source,
        segments,
        urgency,
        signal,
        ...(awaited && { awaited }),
        async onSegment(n, bytes) {
          await store.put(video.uid, rendition, n, bytes);
          onStored?.();
        },
      });
    },
  };
  return encoder;
}

function modelOf(video: Video): MediaModel {
  if (video.model === null) throw new VideoDeleted(`the media model of video ${video.uid} is missing`);
  return video.model;
}
