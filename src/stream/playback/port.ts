import type { DeliveryRoute } from "../delivery/index.ts";
import type { ObjectHandle } from "../../store/index.ts";
import type { Video } from "../videos/index.ts";

/** What manifests name beside the ladder. Each is a room of its own; an absent one counts as one that has nothing. */
export interface PlaybackTracks {
  captions?: TextTracks;
  audio?: AudioTracks;
  source?: SourceRung;
}

/**
 * Playback that takes precedence over that of uploaded videos: broadcasts and their recordings (`live/package`), which have the same URLs.
 */
export interface PlaybackPrecedence {
  /** Its own routes, each falling back to the given route of the same path for videos that it does not play. */
  before(routes: readonly DeliveryRoute[]): DeliveryRoute[];
}

/** Wraps a route to count what viewers receive through it: `viewed` counts minutes per account, `live/viewers` the clients of a broadcast. */
export type ViewerCounter = (route: DeliveryRoute) => DeliveryRoute;

/** Captions that are ready to be shown. Asked for every manifest: to be answered from memory as a rule. */
export interface TextTracks {
  of(uid: string): Promise<TextTrack[]>;
  /** The file, a WebVTT that begins at second zero of the video. */
  vtt(uid: string, language: string): Promise<string | undefined>;
}

export interface TextTrack {
  /** BCP 47 tag. */
  language: string;
  /** "English (auto-generated)". */
  label: string;
  generated: boolean;
}

/** Tracks that were added to the video and are ready; the one inside the source is none of them. Asked for every manifest. */
export interface AudioTracks {
  of(uid: string): Promise<ExtraAudio[]>;
}

/** Its segments are those of rendition `audio-<uid>`. */
export interface ExtraAudio {
  uid: string;
  label: string;
  /** BCP 47 tag. */
  language?: string;
  /** Played unless the viewer chooses; without such a track the one inside the source is. */
  default: boolean;
}

/** The uploaded file in pieces that are cut from it, nothing encoded. Its video and its audio each have segments of their own, not those of the grid. */
export interface SourceRung {
  /** Undefined: this source cannot be offered so. Asked for every manifest. */
  of(video: Video): Promise<SourceRenditions | undefined>;
  /** Undefined: there is no such segment. */
  segment(video: Video, track: "video" | "audio", segment: number | "init"): Promise<SegmentBytes | undefined>;
}

export interface SourceRenditions {
  video: SourceTrack & { width: number; height: number; fps: number };
  /** Absent: there is none, or it has to be encoded; the source is then played with MAIN_AUDIO. */
  audio?: SourceTrack & { channels: number };
}

export interface SourceTrack {
  /** In order and without gaps, in seconds on the timeline of the video. */
  segments: readonly { start: number; duration: number }[];
  /** RFC 6381: "avc1.64001f", "mp4a.40.2". */
  codecs: string;
  /** Of the largest segment, and on average, in bits per second. */
  peakBandwidth: number;
  averageBandwidth: number;
}

export type SegmentBytes = Pick<ObjectHandle, "size" | "read">;

/** Rendition of the audio inside the source, as it is; that of its video is SOURCE_RENDITION. */
export const SOURCE_AUDIO = "source-audio";
