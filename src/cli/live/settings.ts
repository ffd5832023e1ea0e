import type { Options } from "../command.ts";
import { liveErrors } from "./errors.ts";

const onOff = ["on", "off"] as const;

/** Options of a live input; absent ones stay unchanged. */
export const inputOptions = {
  name: { type: "string", placeholder: "text", summary: "name of the live input" },
  creator: { type: "string", placeholder: "text", summary: "creator of its recordings" },
  recording: {
    type: "string",
    placeholder: "mode",
    choices: ["automatic", "off"],
    summary: "record each broadcast; required for HLS and DASH",
    defaultText: "off",
  },
  gap: {
    type: "number",
    placeholder: "seconds",
    min: 0,
    max: 86_400,
    summary: "seconds to wait for the publisher to reconnect before the next video starts; 0: server default",
    defaultText: "0",
  },
  "low-latency": {
    type: "string",
    placeholder: "on|off",
    choices: onOff,
    summary: "play with low-latency HLS",
    defaultText: "off",
  },
  tokens: {
    type: "string",
    placeholder: "on|off",
    choices: onOff,
    summary:
      "require a token for playback (requireSignedURLs); takes effect immediately, including for viewers of a running broadcast",
    defaultText: "off",
  },
  "allowed-origin": {
    type: "string",
    placeholder: "host",
    multiple: true,
    summary:
      "host allowed to embed the video; * for any; takes effect immediately, including for viewers of a running broadcast",
  },
  "viewer-count": {
    type: "string",
    placeholder: "shown|hidden",
    choices: ["shown", "hidden"],
    summary: "show the number of viewers to everyone",
    defaultText: "shown",
  },
  "delete-after": {
    type: "string",
    placeholder: "days",
    summary: "days after which new recordings are deleted; never: keep them",
    defaultText: "never",
  },
} as const satisfies Options;

interface InputSettings {
  name: string | undefined;
  creator: string | undefined;
  recording: "automatic" | "off" | undefined;
  gap: number | undefined;
  "low-latency": "on" | "off" | undefined;
  tokens: "on" | "off" | undefined;
  "allowed-origin": string[];
  "viewer-count": "shown" | "hidden" | undefined;
  "delete-after": string | undefined;
}

/** Returns the request body for the API. `meta`: the current value, needed because an update replaces all of it. */
export function inputBody(
  {
    name,
    creator,
    recording: mode,
    gap,
    "low-latency": latency,
    tokens,
    "allowed-origin": origins,
    "viewer-count": count,
    "delete-after": days,
  }: InputSettings,
  meta: Record<string, string> = {},
) {
  const recording = {
    ...(mode !== undefined && { mode }),
    ...(gap !== undefined && { timeoutSeconds: gap }),
    ...(tokens !== undefined && { requireSignedURLs: tokens === "on" }),
    ...(origins.length > 0 && { allowedOrigins: origins.filter((origin) => origin !== "*") }),
    ...(count !== undefined && { hideLiveViewerCount: count === "hidden" }),
  };
  return {
    ...(name !== undefined && { meta: { ...meta, name } }),
    ...(creator !== undefined && { defaultCreator: creator }),
    ...(latency !== undefined && { preferLowLatency: latency === "on" }),
    ...(days !== undefined && { deleteRecordingAfterDays: daysOf(days) }),
    ...(Object.keys(recording).length > 0 && { recording }),
  };
}

function daysOf(daysText: string): number | null {
  if (daysText === "never") return null;
  if (!/^\d{1,5}$/.test(daysText)) throw liveErrors.noDays({ given: daysText.slice(0, 100) });
  return Number(daysText);
}
