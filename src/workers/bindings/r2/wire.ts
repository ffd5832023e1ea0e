import { z } from "zod";
import { r2Errors } from "./errors.ts";
import type { ObjectRange, HttpMetadata, ListedObject, Metadata, ObjectPage, WantedRange } from "./object.ts";

/**
 * The JSON of workerd's R2 binding: Cap'n Proto messages (r2-api.capnp) as written by its JSON codec. Unset and default
 * fields are omitted; 64-bit integers are strings.
 */
const uint64 = z.union([z.number().nonnegative(), z.string().regex(/^\d{1,20}$/)]).transform(Number);
/** Milliseconds since the epoch; a time before 1970 arrives wrapped around. */
const time = z
  .union([z.number().int().nonnegative(), z.string().regex(/^\d{1,20}$/)])
  .transform((value) => new Date(Number(BigInt.asIntN(64, BigInt(value)))));
const object = z.string();
const uploadId = z.string();
const hex = z
  .string()
  .regex(/^(?:[0-9a-f]{2})+$/i)
  .transform((value) => value.toLowerCase());
const base64 = z.base64().transform((value) => Buffer.from(value, "base64").toString("hex"));

const etags = z.array(
  z.union([
    z.object({ type: z.enum(["strong", "weak"]), value: z.string() }),
    z.object({ type: z.literal("wildcard") }),
  ]),
);
const conditions = z.object({
  etagMatches: etags.optional(),
  etagDoesNotMatch: etags.optional(),
  uploadedBefore: time.optional(),
  uploadedAfter: time.optional(),
  secondsGranularity: z.boolean().optional(),
});

const metadata = {
  httpFields: z
    .object({
      contentType: z.string().optional(),
      contentLanguage: z.string().optional(),
      contentDisposition: z.string().optional(),
      contentEncoding: z.string().optional(),
      cacheControl: z.string().optional(),
      cacheExpiry: time.optional(),
    })
    .optional(),
  customFields: z.array(z.object({ k: z.string(), v: z.string() })).optional(),
  storageClass: z.string().optional(),
  /** A key sent by the worker for encrypting its object. */
  ssec: z.unknown().optional(),
};

const request = z.discriminatedUnion("method", [
  z.object({ method: z.literal("head"), object }),
  z.object({
    method: z.literal("get"),
    object,
    range: z.object({ offset: uint64.optional(), length: uint64.optional(), suffix: uint64.optional() }).optional(),
    rangeHeader: z.string().optional(),
    onlyIf: conditions.optional(),
    ssec: metadata.ssec,
  }),
  z.object({
    method: z.literal("put"),
    object,
    ...metadata,
    onlyIf: conditions.optional(),
    // Base64 for MD5, hex for the others, as in the schema.
    md5: base64.optional(),
    sha1: hex.optional(),
    sha256: hex.optional(),
    sha384: hex.optional(),
    sha512: hex.optional(),
  }),
  z.object({
    method: z.literal("list"),
    limit: z.number().optional(),
    prefix: z.string().optional(),
    cursor: z.string().optional(),
    delimiter: z.string().optional(),
    startAfter: z.string().optional(),
    include: z.array(z.union([z.literal(0), z.literal(1)])).optional(),
  }),
  z.object({ method: z.literal("delete"), object: z.string().optional(), objects: z.array(z.string()).optional() }),
  z.object({ method: z.literal("createMultipartUpload"), object, ...metadata }),
  z.object({ method: z.literal("uploadPart"), object, uploadId, partNumber: z.number(), ssec: metadata.ssec }),
  z.object({
    method: z.literal("completeMultipartUpload"),
    object,
    uploadId,
    parts: z.array(z.object({ etag: z.string(), part: z.number() })),
  }),
  z.object({ method: z.literal("abortMultipartUpload"), object, uploadId }),
]);

export type R2Request = z.infer<typeof request>;
export type RequestOf<Method extends R2Request["method"]> = Extract<R2Request, { method: Method }>;

export function parseRequest(json: string): R2Request {
  const parsed = request.safeParse(parseJson(json));
  if (!parsed.success)
    throw r2Errors.invalidArgument({ problem: "Metadata missing or invalid" }, { cause: parsed.error });
  if ("ssec" in parsed.data && parsed.data.ssec !== undefined)
    // Rejects the request: storing the object unencrypted would break a guarantee that the worker relies on.
    throw r2Errors.invalidArgument({
      problem: "Encryption with a customer key (ssecKey) is not supported.",
    });
  return parsed.data;
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

interface MetadataFields {
  httpFields?: HttpMetadata;
  customFields?: { k: string; v: string }[];
  storageClass?: string;
}

/** The storage class is passed through: it is validated where the object is stored. */
export const decodeMetadata = ({ httpFields, customFields, storageClass }: MetadataFields): Metadata => ({
  httpMetadata: httpFields,
  customMetadata: customFields && Object.fromEntries(customFields.map(({ k, v }) => [k, v])),
  ...(storageClass !== undefined && { storageClass: storageClass as Metadata["storageClass"] }),
});

export function rangeOf({ range, rangeHeader }: RequestOf<"get">): WantedRange | undefined {
  if (rangeHeader !== undefined) return { header: rangeHeader };
  if (range?.suffix !== undefined) return { suffix: range.suffix };
  return range && { offset: range.offset, length: range.length };
}

/** Encodes an R2HeadResponse. */
export const encodeObject = (object: ListedObject, range?: ObjectRange) => ({
  name: object.key,
  version: object.version,
  size: String(object.size),
  etag: object.etag,
  uploaded: String(object.uploaded.getTime()),
  storageClass: object.storageClass,
  httpFields: object.httpMetadata && encodeHttpFields(object.httpMetadata),
  customFields: object.customMetadata && Object.entries(object.customMetadata).map(([k, v]) => ({ k, v })),
  range: range && { offset: String(range.offset), length: String(range.length) },
  // R2Checksums names its fields by number.
  checksums: {
    0: object.checksums.md5,
    1: object.checksums.sha1,
    2: object.checksums.sha256,
    3: object.checksums.sha384,
    4: object.checksums.sha512,
  },
});

const encodeHttpFields = ({ cacheExpiry, ...texts }: HttpMetadata) => ({
  ...texts,
  cacheExpiry: cacheExpiry && String(BigInt.asUintN(64, BigInt(cacheExpiry.getTime()))),
});

/** Encodes an R2ListResponse. */
export const encodeObjectPage = ({ objects, delimitedPrefixes, cursor }: ObjectPage) => ({
  objects: objects.map((listedObject) => encodeObject(listedObject)),
  truncated: cursor !== undefined,
  cursor,
  delimitedPrefixes,
});
