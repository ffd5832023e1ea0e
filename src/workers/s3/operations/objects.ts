import { conditionsOf, r2Errors, readHttpObject, type R2Bucket, type R2Object } from "../../bindings/r2/index.ts";
import type { S3Answer, S3Call, S3Deps } from "../call.ts";
import { s3Errors } from "../errors.ts";
import { checkHeaders, numberOf, s3MetadataOf, s3ObjectHeaders, storageClassOf } from "../headers.ts";
import { collectBody } from "../payload.ts";
import { parseXml, xmlDocument, type Element } from "../xml.ts";

/** Enough for a thousand keys of 1024 bytes, most of them escaped. */
const MAX_DELETE_XML = 4 * 1024 * 1024;
const MAX_PARTS = 10_000;

/** Query parameters of a GET that replace headers of the response. */
const OVERRIDES: Record<string, string> = {
  "response-content-type": "content-type",
  "response-content-language": "content-language",
  "response-expires": "expires",
  "response-cache-control": "cache-control",
  "response-content-disposition": "content-disposition",
  "response-content-encoding": "content-encoding",
};

/** GetObject and HeadObject. */
export async function getObject(call: S3Call, { buckets }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  const { method, query } = call;
  const key = call.address.key!;
  const part = numberOf(query, "partNumber", { min: 1, max: MAX_PARTS });
  const headers = new Headers(call.headers);
  let parts: number | undefined;
  if (part !== undefined) {
    if (headers.has("range"))
      throw s3Errors.invalidRequest({ problem: "Cannot specify both Range header and partNumber query parameter." });
    const found = await buckets.partRange(bucket.id, key, part);
    if (found === undefined) {
      if ((await buckets.head(bucket.id, key)) === undefined) throw r2Errors.noSuchKey();
      throw s3Errors.invalidPartNumber();
    }
    parts = found.parts;
    if (parts !== undefined) {
      const { offset, length } = found.range;
      headers.set("range", `bytes=${offset}-${offset + length - 1}`);
      // The part of another version would have another range.
      headers.set("if-range", `"${found.etag}"`);
    }
  }
  const answer = await readHttpObject(buckets, { bucket: bucket.id, key, method, headers });
  const sent = answer.status === 304 ? answer.headers : s3ObjectHeaders(answer.headers, answer.object);
  if (parts !== undefined) sent.set("x-amz-mp-parts-count", String(parts));
  if (answer.status === 200 && call.headers.get("x-amz-checksum-mode")?.toUpperCase() === "ENABLED")
    for (const [name, value] of Object.entries(checksumHeaders(answer.object))) sent.set(name, value);
  if (answer.status !== 304)
    for (const [parameter, header] of Object.entries(OVERRIDES)) {
      const value = query.get(parameter);
      if (value !== undefined) setOverride(sent, header, value);
    }
  return { status: answer.status, headers: sent, ...(answer.body && { body: answer.body }) };
}

function setOverride(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch (err) {
    throw s3Errors.invalidArgument({ problem: `response-${name} is not valid in a header.` }, { cause: err });
  }
}

/** The checksums that a client can check itself; clients check them only for whole objects. */
function checksumHeaders({ checksums: { sha1, sha256 } }: R2Object): Record<string, string> {
  const base64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");
  return {
    ...(sha1 !== undefined && { "x-amz-checksum-sha1": base64(sha1) }),
    ...(sha256 !== undefined && { "x-amz-checksum-sha256": base64(sha256) }),
  };
}

export async function putObject(call: S3Call, { buckets, bucketList }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  const { headers } = call;
  checkHeaders(headers);
  const body = call.body();
  if (body.size === undefined) throw s3Errors.missingLength();
  const onlyIf = conditionsOf(headers)?.all;
  const object = await buckets.put(bucket.id, call.address.key!, body.bytes, {
    ...s3MetadataOf(headers),
    storageClass: storageClassOf(headers) ?? bucket.storageClass,
    ...(onlyIf && { onlyIf }),
    size: body.size,
    checksums: body.stored,
  });
  await bucketList.confirm(bucket.id);
  return {
    status: 200,
    headers: { etag: `"${object.etag}"`, "x-amz-version-id": object.version, ...body.confirmed() },
  };
}

export async function deleteObject(call: S3Call, { buckets }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  await buckets.delete(bucket.id, [call.address.key!]);
  return { status: 204 };
}

export async function deleteObjects(call: S3Call, { buckets }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  const document = parseXml(await collectBody(call.body(), MAX_DELETE_XML), "Delete");
  const objects = document.children("Object");
  if (objects.some((object) => object.has("VersionId"))) throw s3Errors.notImplemented({ feature: "VersionId" });
  const keys = objects.map((object) => object.text("Key"));
  if (keys.length === 0 || keys.length > 1000 || keys.includes(undefined) || keys.includes(""))
    throw s3Errors.malformedXml({ why: "it must list 1 to 1000 objects, each with a Key" });
  const names = keys as string[];
  await buckets.delete(bucket.id, names);
  const quiet = document.text("Quiet")?.trim() === "true";
  return {
    status: 200,
    body: xmlDocument("DeleteResult", quiet ? [] : names.map((key): Element => ["Deleted", [["Key", key]]])),
  };
}
