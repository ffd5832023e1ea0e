import type { Readable } from "node:stream";
import { conditionsOf, r2Errors, type FoundObject, type R2Bucket } from "../../bindings/r2/index.ts";
import { bucketOf, type S3Answer, type S3Call, type S3Deps } from "../call.ts";
import { s3Errors } from "../errors.ts";
import { checkHeaders, numberOf, s3MetadataOf, storageClassOf } from "../headers.ts";
import { xmlDocument } from "../xml.ts";

const SOURCE_CONDITIONS = ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

interface Source {
  bucket: R2Bucket;
  key: string;
}

export async function copyObject(call: S3Call, deps: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  const { headers } = call;
  const { buckets, bucketList } = deps;
  checkHeaders(headers);
  const directive = (headers.get("x-amz-metadata-directive") ?? "COPY").toUpperCase();
  if (directive !== "COPY" && directive !== "REPLACE")
    throw s3Errors.invalidArgument({ problem: "x-amz-metadata-directive must be COPY or REPLACE." });
  const storageClass = storageClassOf(headers);
  const source = await sourceOf(call, deps);
  const key = call.address.key!;
  const replaces = directive === "REPLACE";
  if (source.bucket.id === bucket.id && source.key === key && !replaces && storageClass === undefined)
    throw s3Errors.invalidRequest({
      problem:
        "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata or storage class.",
    });
  const { object, body } = await readSource(call, deps, source);
  const onlyIf = targetConditions(headers);
  const copy = await using(body, (bytes) =>
    buckets.put(bucket.id, key, bytes, {
      ...(replaces
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

export async function uploadPartCopy(call: S3Call, deps: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  const { headers, query } = call;
  checkHeaders(headers);
  const partNumber = numberOf(query, "partNumber", { min: 1, max: 10_000 })!;
  const upload = { key: call.address.key!, uploadId: query.get("uploadId")! };
  const source = await sourceOf(call, deps);
  const { range, body } = await readSource(call, deps, source, headers.get("x-amz-copy-source-range"));
  const part = await using(body, (bytes) =>
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

/** The object in x-amz-copy-source, which the key must be allowed to read. Throws noSuchBucket. */
async function sourceOf(call: S3Call, deps: S3Deps): Promise<Source> {
  const text = call.headers.get("x-amz-copy-source")!.replace(/^\//, "");
  const [path = "", query] = text.split("?", 2);
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
  const bucket = await bucketOf(call, deps, bucketName);
  call.require("Read", bucket);
  if (bucket === undefined) throw r2Errors.noSuchBucket();
  return { bucket, key };
}

async function readSource(
  call: S3Call,
  { buckets }: S3Deps,
  { bucket, key }: Source,
  range: string | null = null,
): Promise<FoundObject & { body: Readable }> {
  const conditions = new Headers(
    SOURCE_CONDITIONS.flatMap((name) => {
      const value = call.headers.get(`x-amz-copy-source-${name}`);
      return value === null ? [] : [[name, value] as [string, string]];
    }),
  );
  const onlyIf = conditionsOf(conditions)?.all;
  const found = await buckets.get(bucket.id, key, {
    ...(onlyIf && { onlyIf }),
    ...(range !== null && { range: copyRange(range) }),
  });
  if (!found) throw r2Errors.noSuchKey();
  if (!found.body) throw r2Errors.preconditionFailed();
  return { ...found, body: found.body };
}

/** A range with both ends, unlike in a GET. */
function copyRange(header: string): { offset: number; length: number } {
  const [, first, last] = /^bytes=(\d{1,16})-(\d{1,16})$/.exec(header) ?? [];
  if (first === undefined || Number(last) < Number(first))
    throw s3Errors.invalidArgument({ problem: "x-amz-copy-source-range must be bytes=<first>-<last>." });
  return { offset: Number(first), length: Number(last) - Number(first) + 1 };
}

/** Conditions on the object that is replaced: those of S3, and those of R2 with a prefix. */
function targetConditions(headers: Headers) {
  const all = new Headers();
  for (const name of SOURCE_CONDITIONS) {
    const value = headers.get(`cf-copy-destination-${name}`) ?? headers.get(name);
    if (value !== null) all.set(name, value);
  }
  return conditionsOf(all)?.all;
}

/** Destroys the source if it was not read to the end: until then its bytes are kept. */
async function using<Result>(body: Readable, work: (body: Readable) => Promise<Result>): Promise<Result> {
  try {
    return await work(body);
  } finally {
    body.destroy();
  }
}
