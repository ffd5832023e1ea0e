import type { IncomingMessage, ServerResponse } from "node:http";
import type { UploadPageConfig } from "../player/index.ts";
import type { Video, VideoDraft } from "../videos/index.ts";

/** Video properties that can be set together with the upload; `watermark` is the uid of a profile. */
export type RequestedVideo = Pick<
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

/**
 * Upload methods for the sources of videos. Their errors are in `streamErrors`; errors of `Videos.create` are passed
 * through.
 */
export interface Uploads {
  /**
   * Creates a one-time URL that accepts a video without a token, by form or TUS. `uploadExpiry` defaults to 30 minutes
   * from now. Throws badParameter, quotaExceeded.
   */
  direct(
    account: string,
    requested: RequestedVideo & { maxDurationSeconds: number },
  ): Promise<{ video: Video; uploadUrl: string }>;
  /**
   * Requests the size from the URL, and fetches the file later in a job. Throws invalidUrl, urlNotPublic, notAVideo,
   * tooLarge, badParameter.
   */
  copy(account: string, requested: RequestedVideo & { url: string }): Promise<Video>;
  /**
   * Creates a TUS upload, with its URL and media id in `headers`. Data sent with the creation has been stored when it
   * resolves. Throws badParameter, tooLarge, notAVideo, idTaken.
   */
  tus(account: string, creation: TusCreation): Promise<{ video: Video; headers: Record<string, string> }>;
  /** Headers of OPTIONS responses (TUS 1.0.0): version, extensions, maximum upload size. */
  readonly tusHeaders: Record<string, string>;
  /**
   * Uploads a form with a part `file`, up to stream.basic_upload_mb, as a stream. `confirm` is called at its end, and
   * throws to reject it. Throws notAVideo, tooLarge, formBrokeOff, badParameter.
   */
  form(
    account: string,
    incoming: IncomingMessage,
    options?: { requested?: RequestedVideo; confirm?: () => Promise<unknown> },
  ): Promise<Video>;
  /**
   * Uploads a stream from a trusted sender (a worker), in one attempt. Up to stream.upload_gb. Throws notAVideo,
   * tooLarge, badParameter.
   */
  bytes(account: string, body: AsyncIterable<Uint8Array>, requested?: RequestedVideo): Promise<Video>;
  /** Serves `/upload/`: TUS, forms to one-time URLs, and the upload page. */
  http(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** True if data for this video is arriving, in which case its upload has not expired yet. */
  isArriving(uid: string): Promise<boolean>;
  /** Deletes the received data of a deleted video. */
  onVideoDeleted(uid: string): Promise<void>;
  /** Completes work interrupted by a crash: uploads that have fully arrived, and copies whose job was lost. */
  recover(): Promise<void>;
  /** Deletes the rows of uploads that finished two days ago. */
  sweep(): Promise<void>;
  /**
   * Runs the job `stream.copy`, and `recover` and `sweep` every 10 minutes, until closed. For processes that accept
   * uploads.
   */
  start(): void;
  close(): Promise<void>;
}

export interface TusCreation {
  /** Headers as sent by the client. */
  headers: IncomingMessage["headers"];
  /**
   * Anyone with the URL may upload, and it expires early: 30 minutes from now unless the metadata specifies otherwise.
   */
  directUser: boolean;
  /** Set for a creation with upload. */
  body?: AsyncIterable<Uint8Array>;
  /** Uid of the video: 32 hex digits. Default: random ones. */
  uid?: string | undefined;
}

/** Renders the page of a one-time upload URL. */
export type RenderUploadPage = (
  request: IncomingMessage,
  response: ServerResponse,
  page: UploadPageConfig,
) => Promise<void>;
