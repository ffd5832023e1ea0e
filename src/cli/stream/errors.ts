import { defineErrors } from "../../kernel/index.ts";

/** What can become of a video that a command waits for, sends or fetches. */
export const videoErrors = defineErrors("video", {
  noVideoId: {
    code: "E_NO_VIDEO_ID",
    http: 400,
    message: '"{id}" is not the id of a video: those are 32 hex digits.',
    fix: "`reelpost stream list` shows them.",
  },
  failed: {
    code: "E_VIDEO_FAILED",
    http: 424,
    message: "The video {uid} cannot be played: {text} [{reason}]",
    fix: "{advice}",
  },
  notUploaded: {
    code: "E_NOT_UPLOADED",
    http: 409,
    message: "The video {uid} waits for its upload.",
    fix: "It can be played once its file is there: `reelpost stream get {uid}` shows when.",
  },
  stuck: {
    code: "E_VIDEO_STUCK",
    http: 504,
    message: "Nothing has changed for {minutes} minutes: {state}.",
    fix: "The work goes on without this command where it can: look at the server's log, then at `reelpost stream get {uid}`.",
  },
  downloadFailed: {
    code: "E_DOWNLOAD_FAILED",
    http: 424,
    message: "The download of the video {uid} could not be made.",
    fix: "The server's log says why; the next `reelpost stream download {uid}` tries anew.",
  },
  stopped: {
    code: "E_UPLOAD_STOPPED",
    http: 503,
    message: "The upload stopped after {offset} of {size}: {reason}.",
    fix: "What has arrived is kept. Go on with: reelpost stream upload {file} --resume {address}",
  },
  uploadRefused: {
    code: "E_UPLOAD_REFUSED",
    http: 400,
    message: "The server refuses the upload (status {status}): {reason}",
    fix: "Upload the file again, without --resume.",
  },
  notMedia: {
    code: "E_UPLOAD_REFUSED",
    http: 400,
    message: "The server refuses the upload (status {status}): {reason}",
    fix: "Upload a video or audio file.",
  },
  otherFile: {
    code: "E_OTHER_FILE",
    http: 409,
    message: "The upload is of a file of {length} bytes, and {file} has {size}.",
    fix: "Name the file it was begun with, or upload this one without --resume.",
  },
  notDelivered: {
    code: "E_NOT_DELIVERED",
    http: 502,
    message: "{address} cannot be fetched: {reason}",
    fix: "Is the address reachable from here? It follows from http.public_url and stream.delivery_domain of the server.",
  },
  badPlaylist: {
    code: "E_BAD_PLAYLIST",
    http: 502,
    message: "{address} is not a playlist.",
    fix: "It follows from http.public_url and stream.delivery_domain of the server: do they lead to it?",
  },
});

/** What can be done about a source that the server could not make a video of. */
export const failureAdvice = (reason: string): string =>
  ADVICE[reason] ?? "The server's log says more. Upload the file anew once that is mended.";

const ADVICE: Record<string, string> = {
  ERR_NON_VIDEO: "Upload a file that has moving pictures or sound.",
  ERR_MALFORMED_VIDEO: "The file is damaged or cut off: look whether it plays here, then upload it anew.",
  ERR_DURATION_EXCEED_CONSTRAINT: "Upload a shorter one, or allow longer ones (stream.max_duration_seconds).",
  ERR_DURATION_TOO_SHORT: "Upload one that lasts a tenth of a second at least.",
  ERR_FETCH_ORIGIN_ERROR:
    "The address must answer HEAD and GET with ranges, without a login: look at it from the server.",
};
