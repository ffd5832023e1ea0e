import { conditionsOf, r2Errors, readHttpObject, type R2Bucket, type R2Object } from "../../bindings/r2/index.ts";
import type { S3Response, S3RequestContext, S3Deps } from "../request-context.ts";
import { s3Errors } from "../errors.ts";
import { checkRequestHeaders, integerParameter, s3MetadataOf, s3ObjectHeaders, storageClassOf } from "../headers.ts";
import { parseXml, xmlDocument, type Element } from "../xml.ts";

/** Enough for 1000 keys of 1024 bytes in which most characters are escaped. */
const MAX_DELETE_XML_BYTES = 4 * 1024 * 1024;
const MAX_PARTS = 10_000;

/** Query parameters of a GET that override response headers. */
const RESPONSE_OVERRIDES: Record<string, string> = {
  "response-content-type": "content-type",
  "response-content-language": "content-language",
  "response-expires": "expires",
  "response-cache-control": "cache-control",
  "response-content-disposition": "content-disposition",
  "response-content-encoding": "content-encoding",
};

/** GetObject and HeadObject. */
export async function getObject(context: S3RequestContext, { buckets }: S3Deps, bucket: R2Bucket): Promise<S3Response> {
  const { method, query } = context;
  const key = context.address.key!;
  const partNumber = integerParameter(query, "partNumber", { min: 1, max: MAX_PARTS });
  const headers = new Headers(context.headers);
  let partCount: number | undefined;
  if (partNumber !== undefined) {
    if (headers.has("range"))
      throw s3Errors.invalidRequest({ problem: "Cannot specify both Range header and partNumber query parameter." });
    const partRange = await buckets.partRange(bucket.id, key, partNumber);
    if (partRange === undefined) {
      if ((await buckets.head(bucket.id, key)) === undefined) throw r2Errors.noSuchKey();
      throw s3Errors.invalidPartNumber();
    }
    partCount = partRange.parts;
    if (partCount !== undefined) {
      const { offset, length } = partRange.range;
      headers.set("range", `bytes=${offset}-${offset + length - 1}`);
      // In another version of the object, the part could have a different range, so the range applies to this version
      // only.
      headers.set("if-range", `"${partRange.etag}"`);
    }
  }
  const httpObject = await readHttpObject(buckets, { bucket: bucket.id, key, method, headers });
  const responseHeaders =
    httpObject.status === 304 ? httpObject.headers : s3ObjectHeaders(httpObject.headers, httpObject.object);
  if (partCount !== undefined) responseHeaders.set("x-amz-mp-parts-count", String(partCount));
  if (httpObject.status === 200 && context.headers.get("x-amz-checksum-mode")?.toUpperCase() === "ENABLED")
    for (const [name, value] of Object.entries(checksumHeaders(httpObject.object))) responseHeaders.set(name, value);
  if (httpObject.status !== 304)
    for (const [parameter, header] of Object.entries(RESPONSE_OVERRIDES)) {
      const value = query.get(parameter);
      if (value !== undefined) setOverride(responseHeaders, header, value);
    }
  return { status: httpObject.status, headers: responseHeaders, ...(httpObject.body && { body: httpObject.body }) };
}

function setOverride(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch (err) {
    throw s3Errors.invalidArgument({ problem: `response-${name} is not valid in a header.` }, { cause: err });
  }
}

/** Checksums that the client can verify. Clients verify them only for whole objects. */
function checksumHeaders({ checksums: { sha1, sha256 } }: R2Object): Record<string, string> {
  const base64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");
  return {
    ...(sha1 !== undefined && { "x-amz-checksum-sha1": base64(sha1) }),
    ...(sha256 !== undefined && { "x-amz-checksum-sha256": base64(sha256) }),
  };
}

export async function putObject(
  context: S3RequestContext,
  { buckets, bucketList }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  const { headers } = context;
  checkRequestHeaders(headers);
  const body = context.body();
  if (body.size === undefined) throw s3Errors.missingLength();
  const onlyIf = conditionsOf(headers)?.all;
  const object = await buckets.put(bucket.id, context.address.key!, body.bytes, {
    ...s3MetadataOf(headers),
    storageClass: storageClassOf(headers) ?? bucket.storageClass,
    ...(onlyIf && { onlyIf }),
    size: body.size,
    checksums: body.storedChecksums,
  });
  await bucketList.confirm(bucket.id);
  return {
    status: 200,
    headers: { etag: `"${object.etag}"`, "x-amz-version-id": object.version, ...body.checksumHeaders() },
  };
}

export async function deleteObject(
  context: S3RequestContext,
  { buckets }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  await buckets.delete(bucket.id, [context.address.key!]);
  return { status: 204 };
}

export async function deleteObjects(
  context: S3RequestContext,
  { buckets }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  const document = parseXml(await context.collectBody(MAX_DELETE_XML_BYTES), "Delete");
  const objects = document.children("Object");
  if (objects.some((object) => object.has("VersionId"))) throw s3Errors.notImplemented({ feature: "VersionId" });
  const keys = objects.map((object) => object.text("Key"));
  if (keys.length === 0 || keys.length > 1000 || keys.includes(undefined) || keys.includes(""))
    throw s3Errors.malformedXml({ why: "it must list 1 to 1000 objects, each with a Key" });
  const keyNames = keys as string[];
  await buckets.delete(bucket.id, keyNames);
  const isQuiet = document.text("Quiet")?.trim() === "true";
  return {
    status: 200,
    body: xmlDocument("DeleteResult", isQuiet ? [] : keyNames.map((key): Element => ["Deleted", [["Key", key]]])),
  };
}
