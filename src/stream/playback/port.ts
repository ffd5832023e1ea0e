import type { DeliveryRoute } from "../delivery/index.ts";
import type { ObjectHandle } from "../../store/index.ts";
import type { Video } from "../videos/index.ts";

/**
 * Tracks that manifests list in addition to the ladder. Each comes from its own module; an absent one is treated as
 * empty.
 */
export interface PlaybackTracks {
  captions?: TextTracks;
  audio?: AudioTracks;
  source?: SourceRung;
}

/**
 * Playback that takes precedence over that of uploaded videos: broadcasts and their recordings (`live/package`), which
 * have the same URLs.
 */
export interface PlaybackOverride {
  /**
   * Routes of this module; each falls back to the given route with the same path for videos that the module does not
   * play.
   */
  overrideRoutes(routes: readonly DeliveryRoute[]): DeliveryRoute[];
}

/**
 * Wraps a route to count what viewers receive through it: `viewed` counts minutes per account, `live/viewers` counts
 * the clients of a broadcast.
 */
export type ViewerCounter = (route: DeliveryRoute) => DeliveryRoute;

/** Captions that are ready to play. Called for every manifest, so usually served from memory. */
export interface TextTracks {
  of(uid: string): Promise<TextTrack[]>;
  /** Resolves with the WebVTT file; its time zero is the start of the video. */
  vtt(uid: string, language: string): Promise<string | undefined>;
}

export interface TextTrack {
  /** BCP 47 tag. */
  language: string;
  /** For example "English (auto-generated)". */
  label: string;
  generated: boolean;
}

/** Tracks that were added to the video and are ready; excludes the source's own audio. Called for every manifest. */
export interface AudioTracks {
  of(uid: string): Promise<ExtraAudio[]>;
}

/** Its segments belong to the rendition `audio-<uid>`. */
export interface ExtraAudio {
  uid: string;
  label: string;
  /** BCP 47 tag. */
  language?: string;
  /** Played unless the viewer chooses another track; if no track is the default, the source's own audio is played. */
  default: boolean;
}

/**
 * The uploaded file, cut into segments without encoding. Its video and its audio each have their own segments, not
 * those of the grid.
 */
export interface SourceRung {
  /** Undefined if this source cannot be offered as a rendition. Called for every manifest. */
  of(video: Video): Promise<SourceRenditions | undefined>;
  /** Undefined if the segment does not exist. */
  segment(video: Video, track: "video" | "audio", segment: number | "init"): Promise<SegmentBytes | undefined>;
}

export interface SourceRenditions {
  video: SourceTrack & { width: number; height: number; fps: number };
  /** If absent, the source has no audio, or the audio must be encoded; the source is then played with MAIN_AUDIO. */
  audio?: SourceTrack & { channels: number };
}

export interface SourceTrack {
  /** In order and without gaps, in seconds on the timeline of the video. */
  segments: readonly { start: number; duration: number }[];
  /** RFC 6381: "avc1.64001f", "mp4a.40.2". */
  codecs: string;
  /** Peak and average segment bitrate, in bits per second. */
  peakBandwidth: number;
  averageBandwidth: number;
}

export type SegmentBytes = Pick<ObjectHandle, "size" | "read">;

/** Rendition of the source's audio without encoding; the corresponding video rendition is SOURCE_RENDITION. */
export const SOURCE_AUDIO = "source-audio";
