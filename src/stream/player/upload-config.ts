/** What the upload page says of the upload it is for; written into the page. */
export interface UploadPageConfig {
  /** `open`: may be begun, or gone on with; `done`: everything has arrived; `expired`: too late. */
  state: "open" | "done" | "expired";
  /** Octets of the largest file. */
  maxBytes?: number;
  /** Octets of one request of TUS, whole MiB; absent: no limit. */
  chunkBytes?: number;
  /** Seconds. */
  maxDurationSeconds?: number;
  /** Address of the video's watch page; absent for protected videos. */
  watch?: string;
}
