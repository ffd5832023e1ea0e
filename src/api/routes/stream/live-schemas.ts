import { z } from "@hono/zod-openapi";
import { secretField } from "../../secret-fields.ts";
import { creatorField, metaField } from "./video-schemas.ts";

/** Schemas of live inputs, as returned by `showLiveInput` and similar functions. */
const text = z.string();
const states = [
  "connected",
  "reconnected",
  "reconnecting",
  "client_disconnect",
  "ttl_exceeded",
  "failed_to_connect",
  "failed_to_reconnect",
  "new_configuration_accepted",
] as const;
const liveStateSchema = z.enum(states).nullable();

const rtmpSchema = z.object({ url: text, streamKey: secretField(z.string()) });
const srtSchema = z.object({ url: text, streamId: text, passphrase: secretField(z.string()) });
const recordingSchema = z.object({
  mode: z.enum(["off", "automatic"]),
  timeoutSeconds: z.number(),
  requireSignedURLs: z.boolean(),
  allowedOrigins: z.array(text),
  hideLiveViewerCount: z.boolean(),
});

const listedInputSchema = z.object({
  uid: text,
  created: text,
  modified: text,
  meta: metaField,
  enabled: z.boolean(),
  deleteRecordingAfterDays: z.number().optional(),
});

export const liveInputSchema = listedInputSchema.extend({
  rtmps: rtmpSchema.optional(),
  rtmpsPlayback: rtmpSchema.optional(),
  rtmp: rtmpSchema.optional(),
  rtmpPlayback: rtmpSchema.optional(),
  srt: srtSchema.optional(),
  srtPlayback: srtSchema.optional(),
  // The URL contains the publishing key.
  webRTC: secretField(z.object({ url: text })),
  webRTCPlayback: z.object({ url: text }),
  playback: z.object({ hls: text, dash: text }),
  status: liveStateSchema,
  recording: recordingSchema,
  preferLowLatency: z.boolean(),
  defaultCreator: text.optional(),
  keysRotatedAt: text.optional(),
});

export const liveListSchema = z.object({
  liveInputs: z.array(listedInputSchema),
  range: z.number().int().optional(),
  total: z.number().int().optional(),
});

/** Null is treated as omitted: the default, or the current value. */
export const liveInputBody = z.object({
  meta: metaField.nullish(),
  enabled: z.boolean().nullish(),
  preferLowLatency: z.boolean().nullish(),
  defaultCreator: creatorField.optional(),
  deleteRecordingAfterDays: z.number().nullable().optional(),
  recording: z
    .object({
      mode: z.enum(["off", "automatic"]).nullish(),
      timeoutSeconds: z.number().nullish(),
      requireSignedURLs: z.boolean().nullish(),
      allowedOrigins: z
        .array(text)
        .nullable()
        .transform((origins) => origins ?? [])
        .optional(),
      hideLiveViewerCount: z.boolean().nullish(),
    })
    .nullish(),
});

/** `keys`: the keys of an imported input; only the server's operator may set them. */
export const newLiveInputBody = liveInputBody.extend({
  keys: z
    .object({ publish: secretField(z.string()), playback: secretField(z.string()) })
    .nullish()
    .describe("Operator only: the keys of an imported input."),
});

export const liveOutputSchema = z.object({
  uid: text,
  // SRT URLs may contain a passphrase.
  url: secretField(z.string()),
  streamKey: secretField(z.string()),
  enabled: z.boolean(),
  status: z
    .object({ state: z.enum(["connecting", "connected", "error", "ended"]), reason: text.optional(), at: text })
    .nullable(),
});
/** The key is optional if the URL is an SRT URL. */
export const liveOutputBody = z.object({
  url: text,
  streamKey: text.default(""),
  enabled: z
    .boolean()
    .nullish()
    .transform((enabled) => enabled ?? true),
});

const errorSchema = z.object({ code: text, message: text, videoCodec: text, audioCodec: text }).nullable();
export const liveHistorySchema = z.array(
  z.object({
    n: z.number(),
    at: text,
    state: liveStateSchema,
    error: errorSchema,
    protocol: text.nullable(),
    session: text.nullable(),
    reason: text.nullable(),
  }),
);

const liveHealthSchema = z.object({
  videoBitrate: z.number(),
  audioBitrate: z.number(),
  frameRate: z.number(),
  keyFrameInterval: z.number(),
  longestKeyFrameInterval: z.number(),
  dropped: z.number(),
  lost: z.number(),
  bFrames: z.boolean(),
  problems: z.array(text),
  notes: z.array(text).optional(),
});

export const liveStatusSchema = z.object({
  state: liveStateSchema,
  since: text.nullable(),
  live: z.boolean(),
  videoUID: text.nullable(),
  viewers: z.number().int(),
  health: liveHealthSchema.nullable(),
  outputs: z.array(liveOutputSchema.omit({ url: true, streamKey: true })),
});

export const liveMetricsSchema = z.object({
  samples: z.array(
    z.object({
      at: text,
      videoBitrate: z.number(),
      audioBitrate: z.number(),
      frameRate: z.number(),
      keyFrameInterval: z.number(),
      dropped: z.number(),
      lost: z.number(),
      viewers: z.number().int().nullable(),
    }),
  ),
  warnings: z.array(text),
});
