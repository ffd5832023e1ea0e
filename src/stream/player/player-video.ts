import { looksLikeToken, readToken } from "../../protocol/playback-token/index.ts";
import { frameAncestors } from "../access/index.ts";
import type { Chapter } from "../chapters/index.ts";
import type { Video } from "../videos/index.ts";
import type { PlayerBroadcast, PlayerVideo } from "./page-config.ts";

/** Longest side of a poster, in pixels. */
const POSTER_WIDTH = 1280;
/** Height of the cover or waveform of an audio-only video. */
const POSTER_HEIGHT = 720;

/** True if an input currently has a publisher, in any process. */
export type IsPublished = (input: string) => Promise<boolean>;

/** True if broadcasts of an input are recorded as videos. */
export type IsRecorded = (input: string) => Promise<boolean>;

/** Returns the chapters of a video for viewers. */
export type ChaptersOf = (video: Pick<Video, "uid" | "duration">) => Promise<Chapter[]>;

interface PlayerVideoDeps {
  /** If absent, no broadcast is reported as interrupted. */
  isPublished?: IsPublished | undefined;
  /** If absent, all broadcasts are recorded. */
  isRecorded?: IsRecorded | undefined;
  /** Default: no video has chapters. */
  chaptersOf?: ChaptersOf | undefined;
}

/** Creates the data that the player receives about a video. */
export function createPlayerVideos({
  isPublished = async () => true,
  isRecorded = async () => true,
  chaptersOf = async () => [],
}: PlayerVideoDeps = {}) {
  return async (video: Video, id: string): Promise<PlayerVideo> => {
    const shown = await withoutChapters(video, id);
    return isRunning(shown) ? shown : { ...shown, chapters: await chaptersOf(video) };
  };

  async function withoutChapters(video: Video, id: string): Promise<PlayerVideo> {
    const { liveInput: input, uid, state } = video;
    if (input === undefined) return playerVideo(video, id);
    if (state === "live-inprogress") return playerVideo(video, id, { interrupted: !(await isPublished(input)) });
    // At the URL of an input, `unrecorded` is set if the current broadcast is not recorded as a video.
    const now = subjectOf(id) === input || uid === input;
    return playerVideo(video, id, { unrecorded: now && !(await isRecorded(input)) && (await isPublished(input)) });
  }
}

const isRunning = ({ live }: PlayerVideo) => live !== null && live.state !== "over";

/**
 * `interrupted`: the video is a running broadcast that currently has no publisher. `unrecorded`: a broadcast is
 * running, but this video is not its recording.
 */
export function playerVideo(
  sourceVideo: Video,
  id: string,
  { interrupted: isInterrupted = false, unrecorded = false } = {},
): PlayerVideo {
  const video: Video = unrecorded
    ? { ...sourceVideo, uid: sourceVideo.liveInput!, state: "live-inprogress", readyToStream: true, duration: -1 }
    : sourceVideo;
  const { model } = video;
  const width = model?.video?.width ?? video.input.width;
  const height = model?.video?.height ?? video.input.height;
  return {
    id,
    uid: video.uid,
    state: video.state,
    readyToStream: video.readyToStream,
    pctComplete: video.pctComplete,
    error: video.errorReason === undefined ? null : { code: video.errorReason.code, text: video.errorReason.text },
    duration: video.duration,
    width,
    height,
    picture: model === null || model.video !== undefined,
    poster:
      !video.readyToStream || unrecorded
        ? null
        : width > 0 && height > 0
          ? posterOf(width, height)
          : video.liveInput === undefined
            ? model !== null && model.video === undefined
              ? posterOf(POSTER_WIDTH, POSTER_HEIGHT)
              : null
            : "thumbnails/thumbnail.jpg",
    details: video.publicDetails,
    chapters: [],
    live:
      video.liveInput === undefined
        ? null
        : {
            state: broadcastState(video, isInterrupted),
            follows: subjectOf(id) !== video.uid || video.uid === video.liveInput,
            unrecorded,
          },
    frames: frameAncestors(video.allowedOrigins) ?? null,
  };
}

function broadcastState({ uid, liveInput, state }: Video, isInterrupted: boolean): PlayerBroadcast["state"] {
  if (uid === liveInput && state !== "live-inprogress") return "waiting";
  return state !== "live-inprogress" ? "over" : isInterrupted ? "interrupted" : "running";
}

/** Returns the uid in the URL; a token has already been verified. */
function subjectOf(id: string): string | undefined {
  if (!looksLikeToken(id)) return id;
  const parsedToken = readToken(id);
  return parsedToken.ok ? parsedToken.token.claims.sub : undefined;
}

function posterOf(width: number, height: number): string {
  const factor = Math.min(1, POSTER_WIDTH / Math.max(width, height));
  return `thumbnails/thumbnail.jpg?width=${Math.round(width * factor)}&height=${Math.round(height * factor)}`;
}
