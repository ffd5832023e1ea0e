import { z } from "zod";
import { streamErrors } from "../errors.ts";

/**
 * Parameters of the binding's methods, under the binding's names; validated here because a worker may pass anything.
 */

const text = z.string();
const instant = text
  .refine((givenText) => /^\d{4}-\d{2}-\d{2}/.test(givenText) && !Number.isNaN(Date.parse(givenText)), {
    error: "must be a time such as 2026-11-21T10:00:00Z",
  })
  .transform((givenText) => Date.parse(givenText));
const meta = z.record(text, z.unknown());
export const COMPARISONS = ["eq", "gt", "gte", "lt", "lte"] as const;
const comparison = z.enum(COMPARISONS);

const sharedFields = {
  allowedOrigins: z.array(text).optional(),
  creator: text.nullable().optional(),
  meta: meta.optional(),
  requireSignedURLs: z.boolean().optional(),
  scheduledDeletion: instant.nullable().optional(),
  thumbnailTimestampPct: z.number().optional(),
};

export const uploadParams = z.object({ ...sharedFields, watermarkId: text.optional() });
export const directUploadParams = z.object({
  ...sharedFields,
  maxDurationSeconds: z.number(),
  expiry: instant.optional(),
  watermark: z.object({ id: text }).optional(),
});
export const updateParams = z.object({
  ...sharedFields,
  maxDurationSeconds: z.number().nullable().optional(),
  uploadExpiry: instant.nullable().optional(),
  publicDetails: z
    .object({
      title: text.nullable(),
      share_link: text.nullable(),
      channel_link: text.nullable(),
      logo: text.nullable(),
    })
    .partial()
    .optional(),
});
export const listParams = z.object({
  limit: z.number().int().min(1).max(1000).optional(),
  before: instant.optional(),
  beforeComp: comparison.default("lt"),
  after: instant.optional(),
  afterComp: comparison.default("gte"),
});
/** Bounds are checked where profiles are created. */
export const watermarkParams = z.object({
  name: text.optional(),
  opacity: z.number().optional(),
  padding: z.number().optional(),
  scale: z.number().optional(),
  position: z.enum(["upperRight", "upperLeft", "lowerLeft", "lowerRight", "center"]).optional(),
});
export const downloadType = z.enum(["default", "audio"]).default("default");
export const textParam = z.string();
export const tokenParams = z.object({
  exp: z.number().int().optional(),
  nbf: z.number().int().optional(),
  downloadable: z.boolean().optional(),
  accessRules: z.array(z.unknown()).optional(),
});

/** Parses a parameter. Absent and null count as `{}` if no field is required. Throws badParameter. */
export function parseParam<Schema extends z.ZodType>(schema: Schema, value: unknown, name: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw streamErrors.badParameter({ reason: `${[name, ...path].join(".")}: ${message}` });
}

/** The fields that have a value. */
export const definedFields = <Given extends object>(
  fields: Given,
): { [Name in keyof Given]?: Exclude<Given[Name], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Given]?: Exclude<Given[Name], undefined>;
  };
