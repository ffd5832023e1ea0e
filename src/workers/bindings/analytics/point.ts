import { analyticsErrors } from "./errors.ts";
import { pointLimits } from "./limits.ts";

/** The content of a data point. Missing values are "" and 0. */
export interface AnalyticsPoint {
  index: string;
  blobs: string[];
  doubles: number[];
}

/**
 * Checks a point sent by the worker's process. The worker has already checked it, but its process is not trusted.
 * Throws invalidPoint.
 */
export function readPoint(sentPoint: unknown): AnalyticsPoint {
  const { index, blobs, doubles } = (typeof sentPoint === "object" && sentPoint !== null ? sentPoint : {}) as Record<
    string,
    unknown
  >;
  if (typeof index !== "string" || Buffer.byteLength(index) > pointLimits.indexBytes) throw invalidField("index");
  if (!isListOf(blobs, pointLimits.blobs, "string") || !isWithinBlobLimit(blobs as string[]))
    throw invalidField("blobs");
  if (!isListOf(doubles, pointLimits.doubles, "number")) throw invalidField("doubles");
  return { index: toStorableText(index), blobs: (blobs as string[]).map(toStorableText), doubles: doubles as number[] };
}

const invalidField = (field: string) => analyticsErrors.invalidPoint({ reason: `${field} exceeds its limits` });

const isListOf = (value: unknown, maxLength: number, type: "string" | "number") =>
  Array.isArray(value) && value.length <= maxLength && value.every((item) => typeof item === type);

const isWithinBlobLimit = (blobs: string[]) =>
  blobs.reduce((sum, blob) => sum + Buffer.byteLength(blob), 0) <= pointLimits.blobBytes;

/** PostgreSQL rejects U+0000 and lone surrogates in text. */
const toStorableText = (text: string) => text.toWellFormed().replaceAll("\0", "\uFFFD");
