import {
  locateMovie,
  Mp4Error,
  placementOf,
  readMovie,
  iterateSamples,
  type Movie,
  type ReadAt,
  type Track,
} from "../../protocol/mp4/index.ts";
import { timescaleOf } from "../encode/index.ts";
import type { MediaModel } from "../model.ts";
import { cutAudio, type CutAudio } from "./cut-audio.ts";
import { cutVideo, type CutVideo } from "./cut-video.ts";

export interface SourceIndex {
  video: CutVideo;
  audio: CutAudio | undefined;
  /** Approximate memory use in bytes. */
  weight: number;
}

/** Reads the index of a source and cuts its tracks. Returns the reason as text if the source is not offered. */
export async function readSourceIndex(read: ReadAt, size: number, model: MediaModel): Promise<SourceIndex | string> {
  const { video, audio } = model;
  try {
    const { movie: bytes, fragmented } = await locateMovie(read, size);
    const movie = readMovie(bytes);
    if (fragmented || movie.extends) return "it is written in fragments";
    const videoTrack = trackOf(movie, video?.stream, "vide");
    if (videoTrack === undefined) return "its pictures are not where they were";
    const audioTrack = trackOf(movie, audio?.stream, "soun");
    const origin = Math.min(
      ...[videoTrack, audioTrack].filter((track) => track !== undefined).map((track) => startOf(track, movie)),
    );
    const cut = cutVideo(videoTrack, {
      movie,
      origin,
      fileSize: size,
      segmentTimescale: model.editLists === true ? timescaleOf({}, model) : undefined,
    });
    if (typeof cut === "string") return cut;
    const audioCut =
      audioTrack !== undefined && audio?.passthrough === true ? cutSafely(audioTrack, movie, origin, size) : undefined;
    return { video: cut, audio: audioCut, weight: weightOf(cut) + (audioCut === undefined ? 0 : weightOf(audioCut)) };
  } catch (err) {
    if (err instanceof Mp4Error) return err.message;
    throw err;
  }
}

/** ffmpeg numbers streams in the order of the file's tracks. */
function trackOf({ tracks }: Movie, stream: number | undefined, handler: string): Track | undefined {
  const track = stream === undefined ? undefined : tracks[stream];
  return track?.handler === handler ? track : undefined;
}

/**
 * Start of the first displayed sample, in seconds on the timeline of the movie. The timeline of a video starts with whichever of its
 * tracks starts first.
 */
function startOf(track: Track, movie: Movie): number {
  const placement = placementOf(track, movie);
  const first = iterateSamples(track.samples());
  return placement === undefined || first === undefined
    ? 0
    : Math.max(0, first.time + first.shift - placement.offset) / track.timescale;
}

/** Audio that cannot be cut is encoded, and the video is still offered. */
function cutSafely(audioTrack: Track, movie: Movie, origin: number, size: number): CutAudio | undefined {
  try {
    const cut = cutAudio(audioTrack, movie, origin, size);
    return typeof cut === "string" ? undefined : cut;
  } catch (err) {
    if (err instanceof Mp4Error) return undefined;
    throw err;
  }
}

const SEGMENT_ENTRY_BYTES = 300;

function weightOf({ tables, segments }: CutVideo | CutAudio): number {
  const { sizes, durations, shifts, chunks, chunkRuns, syncs } = tables;
  const lists = [typeof sizes === "number" ? undefined : sizes, durations, shifts, chunks, chunkRuns, syncs];
  return lists.reduce((sum, list) => sum + (list?.byteLength ?? 0), segments.length * SEGMENT_ENTRY_BYTES);
}
