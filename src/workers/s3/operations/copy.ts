import type { Readable } from "node:stream";
import { conditionsOf, r2Errors, type FoundObject, type R2Bucket } from "../../bindings/r2/index.ts";
import { resolveBucket, type S3Response, type S3RequestContext, type S3Deps } from "../request-context.ts";
import { s3Errors } from "../errors.ts";
import { checkRequestHeaders, integerParameter, s3MetadataOf, storageClassOf } from "../headers.ts";
import { xmlDocument } from "../xml.ts";

const CONDITION_HEADERS = ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

interface CopySource {
  bucket: R2Bucket;
  key: string;
}

export async function copyObject(context: S3RequestContext, deps: S3Deps, bucket: R2Bucket): Promise<S3Response> {
  const { headers } = context;
  const { buckets, bucketList } = deps;
  checkRequestHeaders(headers);
  const directive = (headers.get("x-amz-metadata-directive") ?? "COPY").toUpperCase();
  if (directive !== "COPY" && directive !== "REPLACE")
    throw s3Errors.invalidArgument({ problem: "x-amz-metadata-directive must be COPY or REPLACE." });
  const storageClass = storageClassOf(headers);
  const source = await copySourceOf(context, deps);
  const key = context.address.key!;
  const replacesMetadata = directive === "REPLACE";
  if (source.bucket.id === bucket.id && source.key === key && !replacesMetadata && storageClass === undefined)
    throw s3Errors.invalidRequest({
      problem:
        "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata or storage class.",
    });
  const { object, body } = await readSource(context, deps, source);
  const onlyIf = targetConditions(headers);
  const copy = await withStream(body, (bytes) =>
    buckets.put(bucket.id, key, bytes, {
      ...(replacesMetadata
        ? s3MetadataOf(headers)
        : { httpMetadata: object.httpMetadata, customMetadata: object.customMetadata }),
      storageClass: storageClass ?? bucket.storageClass,
      ...(onlyIf && { onlyIf }),
      size: object.size,
      copiedFrom: { bucket: source.bucket.name, key: source.key },
    }),
  );
  await bucketList.confirm(bucket.id);
  return {
    status: 200,
    headers: { "x-amz-version-id": copy.version },
    body: xmlDocument("CopyObjectResult", [
      ["ETag", `"${copy.etag}"`],
      ["LastModified", copy.uploaded.toISOString()],
    ]),
  };
}

export async function uploadPartCopy(context: S3RequestContext, deps: S3Deps, bucket: R2Bucket): Promise<S3Response> {
  const { headers, query } = context;
  checkRequestHeaders(headers);
  const partNumber = integerParameter(query, "partNumber", { min: 1, max: 10_000 })!;
  const upload = { key: context.address.key!, uploadId: query.get("uploadId")! };
  const source = await copySourceOf(context, deps);
  const { range, body } = await readSource(context, deps, source, headers.get("x-amz-copy-source-range"));
  const part = await withStream(body, (bytes) =>
    deps.buckets.uploadPart(bucket.id, upload, partNumber, bytes, { size: range.length }),
  );
  return {
    status: 200,
    body: xmlDocument("CopyPartResult", [
      ["ETag", `"${part.etag}"`],
      ["LastModified", new Date(deps.clock.now()).toISOString()],
    ]),
  };
}

/**
 * Resolves with the object in x-amz-copy-source. Throws noSuchBucket, and accessDenied if the key may not read the
 * object.
 */
async function copySourceOf(context: S3RequestContext, deps: S3Deps): Promise<CopySource> {
  const sourceText = context.headers.get("x-amz-copy-source")!.replace(/^\//, "");
  const [path = "", query] = sourceText.split("?", 2);
  if (query !== undefined) throw s3Errors.notImplemented({ feature: "versionId in x-amz-copy-source" });
  const slash = path.indexOf("/");
  let bucketName: string;
  let key: string;
  try {
    bucketName = decodeURIComponent(path.slice(0, Math.max(slash, 0)));
    key = decodeURIComponent(path.slice(slash + 1));
  } catch (err) {
    throw s3Errors.invalidArgument({ problem: "x-amz-copy-source is not URL-encoded." }, { cause: err });
  }
  if (bucketName === "" || key === "")
    throw s3Errors.invalidArgument({ problem: "x-amz-copy-source must be <bucket>/<key>, URL-encoded." });
  const bucket = await resolveBucket(context, deps, bucketName);
  context.requirePermission("Read", bucket);
  if (bucket === undefined) throw r2Errors.noSuchBucket();
  return { bucket, key };
}

async function readSource(
  context: S3RequestContext,
  { buckets }: S3Deps,
  { bucket, key }: CopySource,
  range: string | null = null,
): Promise<FoundObject & { body: Readable }> {
  const conditions = new Headers(
    CONDITION_HEADERS.flatMap((name) => {
      const value = context.headers.get(`x-amz-copy-source-${name}`);
      return value === null ? [] : [[name, value] as [string, string]];
    }),
  );
  const onlyIf = conditionsOf(conditions)?.all;
  const sourceObject = await buckets.get(bucket.id, key, {
    ...(onlyIf && { onlyIf }),
    ...(range !== null && { range: copyRange(range) }),
  });
  if (!sourceObject) throw r2Errors.noSuchKey();
  if (!sourceObject.body) throw r2Errors.preconditionFailed();
  return { ...sourceObject, body: sourceObject.body };
}

/** Parses the range to copy, which needs both ends, unlike the range of a GET. */
function copyRange(header: string): { offset: number; length: number } {
  const [, first, last] = /^bytes=(\d{1,16})-(\d{1,16})$/.exec(header) ?? [];
  if (first === undefined || Number(last) < Number(first))
    throw s3Errors.invalidArgument({ problem: "x-amz-copy-source-range must be bytes=<first>-<last>." });
  return { offset: Number(first), length: Number(last) - Number(first) + 1 };
}

/** Conditions on the destination object, from the headers of S3 or the prefixed headers of R2. */
function targetConditions(headers: Headers) {
  const conditions = new Headers();
  for (const name of CONDITION_HEADERS) {
    const value = headers.get(`cf-copy-destination-${name}`) ?? headers.get(name);
    if (value !== null) conditions.set(name, value);
  }
  return conditionsOf(conditions)?.all;
}

/** Destroys the source even if it was not read to the end: an open stream prevents the deletion of its bytes. */
async function withStream<Result>(body: Readable, work: (body: Readable) => Promise<Result>): Promise<Result> {
  try {
    return await work(body);
  } finally {
    body.destroy();
  }
}
