import type { MediaModel } from "../model.ts";
import type { RecordedVideo } from "./port.ts";
import type { ErrorReason, Video, VideoState } from "./video.ts";

/**
 * State transitions of a video: each function returns the video after the step, or undefined if the step is not
 * possible.
 */

/** Waiting for the source. */
const AWAITING_STATES: ReadonlySet<VideoState> = new Set(["pendingupload", "downloading"]);
/** States in which processing is pending or running on this server: they count towards the limit of queued videos. */
export const IN_PROCESSING = ["downloading", "queued", "inprogress"] as const satisfies VideoState[];
/** Final states, unless the user acts. */
export const FINAL_STATES: ReadonlySet<VideoState> = new Set(["ready", "error"]);

/** Texts of the reasons that clients know. */
const REASON_TEXTS: Record<ErrorReason, string> = {
  ERR_NON_VIDEO: "The file was not recognized as a valid video file.",
  ERR_DURATION_EXCEED_CONSTRAINT: "The video's duration exceeds the constraint that was set for it.",
  ERR_FETCH_ORIGIN_ERROR: "The video could not be downloaded from the URL.",
  ERR_MALFORMED_VIDEO: "The video was deemed to be corrupted or malformed.",
  ERR_DURATION_TOO_SHORT: "The video is shorter than 0.1 seconds.",
  ERR_UNKNOWN: "The video could not be processed because of an internal error.",
};

export function withUpload(video: Video, source: { key: string; size: number }, now: number): Video | undefined {
  // A clip is queued from the beginning, and gets its source a moment later.
  const isWaiting = AWAITING_STATES.has(video.state) || (video.state === "queued" && video.sourceKey === null);
  if (!isWaiting) return undefined;
  return { ...video, state: "queued", sourceKey: source.key, size: source.size, uploaded: now, modified: now };
}

/** Failures caused by the file, detected before encoding. */
const FILE_ERRORS: ReadonlySet<ErrorReason> = new Set([
  "ERR_NON_VIDEO",
  "ERR_MALFORMED_VIDEO",
  "ERR_DURATION_TOO_SHORT",
  "ERR_DURATION_EXCEED_CONSTRAINT",
]);

/**
 * True if another file may replace the failed one. Once there is a model, players may have segments of the first file.
 */
export const mayReopen = ({ state, model, errorReason }: Video): boolean =>
  state === "error" && model === null && errorReason !== undefined && FILE_ERRORS.has(errorReason.code);

export function withReopenedUpload(video: Video, now: number): Video | undefined {
  if (video.state === "pendingupload") return video;
  if (!mayReopen(video)) return undefined;
  const { errorReason: _, step: __, ...rest } = video;
  return {
    ...rest,
    state: "pendingupload",
    pctComplete: 0,
    sourceKey: null,
    size: 0,
    duration: -1,
    input: { width: -1, height: -1 },
    uploaded: null,
    modified: now,
  };
}

/**
 * True if the file exceeds maxDurationSeconds. The limit counts whole seconds, because a "60 s" file often has 60.04.
 */
export const exceedsLimit = (
  { maxDurationSeconds: limit }: Pick<Video, "maxDurationSeconds">,
  { duration }: Pick<MediaModel, "duration">,
): boolean => limit !== null && Math.floor(duration) > limit;

export function withModel(video: Video, model: MediaModel, now: number): Video | undefined {
  if (video.state === "inprogress" || video.state === "ready") return video.model === null ? undefined : video;
  if (video.state !== "queued" || video.sourceKey === null) return undefined;
  const { maxDurationSeconds: limit } = video;
  const input =
    model.video === undefined ? { width: 0, height: 0 } : { width: model.video.width, height: model.video.height };
  const probedVideo: Video = { ...video, duration: model.duration, input, modified: now };
  if (exceedsLimit(video, model)) {
    return withFailure(
      probedVideo,
      "ERR_DURATION_EXCEED_CONSTRAINT",
      `The video is ${model.duration.toFixed(2)} seconds long; at most ${limit} (maxDurationSeconds) are allowed.`,
      now,
    );
  }
  return { ...probedVideo, state: "inprogress", step: "encoding", model };
}

export function withReadyToStream(video: Video, now: number): Video | undefined {
  if (video.readyToStream || (video.state !== "inprogress" && video.state !== "live-inprogress")) return undefined;
  return { ...video, readyToStream: true, readyToStreamAt: now, modified: now };
}

export function withProgress(video: Video, pctComplete: number): Video | undefined {
  // Only `ready` reports 100.
  const cappedPct = Math.min(99.999999, pctComplete);
  return video.state === "inprogress" && cappedPct > video.pctComplete
    ? { ...video, pctComplete: cappedPct }
    : undefined;
}

export function withCompletion(video: Video, now: number): Video | undefined {
  if (video.state !== "inprogress") return undefined;
  const { step: _, ...rest } = video;
  return {
    ...rest,
    state: "ready",
    pctComplete: 100,
    readyToStream: true,
    readyToStreamAt: video.readyToStreamAt ?? now,
    modified: now,
  };
}

/** The video is played from its segments before its file and model exist. */
export function withRecording(video: Video, recording: RecordedVideo, now: number): Video | undefined {
  if (video.state !== "live-inprogress") return undefined;
  // A deletion date scheduled manually is kept.
  const scheduledDeletion = video.scheduledDeletion ?? recording.scheduledDeletion;
  return {
    ...video,
    ...recording,
    scheduledDeletion,
    state: "ready",
    pctComplete: 100,
    readyToStream: true,
    readyToStreamAt: video.readyToStreamAt ?? now,
    uploaded: now,
    modified: now,
  };
}

/** Adds the file assembled from a recording. Duration and size remain those of the played segments. */
export function withFile(
  video: Video,
  { key, model }: { key: string; model: MediaModel },
  now: number,
): Video | undefined {
  if (video.state !== "ready" || video.liveInput === undefined || video.sourceKey !== null) return undefined;
  return { ...video, sourceKey: key, model, modified: now };
}

export function withFailure(video: Video, code: ErrorReason, text: string | undefined, now: number): Video | undefined {
  if (FINAL_STATES.has(video.state)) return undefined;
  return {
    ...video,
    state: "error",
    step: video.step ?? "encoding",
    readyToStream: false,
    readyToStreamAt: null,
    modified: now,
    errorReason: { code, text: text === undefined || text === "" ? REASON_TEXTS[code] : text.slice(0, 500) },
  };
}
