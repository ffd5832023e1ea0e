import type { PublicDetails, VideoState } from "../videos/video.ts";

/** What the player knows of a video before it plays; read again by it while the video waits, and when it is told to play another one. */
export interface PlayerVideo {
  /** As it stands in the address: a uid, that of a live input, or a token of either. */
  id: string;
  /** Of the video itself: behind an input is another one tomorrow. */
  uid: string;
  state: VideoState;
  readyToStream: boolean;
  /** 0 to 100. */
  pctComplete: number;
  error: { code: string; text: string } | null;
  /** Seconds; -1 unknown. */
  duration: number;
  /** Pixels as shown; -1 unknown, or no picture at all. */
  width: number;
  height: number;
  /** False: sound only. True as long as nobody knows. */
  picture: boolean;
  /** Address of a still below `/{id}/`; null where there is none. */
  poster: string | null;
  details: PublicDetails;
  /** Of what is or was broadcast. */
  live: PlayerBroadcast | null;
  /** `frame-ancestors` of its pages, by its `allowedOrigins`; null: any page may show it. */
  frames: string | null;
}

export interface PlayerBroadcast {
  /** It has not begun; it runs; it goes on when its publisher is back; what is played is its recording. */
  state: "waiting" | "running" | "interrupted" | "over";
  /** The address is that of an input: another broadcast may follow under it. */
  follows: boolean;
  /** It is not recorded, and seen over WebRTC only: there is no manifest. */
  unrecorded: boolean;
}

/** Written into the page as a block of JSON. */
export interface PageConfig {
  /** `embed`: fills a frame of somebody else's page; `watch`: a page of its own. */
  mode: "embed" | "watch";
  /** From the page to the root of delivery, such as `../`. */
  root: string;
  video: PlayerVideo;
  /** Title of a watch page if the owner set no public title. */
  title?: string;
}
