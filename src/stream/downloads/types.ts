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
export const downloadName: Record<DownloadType, string> = { default: "default.mp4", audio: "audio.m4a" };
export const mediaType: Record<DownloadType, string> = { default: "video/mp4", audio: "audio/mp4" };
