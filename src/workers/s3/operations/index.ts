import type { R2Bucket } from "../../bindings/r2/index.ts";
import type { S3Address } from "../address.ts";
import type { S3Answer, S3Call, S3Deps } from "../call.ts";
import { s3Errors } from "../errors.ts";
import { bucketLocation, createBucket, deleteBucket, headBucket, listBuckets } from "./buckets.ts";
import { copyObject, uploadPartCopy } from "./copy.ts";
import { deleteCors, getCors, putCors } from "./cors.ts";
import { deleteLifecycle, getLifecycle, putLifecycle } from "./lifecycle.ts";
import { listObjects, listObjectsV2 } from "./lists.ts";
import { abortUpload, completeUpload, createUpload, listParts, listUploads, uploadPart } from "./multipart.ts";
import { deleteObject, deleteObjects, getObject, putObject } from "./objects.ts";

/** An operation, with the access that it needs: to the objects of its bucket only, or to all buckets of the account. */
type Operation = { name: string; access: "Read" | "Write"; of: "objects" | "buckets" } & (
  | { run(call: S3Call, deps: S3Deps): Promise<S3Answer> }
  | { inBucket(call: S3Call, deps: S3Deps, bucket: R2Bucket): Promise<S3Answer> }
);

/** Sub-resources of S3 that R2 does not have. */
const ABSENT = [
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

type InBucket = (call: S3Call, deps: S3Deps, bucket: R2Bucket) => Promise<S3Answer>;

const read = (name: string, inBucket: InBucket): Operation => ({ name, access: "Read", of: "objects", inBucket });
const write = (name: string, inBucket: InBucket): Operation => ({ name, access: "Write", of: "objects", inBucket });
const configure = (name: string, access: "Read" | "Write", inBucket: InBucket): Operation => ({
  name,
  access,
  of: "buckets",
  inBucket,
});

/** The operation of a request. Throws notImplemented, methodNotAllowed. */
export function operationOf(
  method: string,
  { bucket, key }: S3Address,
  query: ReadonlyMap<string, string>,
  headers: Headers,
): Operation {
  const absent = ABSENT.find((name) => query.has(name));
  if (absent !== undefined) throw s3Errors.notImplemented({ feature: `The query parameter ${absent} is` });
  const operation =
    bucket === undefined
      ? serviceOperation(method)
      : key === undefined
        ? bucketOperation(method, query)
        : objectOperation(method, query, headers);
  if (operation === undefined) throw s3Errors.methodNotAllowed();
  return operation;
}

// Shows only the buckets that the key may read.
const serviceOperation = (method: string): Operation | undefined =>
  method === "GET" ? { name: "ListBuckets", access: "Read", of: "objects", run: listBuckets } : undefined;

function bucketOperation(method: string, query: ReadonlyMap<string, string>): Operation | undefined {
  switch (method) {
    case "GET":
      if (query.has("location")) return read("GetBucketLocation", bucketLocation);
      if (query.has("cors")) return configure("GetBucketCors", "Read", getCors);
      if (query.has("lifecycle")) return configure("GetBucketLifecycleConfiguration", "Read", getLifecycle);
      if (query.has("uploads")) return read("ListMultipartUploads", listUploads);
      return query.get("list-type") === "2" ? read("ListObjectsV2", listObjectsV2) : read("ListObjects", listObjects);
    case "HEAD":
      return read("HeadBucket", headBucket);
    case "PUT":
      if (query.has("cors")) return configure("PutBucketCors", "Write", putCors);
      if (query.has("lifecycle")) return configure("PutBucketLifecycleConfiguration", "Write", putLifecycle);
      return { name: "CreateBucket", access: "Write", of: "buckets", run: createBucket };
    case "DELETE":
      if (query.has("cors")) return configure("DeleteBucketCors", "Write", deleteCors);
      if (query.has("lifecycle")) return configure("DeleteBucketLifecycle", "Write", deleteLifecycle);
      return { name: "DeleteBucket", access: "Write", of: "buckets", run: deleteBucket };
    case "POST":
      if (query.has("delete")) return write("DeleteObjects", deleteObjects);
      throw s3Errors.notImplemented({ feature: "Uploads by form (POST) are" });
    default:
      return undefined;
  }
}

function objectOperation(method: string, query: ReadonlyMap<string, string>, headers: Headers): Operation | undefined {
  const copies = headers.has("x-amz-copy-source");
  switch (method) {
    case "GET":
      return query.has("uploadId") ? read("ListParts", listParts) : read("GetObject", getObject);
    case "HEAD":
      return read("HeadObject", getObject);
    case "PUT":
      if (query.has("uploadId"))
        return copies ? write("UploadPartCopy", uploadPartCopy) : write("UploadPart", uploadPart);
      return copies ? write("CopyObject", copyObject) : write("PutObject", putObject);
    case "POST":
      if (query.has("uploads")) return write("CreateMultipartUpload", createUpload);
      return query.has("uploadId") ? write("CompleteMultipartUpload", completeUpload) : undefined;
    case "DELETE":
      return query.has("uploadId") ? write("AbortMultipartUpload", abortUpload) : write("DeleteObject", deleteObject);
    default:
      return undefined;
  }
}
