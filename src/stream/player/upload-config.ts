/** State of a one-time upload URL: embedded in its page, and polled as JSON while the video is processed. */
export interface UploadPageConfig {
  /**
   * `open`: accepts or resumes a file; `processing`: the file is complete; `ready`: fully encoded; `failed`: the file
   * cannot be used; `expired`: no longer accepts a file.
   */
  state: "open" | "processing" | "ready" | "failed" | "expired";
  /** 0 to 100, while the video is being processed. */
  pctComplete?: number;
  /** True once the video can be played. */
  playable?: boolean;
  /** Reason for the failure; `retry`: the same URL accepts another file. */
  problem?: { code: string; text: string; retry: boolean };
  /** Maximum file size in bytes. */
  maxBytes?: number;
  /** Bytes per TUS request, whole MiB; absent: no limit. */
  chunkBytes?: number;
  /** Seconds. */
  maxDurationSeconds?: number;
  /** URL of the video's watch page; absent for protected videos. */
  watch?: string;
}
