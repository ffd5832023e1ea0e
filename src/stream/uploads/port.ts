import type { IncomingMessage, ServerResponse } from "node:http";
import type { Video, VideoDraft } from "../videos/index.ts";

/** What may be said of a video with its upload; `watermark` is the uid of a profile. */
export type AskedVideo = Pick<
  VideoDraft,
  | "creator"
  | "meta"
  | "allowedOrigins"
  | "requireSignedURLs"
  | "scheduledDeletion"
  | "thumbnailTimestampPct"
  | "maxDurationSeconds"
  | "uploadExpiry"
> & { watermark?: string | undefined };

/** How the sources of videos get here. Errors of every road are `streamErrors`; what `Videos.create` throws comes through. */
export interface Uploads {
  /** A one-time address that somebody without a token may send a video to: a form, or TUS. `uploadExpiry` defaults to 30 minutes from now. Throws badParameter, quotaExceeded. */
  direct(
    account: string,
    asked: AskedVideo & { maxDurationSeconds: number },
  ): Promise<{ video: Video; uploadUrl: string }>;
  /** Asks the address how much there is, and fetches it later, as a job. Throws invalidUrl, tooLarge, badParameter. */
  copy(account: string, asked: AskedVideo & { url: string }): Promise<Video>;
  /** Creation of a TUS upload, its address and its name in `headers`. What of it comes along is kept already. Throws badParameter, tooLarge, notAVideo. */
  tus(account: string, creation: TusCreation): Promise<{ video: Video; headers: Record<string, string> }>;
  /** Headers of OPTIONS responses (TUS 1.0.0): version, extensions, maximum upload size. */
  readonly tusHeaders: Record<string, string>;
  /** A form with a part `file`, up to stream.basic_upload_mb, as it arrives. `confirm` is asked at its end, and throws where it is not to be taken. Throws notAVideo, tooLarge, formBrokeOff, badParameter. */
  form(
    account: string,
    incoming: IncomingMessage,
    options?: { asked?: AskedVideo; confirm?: () => Promise<void> },
  ): Promise<Video>;
  /** As it comes, from somebody who is trusted to send it once: a worker. Up to stream.upload_gb. Throws notAVideo, tooLarge, badParameter. */
  bytes(account: string, body: AsyncIterable<Uint8Array>, asked?: AskedVideo): Promise<Video>;
  /** Answers requests below `/upload/`: TUS, forms to one-time addresses, and the page for people. */
  http(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Whether something of this video is arriving just now: then it is not too late yet. */
  isArriving(uid: string): Promise<boolean>;
  /** Of a video that is gone: what has arrived of it. */
  forget(uid: string): Promise<void>;
  /** Completes what a crash left: uploads that have arrived whole, and copies that lost their job. */
  recover(): Promise<void>;
  /** Deletes the rows of uploads that finished two days ago. */
  sweep(): Promise<void>;
  /** Runs the job `stream.copy`, and `recover` and `sweep` every 10 minutes, until closed. In processes that take uploads. */
  start(): void;
  close(): Promise<void>;
}

export interface TusCreation {
  /** As they were sent. */
  headers: IncomingMessage["headers"];
  /** Whoever has the address may upload, and it ends soon: 30 minutes from now unless the metadata says otherwise. */
  directUser: boolean;
  /** Of a creation with an upload. */
  body?: AsyncIterable<Uint8Array>;
}

/** Renders the page of a one-time upload URL. */
export type UploadPages = (request: IncomingMessage, response: ServerResponse, page: ShownUpload) => Promise<void>;

/** State of a one-time URL, for its page and as JSON (`Accept: application/json`). */
export interface ShownUpload {
  /** `open`: accepts or resumes a file; `processing`: the file is complete; `ready`: fully encoded; `failed`: the file cannot be used; `expired`: accepts no file. */
  state: "open" | "processing" | "ready" | "failed" | "expired";
  /** 0 to 100 while processing. */
  pctComplete?: number;
  /** True once the video can be played. */
  playable?: boolean;
  /** Reason of the failure; `retry`: the same URL accepts another file. */
  problem?: { code: string; text: string; retry: boolean };
  maxBytes?: number;
  chunkBytes?: number;
  maxDurationSeconds?: number;
  /** URL of the video's watch page; absent for protected videos. */
  watch?: string;
}
