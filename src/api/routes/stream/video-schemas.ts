import { z } from "@hono/zod-openapi";

/** Schemas of a video, as returned by `showVideo`. */
const text = z.string();
const orNull = text.nullable();
const states = ["pendingupload", "downloading", "queued", "inprogress", "ready", "error", "live-inprogress"] as const;
const stateSchema = z.enum(states);

export const watermarkSchema = z.object({
  uid: text,
  name: text,
  size: z.number(),
  width: z.number(),
  height: z.number(),
  opacity: z.number(),
  padding: z.number(),
  scale: z.number(),
  position: z.enum(["upperRight", "upperLeft", "lowerLeft", "lowerRight", "center"]),
  downloadedFrom: orNull,
  created: text,
});

const detailsSchema = z.object({ title: orNull, share_link: orNull, channel_link: orNull, logo: orNull });

export const videoSchema = z.object({
  uid: text,
  creator: orNull,
  thumbnail: text,
  thumbnailTimestampPct: z.number(),
  readyToStream: z.boolean(),
  readyToStreamAt: orNull,
  status: z.object({
    state: stateSchema,
    step: z.enum(["encoding", "manifest"]).optional(),
    pctComplete: text,
    errorReasonCode: text,
    errorReasonText: text,
  }),
  meta: z.record(text, z.unknown()),
  created: text,
  modified: text,
  scheduledDeletion: orNull,
  size: z.number(),
  preview: text,
  allowedOrigins: z.array(text),
  requireSignedURLs: z.boolean(),
  uploaded: orNull,
  uploadExpiry: orNull,
  maxSizeBytes: z.number().nullable(),
  maxDurationSeconds: z.number().nullable(),
  duration: z.number(),
  input: z.object({ width: z.number(), height: z.number() }),
  playback: z.object({ hls: text, dash: text }),
  watermark: watermarkSchema.nullable(),
  liveInput: text.optional(),
  clippedFrom: text.optional(),
  publicDetails: detailsSchema,
});

/** RFC 3339 time or a date; converted to epoch milliseconds. */
export const instant = text
  .refine((value) => /^\d{4}-\d{2}-\d{2}/.test(value) && !Number.isNaN(Date.parse(value)), {
    error: "must be a time such as 2026-11-21T10:00:00Z",
  })
  .transform((value) => Date.parse(value));

/** Any JSON object; the domain limits its size. */
export const metaField = z.record(text, z.unknown());

export const creatorField = text.nullish().transform((creator) => creator ?? null);

/** Treats null as omitted, for fields in which null has no meaning. */
const nullAsOmitted = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

/** Fields of a video that can be set; omitted fields keep their values. The domain validates them. */
const videoFields = {
  allowedOrigins: z
    .array(text)
    .nullable()
    .transform((origins) => origins ?? [])
    .optional(),
  creator: creatorField.optional(),
  meta: nullAsOmitted(metaField),
  requireSignedURLs: nullAsOmitted(z.boolean()),
  scheduledDeletion: instant.nullable().optional(),
  thumbnailTimestampPct: nullAsOmitted(z.number()),
};

export const videoUpdateBody = z.object({
  ...videoFields,
  maxDurationSeconds: z.number().nullable().optional(),
  publicDetails: z
    .object({
      title: orNull.optional(),
      share_link: orNull.optional(),
      channel_link: orNull.optional(),
      logo: orNull.optional(),
    })
    .nullish(),
  uid: text.nullish(),
  uploadExpiry: instant.nullable().optional(),
});

export const flag = z.enum(["true", "false", "1", "0", ""]).transform((word) => word === "true" || word === "1");
/** A comma-separated list, such as "a, b". Its maximum length is that of a list in JSON. */
const words = text
  .transform((list) =>
    list
      .split(",")
      .map((word) => word.trim())
      .filter((word) => word !== ""),
  )
  .pipe(z.array(text).max(1000));

export const videoListQuery = z.object({
  status: words.pipe(z.array(stateSchema)).optional(),
  creator: text.optional(),
  type: z.enum(["vod", "live"]).optional(),
  search: text.max(500).optional(),
  video_name: text.optional(),
  name: words.pipe(z.array(text).max(100)).optional(),
  id: words.optional(),
  live_input_id: text.optional(),
  start: instant.optional(),
  after: instant.optional(),
  end: instant.optional(),
  before: instant.optional(),
  asc: flag.optional(),
  include_counts: flag.optional(),
  limit: z.coerce.number().int().min(1).max(1000).optional(),
  // An extension of the hosted API: for clients that page through every list.
  page: z.coerce.number().int().min(1).max(1_000_000_000).default(1),
  per_page: z.coerce
    .number()
    .int()
    .min(1)
    .transform((size) => Math.min(size, 1000))
    .optional(),
});
