import type { R2Bucket } from "../../bindings/r2/index.ts";
import type { S3Address } from "../address.ts";
import type { S3Response, S3RequestContext, S3Deps } from "../request-context.ts";
import { s3Errors } from "../errors.ts";
import { bucketLocation, createBucket, deleteBucket, headBucket, listBuckets } from "./buckets.ts";
import { copyObject, uploadPartCopy } from "./copy.ts";
import { deleteCors, getCors, putCors } from "./cors.ts";
import { deleteLifecycle, getLifecycle, putLifecycle } from "./lifecycle.ts";
import { listObjects, listObjectsV2 } from "./lists.ts";
import { abortUpload, completeUpload, createMultipartUpload, listParts, listUploads, uploadPart } from "./multipart.ts";
import { deleteObject, deleteObjects, getObject, putObject } from "./objects.ts";

/** An operation and the access that it needs: to the objects of its bucket, or to all buckets of the account. */
type Operation = { name: string; access: "Read" | "Write"; scope: "objects" | "buckets" } & (
  | { run(context: S3RequestContext, deps: S3Deps): Promise<S3Response> }
  | { inBucket(context: S3RequestContext, deps: S3Deps, bucket: R2Bucket): Promise<S3Response> }
);

/** S3 subresources that R2 does not support. */
const UNSUPPORTED_SUBRESOURCES = [
  "accelerate",
  "acl",
  "analytics",
  "attributes",
  "encryption",
  "intelligent-tiering",
  "inventory",
  "legal-hold",
  "logging",
  "metadataConfiguration",
  "metadataTable",
  "metrics",
  "notification",
  "object-lock",
  "ownershipControls",
  "policy",
  "policyStatus",
  "publicAccessBlock",
  "renameObject",
  "replication",
  "requestPayment",
  "restore",
  "retention",
  "select",
  "session",
  "tagging",
  "torrent",
  "versionId",
  "versioning",
  "versions",
  "website",
];

type BucketOperation = (context: S3RequestContext, deps: S3Deps, bucket: R2Bucket) => Promise<S3Response>;

const readOperation = (name: string, inBucket: BucketOperation): Operation => ({
  name,
  access: "Read",
  scope: "objects",
  inBucket,
});
const writeOperation = (name: string, inBucket: BucketOperation): Operation => ({
  name,
  access: "Write",
  scope: "objects",
  inBucket,
});
const settingsOperation = (name: string, access: "Read" | "Write", inBucket: BucketOperation): Operation => ({
  name,
  access,
  scope: "buckets",
  inBucket,
});

/** Selects the operation for a request. Throws notImplemented, methodNotAllowed. */
export function operationOf(
  method: string,
  { bucket, key }: S3Address,
  query: ReadonlyMap<string, string>,
  headers: Headers,
): Operation {
  const unsupportedSubresource = UNSUPPORTED_SUBRESOURCES.find((name) => query.has(name));
  if (unsupportedSubresource !== undefined)
    throw s3Errors.notImplemented({ feature: `The query parameter ${unsupportedSubresource} is` });
  const operation =
    bucket === undefined
      ? serviceOperation(method)
      : key === undefined
        ? bucketOperation(method, query)
        : objectOperation(method, query, headers);
  if (operation === undefined) throw s3Errors.methodNotAllowed();
  return operation;
}

// ListBuckets needs no permission for the account: it returns only the buckets that the key may read.
const serviceOperation = (method: string): Operation | undefined =>
  method === "GET" ? { name: "ListBuckets", access: "Read", scope: "objects", run: listBuckets } : undefined;

function bucketOperation(method: string, query: ReadonlyMap<string, string>): Operation | undefined {
  switch (method) {
    case "GET":
      if (query.has("location")) return readOperation("GetBucketLocation", bucketLocation);
      if (query.has("cors")) return settingsOperation("GetBucketCors", "Read", getCors);
      if (query.has("lifecycle")) return settingsOperation("GetBucketLifecycleConfiguration", "Read", getLifecycle);
      if (query.has("uploads")) return readOperation("ListMultipartUploads", listUploads);
      return query.get("list-type") === "2"
        ? readOperation("ListObjectsV2", listObjectsV2)
        : readOperation("ListObjects", listObjects);
    case "HEAD":
      return readOperation("HeadBucket", headBucket);
    case "PUT":
      if (query.has("cors")) return settingsOperation("PutBucketCors", "Write", putCors);
      if (query.has("lifecycle")) return settingsOperation("PutBucketLifecycleConfiguration", "Write", putLifecycle);
      return { name: "CreateBucket", access: "Write", scope: "buckets", run: createBucket };
    case "DELETE":
      if (query.has("cors")) return settingsOperation("DeleteBucketCors", "Write", deleteCors);
      if (query.has("lifecycle")) return settingsOperation("DeleteBucketLifecycle", "Write", deleteLifecycle);
      return { name: "DeleteBucket", access: "Write", scope: "buckets", run: deleteBucket };
    case "POST":
      if (query.has("delete")) return writeOperation("DeleteObjects", deleteObjects);
      throw s3Errors.notImplemented({ feature: "Form uploads (POST) are" });
    default:
      return undefined;
  }
}

function objectOperation(method: string, query: ReadonlyMap<string, string>, headers: Headers): Operation | undefined {
  const isCopy = headers.has("x-amz-copy-source");
  switch (method) {
    case "GET":
      return query.has("uploadId") ? readOperation("ListParts", listParts) : readOperation("GetObject", getObject);
    case "HEAD":
      return readOperation("HeadObject", getObject);
    case "PUT":
      if (query.has("uploadId"))
        return isCopy ? writeOperation("UploadPartCopy", uploadPartCopy) : writeOperation("UploadPart", uploadPart);
      return isCopy ? writeOperation("CopyObject", copyObject) : writeOperation("PutObject", putObject);
    case "POST":
      if (query.has("uploads")) return writeOperation("CreateMultipartUpload", createMultipartUpload);
      return query.has("uploadId") ? writeOperation("CompleteMultipartUpload", completeUpload) : undefined;
    case "DELETE":
      return query.has("uploadId")
        ? writeOperation("AbortMultipartUpload", abortUpload)
        : writeOperation("DeleteObject", deleteObject);
    default:
      return undefined;
  }
}
