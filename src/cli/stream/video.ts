import type { Paint } from "../../kernel/paint.ts";
import { at } from "../api/paths.ts";
import type { ApiConnection } from "../api/connect.ts";
import { nameValueLines, formatUtcTime } from "../print.ts";
import { formatSize, oneLine } from "../../kernel/text.ts";
import { videoErrors } from "./errors.ts";

/** The displayed part of a video in the API. */
export interface ApiVideo {
  uid: string;
  creator: string | null;
  readyToStream: boolean;
  readyToStreamAt: string | null;
  status: { state: string; step?: string; pctComplete: string; errorReasonCode: string; errorReasonText: string };
  meta: Record<string, string>;
  created: string;
  uploaded: string | null;
  scheduledDeletion: string | null;
  size: number;
  duration: number;
  input: { width: number; height: number };
  allowedOrigins: string[];
  requireSignedURLs: boolean;
  thumbnail: string;
  preview: string;
  playback: { hls: string; dash: string };
}

export const videoArgument = { name: "uid", summary: "id of the video", required: true } as const;

/**
 * Returns the video's path under the account: `/accounts/<id>/stream/<uid>`. Validated here, because other words in
 * this position are other resources: deleting `webhook` would delete the webhook.
 */
export function videoPath({ base }: Pick<ApiConnection, "base">, uid: string): string {
  if (!/^[0-9a-f]{32}$/i.test(uid)) throw videoErrors.noVideoId({ id: oneLine(uid, 100) });
  return `${base}/stream${at`/${uid.toLowerCase()}`}`;
}

/** `inprogress, 39%`, `ready`, `error: The file …` */
export function stateText({ status: { state, pctComplete, errorReasonCode, errorReasonText } }: ApiVideo): string {
  if (state === "error") return oneLine(`error: ${errorReasonText} [${errorReasonCode}]`);
  const percent = Math.floor(Number(pctComplete));
  return percent > 0 && percent < 100 ? `${state}, ${percent}%` : state;
}

export const lengthText = ({ duration }: Pick<ApiVideo, "duration">): string =>
  duration < 0 ? "" : clockText(duration);

/** `7.5 s`, `2:05`, `1:00:09` */
function clockText(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const wholeSeconds = Math.round(seconds);
  const two = (number: number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(wholeSeconds / 3600), Math.floor(wholeSeconds / 60) % 60];
  return hours === 0 ? `${minutes}:${two(wholeSeconds % 60)}` : `${hours}:${two(minutes)}:${two(wholeSeconds % 60)}`;
}

export const dimensionsText = ({ input: { width, height } }: Pick<ApiVideo, "input">): string =>
  width > 0 && height > 0 ? `${width}x${height}` : "";

/** The preview page and the URLs for players. */
const addressFacts = ({
  uid,
  preview,
  playback: { hls, dash },
}: Pick<ApiVideo, "uid" | "preview" | "playback">): (readonly [string, string])[] => [
  ["uid", uid],
  ["watch", preview],
  ["hls", hls],
  ["dash", dash],
];

/** Shown after an upload: the URLs and the processing state. */
export const uploadedLines = (video: ApiVideo, paint: Paint): string[] =>
  nameValueLines([...addressFacts(video), ["state", stateText(video)], ["playable", playsText(video)]], paint);

export const videoLines = (video: ApiVideo, paint: Paint): string[] =>
  nameValueLines(
    [
      ["uid", video.uid],
      ["name", orNone(video.meta.name)],
      ["state", stateText(video)],
      ["playable", playsText(video)],
      ["duration", orNone(lengthText(video))],
      ["resolution", orNone(dimensionsText(video))],
      ["size", video.size > 0 ? formatSize(video.size) : undefined],
      ["creator", orNone(video.creator ?? "")],
      ["created", formatUtcTime(video.created)],
      ["uploaded", video.uploaded === null ? undefined : formatUtcTime(video.uploaded)],
      ["scheduled deletion", video.scheduledDeletion === null ? undefined : formatUtcTime(video.scheduledDeletion)],
      ["access", video.requireSignedURLs ? "token required: `reelpost stream token`" : undefined],
      ["origins", video.allowedOrigins.length === 0 ? undefined : oneLine(video.allowedOrigins.join(", "))],
      ...addressFacts(video).slice(1),
      ["thumbnail", video.thumbnail],
    ],
    paint,
  );

const orNone = (text: string | undefined): string | undefined =>
  text === undefined || text === "" ? undefined : oneLine(text);

function playsText({ readyToStream, readyToStreamAt }: ApiVideo): string {
  if (!readyToStream) return "not yet";
  return readyToStreamAt === null ? "yes" : `since ${formatUtcTime(readyToStreamAt)}`;
}
