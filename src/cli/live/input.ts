import type { Paint } from "../../kernel/paint.ts";
import type { ApiConnection } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { nameValueLines, formatUtcTime } from "../print.ts";
import { oneLine } from "../../kernel/text.ts";
import { liveErrors } from "./errors.ts";

/** A live input as in API responses, including lists. */
export interface ListedInput {
  uid: string;
  created: string;
  modified: string;
  meta: Record<string, string>;
  enabled: boolean;
  deleteRecordingAfterDays?: number;
}

interface Rtmp {
  url: string;
  streamKey: string;
}

interface Srt {
  url: string;
  streamId: string;
  passphrase: string;
}

export interface ApiLiveInput extends ListedInput {
  rtmps?: Rtmp;
  rtmpsPlayback?: Rtmp;
  rtmp?: Rtmp;
  rtmpPlayback?: Rtmp;
  srt?: Srt;
  srtPlayback?: Srt;
  webRTC: { url: string };
  webRTCPlayback: { url: string };
  playback: { hls: string; dash: string };
  status: string | null;
  recording: {
    mode: "off" | "automatic";
    timeoutSeconds: number;
    requireSignedURLs: boolean;
    allowedOrigins: string[];
    hideLiveViewerCount: boolean;
  };
  preferLowLatency: boolean;
  defaultCreator?: string;
  keysRotatedAt?: string;
}

export const inputArgument = { name: "uid", summary: "id of the live input", required: true } as const;

const ID = /^[0-9a-f]{32}$/i;

/** Returns the input's path under the account: `/accounts/<id>/stream/live_inputs/<uid>`. */
export function inputPath({ base }: Pick<ApiConnection, "base">, uid: string): string {
  if (!ID.test(uid)) throw liveErrors.noInputId({ id: oneLine(uid, 100) });
  return `${base}/stream/live_inputs${at`/${uid.toLowerCase()}`}`;
}

export function outputPath(connection: Pick<ApiConnection, "base">, input: string, output: string): string {
  const path = inputPath(connection, input);
  if (!ID.test(output)) throw liveErrors.noOutputId({ id: oneLine(output, 100), input });
  return `${path}/outputs${at`/${output.toLowerCase()}`}`;
}

/** Returns the state in human-readable form: `connected`, `disabled`, `never published to`. */
const stateText = ({ enabled, status }: Pick<ApiLiveInput, "enabled" | "status">): string =>
  enabled ? (status ?? "never published to") : `disabled${status === null ? "" : `, ${status}`}`;

/** Returns the URL in the form that ffmpeg and OBS accept. */
const srtAddress = ({ url, streamId, passphrase }: Srt): string =>
  `${url}?streamid=${streamId}&passphrase=${passphrase}`;
const rtmpAddress = (paint: Paint, rtmp: Rtmp | undefined): string | undefined =>
  rtmp && `${rtmp.url} ${paint("dim", "key")} ${rtmp.streamKey}`;

/** URLs and keys for publishing and playback. These are credentials for both. */
export const inputLines = (input: ApiLiveInput, paint: Paint): string[] =>
  nameValueLines(
    [
      ["uid", input.uid],
      ["name", orNone(input.meta["name"])],
      ["state", stateText(input)],
      ["recording", recordText(input)],
      ["low latency", input.preferLowLatency ? "yes" : undefined],
      ["creator", orNone(input.defaultCreator)],
      ["created", formatUtcTime(input.created)],
      ["keys changed", input.keysRotatedAt && formatUtcTime(input.keysRotatedAt)],
      ["access", input.recording.requireSignedURLs ? "token required" : undefined],
      ["origins", orNone(input.recording.allowedOrigins.join(", "))],
      ["viewers", input.recording.hideLiveViewerCount ? "hidden" : undefined],
      ["rtmps", rtmpAddress(paint, input.rtmps)],
      ["rtmp", rtmpAddress(paint, input.rtmp)],
      ["srt", input.srt && srtAddress(input.srt)],
      ["whip", input.webRTC.url],
      ["watch", input.playback.hls.replace(/manifest\/video\.m3u8$/, "watch")],
      ["hls", input.playback.hls],
      ["dash", input.playback.dash],
      ["whep", input.webRTCPlayback.url],
      ["play rtmps", rtmpAddress(paint, input.rtmpsPlayback)],
      ["play rtmp", rtmpAddress(paint, input.rtmpPlayback)],
      ["play srt", input.srtPlayback && srtAddress(input.srtPlayback)],
    ],
    paint,
  );

function recordText({ recording: { mode, timeoutSeconds }, deleteRecordingAfterDays: days }: ApiLiveInput): string {
  if (mode === "off") return "off: playable over WebRTC, RTMP and SRT only";
  return [
    "yes",
    ...(timeoutSeconds > 0 ? [`a gap of ${timeoutSeconds} s starts a new video`] : []),
    ...(days === undefined ? [] : [`deleted after ${days} days`]),
  ].join(", ");
}

const orNone = (text: string | undefined): string | undefined =>
  text === undefined || text === "" ? undefined : oneLine(text);
