/** "default": MP4 with video and audio; "audio": M4A. */
export type DownloadType = "default" | "audio";
export const DOWNLOAD_TYPES: readonly DownloadType[] = ["default", "audio"];

export interface Download {
  type: DownloadType;
  status: "inprogress" | "ready" | "error";
  /** 0 to 100. */
  percentComplete: number;
}

/** File name under `downloads/`. */
export const DOWNLOAD_FILE_NAMES: Record<DownloadType, string> = { default: "default.mp4", audio: "audio.m4a" };
export const DOWNLOAD_MEDIA_TYPES: Record<DownloadType, string> = { default: "video/mp4", audio: "audio/mp4" };
