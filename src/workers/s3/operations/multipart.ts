import type { R2Bucket } from "../../bindings/r2/index.ts";
import type { S3Response, S3RequestContext, S3Deps } from "../request-context.ts";
import { s3Errors } from "../errors.ts";
import { checkRequestHeaders, integerParameter, s3MetadataOf, s3StorageClass, storageClassOf } from "../headers.ts";
import { parseXml, xmlDocument, type Element } from "../xml.ts";
import { listQuery } from "./lists.ts";

const MAX_PARTS = 10_000;
/** Enough for 10,000 parts with a checksum each. */
const MAX_COMPLETE_XML_BYTES = 4 * 1024 * 1024;

const uploadRefOf = ({ address, query }: S3RequestContext) => ({ key: address.key!, uploadId: query.get("uploadId")! });

export async function createMultipartUpload(
  context: S3RequestContext,
  { buckets, bucketList }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  const { headers } = context;
  checkRequestHeaders(headers);
  const key = context.address.key!;
  const { uploadId } = await buckets.createUpload(bucket.id, key, {
    ...s3MetadataOf(headers),
    storageClass: storageClassOf(headers) ?? bucket.storageClass,
  });
  await bucketList.confirm(bucket.id);
  return {
    status: 200,
    body: xmlDocument("InitiateMultipartUploadResult", [
      ["Bucket", bucket.name],
      ["Key", key],
      ["UploadId", uploadId],
    ]),
  };
}

export async function uploadPart(
  context: S3RequestContext,
  { buckets }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  checkRequestHeaders(context.headers);
  const partNumber = integerParameter(context.query, "partNumber", { min: 1, max: MAX_PARTS });
  if (partNumber === undefined) throw s3Errors.invalidArgument({ problem: "partNumber is missing." });
  const body = context.body();
  if (body.size === undefined) throw s3Errors.missingLength();
  const { etag } = await buckets.uploadPart(bucket.id, uploadRefOf(context), partNumber, body.bytes, {
    size: body.size,
  });
  return { status: 200, headers: { etag: `"${etag}"`, ...body.checksumHeaders() } };
}

export async function completeUpload(
  context: S3RequestContext,
  { buckets, bucketList }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  const document = parseXml(await context.collectBody(MAX_COMPLETE_XML_BYTES), "CompleteMultipartUpload");
  const parts = document.children("Part").map((part) => {
    const number = part.text("PartNumber")?.trim() ?? "";
    const etag = part.text("ETag")?.trim().replace(/^"|"$/g, "");
    if (!/^\d{1,5}$/.test(number) || etag === undefined)
      throw s3Errors.malformedXml({ why: "each Part needs a PartNumber and an ETag" });
    return { partNumber: Number(number), etag };
  });
  if (parts.length === 0 || parts.length > MAX_PARTS)
    throw s3Errors.malformedXml({ why: `it must list 1 to ${MAX_PARTS} parts` });
  if (parts.some(({ partNumber }, index) => index > 0 && partNumber <= parts[index - 1]!.partNumber))
    throw s3Errors.invalidPartOrder();
  const object = await buckets.completeUpload(bucket.id, uploadRefOf(context), parts);
  await bucketList.confirm(bucket.id);
  return {
    status: 200,
    headers: { "x-amz-version-id": object.version },
    body: xmlDocument("CompleteMultipartUploadResult", [
      ["Location", context.resource],
      ["Bucket", bucket.name],
      ["Key", object.key],
      ["ETag", `"${object.etag}"`],
    ]),
  };
}

export async function abortUpload(
  context: S3RequestContext,
  { buckets }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  await buckets.abortUpload(bucket.id, uploadRefOf(context));
  return { status: 204 };
}

export async function listParts(context: S3RequestContext, { buckets }: S3Deps, bucket: R2Bucket): Promise<S3Response> {
  const { query, account } = context;
  const after = integerParameter(query, "part-number-marker", { min: 0, max: 2 ** 31 }) ?? 0;
  const limit = Math.min(integerParameter(query, "max-parts", { min: 1, max: 2 ** 31 }) ?? 1000, 1000);
  const { upload, parts, more } = await buckets.listParts(bucket.id, uploadRefOf(context), { after, limit });
  const owner = (name: string): Element => [
    name,
    [
      ["ID", account],
      ["DisplayName", account],
    ],
  ];
  return {
    status: 200,
    body: xmlDocument("ListPartsResult", [
      ["Bucket", bucket.name],
      ["Key", upload.key],
      ["UploadId", upload.uploadId],
      owner("Initiator"),
      owner("Owner"),
      ["StorageClass", s3StorageClass(upload.storageClass)],
      ["PartNumberMarker", after],
      more ? ["NextPartNumberMarker", parts.at(-1)!.partNumber] : undefined,
      ["MaxParts", limit],
      ["IsTruncated", more],
      ...parts.map(({ partNumber, etag, size, uploaded }): Element => [
        "Part",
        [
          ["PartNumber", partNumber],
          ["LastModified", (uploaded ?? upload.createdAt).toISOString()],
          ["ETag", `"${etag}"`],
          ["Size", size],
        ],
      ]),
    ]),
  };
}

export async function listUploads(
  context: S3RequestContext,
  { buckets }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  const { query, account } = context;
  const { prefix, delimiter, encode, encoding } = listQuery(query);
  if (delimiter !== "") throw s3Errors.notImplemented({ feature: "delimiter of ListMultipartUploads" });
  const limit = Math.min(integerParameter(query, "max-uploads", { min: 1, max: 2 ** 31 }) ?? 1000, 1000);
  const keyMarker = query.get("key-marker") ?? "";
  const uploadMarker = query.get("upload-id-marker") ?? "";
  const { uploads, more } = await buckets.listUploads(bucket.id, {
    prefix,
    limit,
    ...(keyMarker !== "" && { afterKey: keyMarker, ...(uploadMarker !== "" && { afterUpload: uploadMarker }) }),
  });
  const lastUpload = more ? uploads.at(-1) : undefined;
  const owner = (name: string): Element => [
    name,
    [
      ["ID", account],
      ["DisplayName", account],
    ],
  ];
  return {
    status: 200,
    body: xmlDocument("ListMultipartUploadsResult", [
      ["Bucket", bucket.name],
      ["KeyMarker", encode(keyMarker)],
      ["UploadIdMarker", uploadMarker],
      lastUpload && ["NextKeyMarker", encode(lastUpload.key)],
      lastUpload && ["NextUploadIdMarker", lastUpload.uploadId],
      ["Prefix", encode(prefix)],
      encoding === undefined ? undefined : ["EncodingType", encoding],
      ["MaxUploads", limit],
      ["IsTruncated", more],
      ...uploads.map((upload): Element => [
        "Upload",
        [
          ["Key", encode(upload.key)],
          ["UploadId", upload.uploadId],
          owner("Initiator"),
          owner("Owner"),
          ["StorageClass", s3StorageClass(upload.storageClass)],
          ["Initiated", upload.createdAt.toISOString()],
        ],
      ]),
    ]),
  };
}
