import type { Chapter } from "../chapters/port.ts";
import type { PublicDetails, VideoState } from "../videos/video.ts";

/**
 * The player's data about a video before playback. Read again while the video is not ready, and when a different video
 * is loaded.
 */
export interface PlayerVideo {
  /** The id in the URL: a video uid, a live input uid, or a token for either. */
  id: string;
  /** The uid of the video itself. For an input it changes with each broadcast. */
  uid: string;
  state: VideoState;
  readyToStream: boolean;
  /** 0 to 100. */
  pctComplete: number;
  error: { code: string; text: string } | null;
  /** Seconds; -1 if unknown. */
  duration: number;
  /** Displayed pixels; -1 if unknown or without video. */
  width: number;
  height: number;
  /** False if audio only. True while this is unknown. */
  picture: boolean;
  /** Path of the poster under `/{id}/`; null if there is none. */
  poster: string | null;
  details: PublicDetails;
  /** Sorted by start; empty while a broadcast is running. */
  chapters: Chapter[];
  /** Set for live broadcasts and their recordings. */
  live: PlayerBroadcast | null;
  /** `frame-ancestors` of its pages, from its `allowedOrigins`; null if any page may embed it. */
  frames: string | null;
}

export interface PlayerBroadcast {
  /** Not started; running; interrupted until the publisher returns; ended, and the recording is being played. */
  state: "waiting" | "running" | "interrupted" | "over";
  /** The URL is that of an input: another broadcast may follow. */
  follows: boolean;
  /** Not recorded, and available over WebRTC only, without a manifest. */
  unrecorded: boolean;
}

/** Embedded in the page as a JSON block. */
export interface PageConfig {
  /** `embed`: fills a frame in a third-party page; `watch`: a standalone page. */
  mode: "embed" | "watch";
  /** Relative path from the page to the delivery root, such as `../`. */
  root: string;
  video: PlayerVideo;
  /** Title of a watch page if the owner set no public title. */
  title?: string;
}
