/**
 * Description of a video for playback and encoding: a source, a grid of whole frames, and a ladder. Created once by
 * `probe/`, stored as JSON in the video's row; manifests, segments, thumbnails and downloads are all derived from it.
 * Times in seconds, sizes in pixels, rates in bits per second.
 */
export interface MediaModel {
  version: 1;
  /** Measured from the packets; for a clip, the duration of the clip. */
  duration: number;
  source: MediaSource;
  /** Absent for audio-only videos. */
  video?: VideoTrack;
  /** The main audio track of the source. Absent if there is no audio. */
  audio?: AudioTrack;
  /** Other audio tracks of the source (languages, commentary), added to the video as audio tracks. */
  moreAudio?: EmbeddedAudio[];
  /** Text subtitles of the source, added to the video as captions. */
  subtitles?: EmbeddedText[];
  /** Segment n of every rendition covers the same seconds: whole video frames if there is video. */
  segments: SegmentGrid;
  /** Video renditions, lowest first; empty for audio only. Never larger than the source. */
  ladder: VideoRendition[];
  watermark?: BurnedWatermark;
  /**
   * ffmpeg's name of the hardware encoder of all H.264 renditions: segments of different encoders cannot share an
   * initialization segment. Absent: the software encoder.
   */
  h264Encoder?: HardwareEncoder;
  /**
   * Initialization segments of H.264 renditions also contain the parameter sets of the software encoder, which encodes
   * segments if the hardware encoder fails. Absent without a hardware encoder, and in models from earlier versions,
   * whose segments only the hardware encoder can continue.
   */
  softwareFallback?: true;
  /**
   * Composition offsets of video segments are shifted to be non-negative, and an edit list in the initialization
   * segment cancels the shift: without it libavformat presents video late. Absent in models from earlier versions,
   * whose stored segments need no edit list.
   */
  editLists?: true;
  /**
   * Encoded audio begins with the priming frame of the encoder, without which no decoder reproduces the first 21 ms. An
   * edit list in the initialization segment removes it. Absent in models from earlier versions, whose stored segments
   * have no priming frame.
   */
  primedAudio?: true;
}

/** ffmpeg's names. */
export type HardwareEncoder = "h264_nvenc" | "h264_qsv" | "h264_vaapi" | "h264_videotoolbox";

interface MediaSource {
  /** Object that ffmpeg reads: the uploaded file, or an indexed copy of it ("mezzanine"). */
  key: string;
  /** The uploaded file, if it is a different object. */
  originalKey?: string;
  /** ffmpeg's name for the demuxer: "mov", "matroska". The only one allowed for this file. */
  format: string;
  /**
   * Start of the video, in seconds from the first timestamp of any stream in the source (ffmpeg's -start_at_zero): the
   * time of its first frame or, for a clip, of the frame shown at the requested start. Frames are aligned to the grid
   * from here.
   */
  start: number;
  /** Maximum size in bytes. */
  size: number;
}

export interface Fraction {
  num: number;
  den: number;
}

export interface VideoTrack {
  /** Index of the stream in the source. */
  stream: number;
  /** ffmpeg's name for the codec: "h264". */
  codec: string;
  profile?: string;
  pixelFormat: string;
  /** As displayed: rotated, with square pixels. */
  width: number;
  height: number;
  /** Clockwise rotation for display, in degrees. */
  rotation: 0 | 90 | 180 | 270;
  interlaced: boolean;
  /** HDR transfer function; absent: SDR. */
  hdr?: "pq" | "hlg";
  /** Measured bitrate of this stream, in bits per second. */
  bitrate: number;
  /** Maximum distance between key frames, in seconds. */
  keyframeInterval: number;
  /**
   * True if segments can be cut from the source without encoding (H.264 8 bit 4:2:0, key frames, no rotation, no
   * watermark, bitrate within the cap, mp4 family).
   */
  passthrough: boolean;
}

export interface AudioTrack {
  stream: number;
  codec: string;
  channels: number;
  sampleRate: number;
  /** AAC-LC with at most two channels in an mp4 family source: can be cut without encoding. */
  passthrough: boolean;
  language?: string;
}

export interface EmbeddedAudio {
  stream: number;
  codec: string;
  channels: number;
  sampleRate: number;
  /** BCP 47 tag. */
  language?: string;
  /** Track title from the file. */
  title?: string;
}

export interface EmbeddedText {
  stream: number;
  /** BCP 47 tag; only the first track in each language is used. */
  language: string;
  title?: string;
}

/**
 * Segment n covers frames [n * framesPerSegment, (n + 1) * framesPerSegment) of `fps`; the last segment covers the rest
 * of `frames`. Audio only: 25 nominal "frames" per second, 100 per segment.
 */
export interface SegmentGrid {
  /**
   * Frame rate of the renditions: the source's rate if it is a standard or low rate, else the next higher standard
   * rate; renditions below 720p may halve it (`halved`).
   */
  fps: Fraction;
  /** The same even if a rendition is `halved`. */
  framesPerSegment: number;
  frames: number;
  /** Number of segments. */
  count: number;
}

/** Bitrates are those used by the encoder: capped CRF. */
export interface VideoRendition {
  /** Named after the shorter side, for example "360p"; unique within the ladder. */
  name: string;
  codec: "h264" | "hevc" | "av1";
  /** Even numbers. */
  width: number;
  height: number;
  /** Maximum bit rate in bits per second. */
  bitrate: number;
  /**
   * Lowest codec level that allows the rendition, in the codec's numbering (see encode/codecs.ts). Absent in ladders
   * from earlier versions.
   */
  level?: number;
  /** Contains only every second frame of the grid: for sources over 30 frames per second, below 720p. */
  halved?: true;
}

/** A watermark profile as burned into the renditions. */
export interface BurnedWatermark {
  /** Object key of the PNG. */
  key: string;
  width: number;
  height: number;
  opacity: number;
  padding: number;
  scale: number;
  position: "upperRight" | "upperLeft" | "lowerLeft" | "lowerRight" | "center";
}

/** The audio rendition encoded from the source: AAC, at most stereo. Extra tracks are `audio-<uid>`. */
export const MAIN_AUDIO = "audio";
/** Name of the rendition of an added audio track. */
export const audioRendition = (track: string): string => `audio-${track}`;
/** The rendition cut from the source without encoding. */
export const SOURCE_RENDITION = "source";

/**
 * Returns the rendition that is encoded first, and that players start with: fast to encode and good enough to watch.
 * 360p, or else the next one below it, or the lowest that every player supports, or the lowest. Undefined if the video
 * has no frames.
 */
export function firstRung(ladder: readonly VideoRendition[]): VideoRendition | undefined {
  const shortSideOf = ({ width, height }: VideoRendition) => Math.min(width, height);
  const playableRungs = ladder.filter(({ codec }) => codec === "h264");
  return playableRungs.filter((rung) => shortSideOf(rung) <= 360).at(-1) ?? playableRungs[0] ?? ladder[0];
}
