import { defineErrors } from "../../kernel/index.ts";

/** Errors of waiting for, uploading and downloading videos. */
export const videoErrors = defineErrors("video", {
  noVideoId: {
    code: "E_NO_VIDEO_ID",
    http: 400,
    message: '"{id}" is not a video id (32 hex digits).',
    fix: "List them with `reelpost stream list`.",
  },
  failed: {
    code: "E_VIDEO_FAILED",
    http: 424,
    message: "Cannot play the video {uid}: {text} [{reason}]",
    fix: "{advice}",
  },
  notUploaded: {
    code: "E_NOT_UPLOADED",
    http: 409,
    message: "The video {uid} has not been uploaded yet.",
    fix: "Upload its file first; `reelpost stream get {uid}` shows its state.",
  },
  stuck: {
    code: "E_VIDEO_STUCK",
    http: 504,
    message: "No progress for {minutes} minutes: {state}.",
    fix: "Processing continues on the server: check its log, and `reelpost stream get {uid}`.",
  },
  downloadFailed: {
    code: "E_DOWNLOAD_FAILED",
    http: 424,
    message: "Cannot create the download for video {uid}.",
    fix: "Check the server's log, then retry with `reelpost stream download {uid}`.",
  },
  stopped: {
    code: "E_UPLOAD_STOPPED",
    http: 503,
    message: "The upload was interrupted after {offset} of {size}: {reason}.",
    fix: "Resume it with: reelpost stream upload {file} --resume {address}",
  },
  uploadRefused: {
    code: "E_UPLOAD_REFUSED",
    http: 400,
    message: "The server rejected the upload (status {status}): {reason}",
    fix: "Upload the file again, without --resume.",
  },
  notMedia: {
    code: "E_UPLOAD_REFUSED",
    http: 400,
    message: "The server rejected the upload (status {status}): {reason}",
    fix: "Upload a video or audio file.",
  },
  otherFile: {
    code: "E_OTHER_FILE",
    http: 409,
    message: "The upload expects a file of {length} bytes, but {file} is {size} bytes.",
    fix: "Use the original file, or upload this one without --resume.",
  },
  notDelivered: {
    code: "E_NOT_DELIVERED",
    http: 502,
    message: "Cannot fetch {address}: {reason}",
    fix: "Check that the URL is reachable from this machine. The server derives it from http.public_url and stream.delivery_domain.",
  },
  badPlaylist: {
    code: "E_BAD_PLAYLIST",
    http: 502,
    message: "{address} is not a playlist.",
    fix: "Check http.public_url and stream.delivery_domain of the server, which determine this URL.",
  },
});

/** Fixes for sources that the server could not process. */
export const failureAdvice = (reason: string): string =>
  ADVICE[reason] ?? "Check the server's log, fix the problem, and upload the file again.";

const ADVICE: Record<string, string> = {
  ERR_NON_VIDEO: "Upload a file with video or audio.",
  ERR_MALFORMED_VIDEO: "The file is damaged or truncated: check that it plays locally, then upload it again.",
  ERR_DURATION_EXCEED_CONSTRAINT: "Upload a shorter one, or allow longer ones (stream.max_duration_seconds).",
  ERR_DURATION_TOO_SHORT: "Upload one of at least 0.1 seconds.",
  ERR_FETCH_ORIGIN_ERROR:
    "The address must answer HEAD and GET with ranges, without a login: look at it from the server.",
};
