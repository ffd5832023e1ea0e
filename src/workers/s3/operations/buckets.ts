import { jurisdictions, listPermittedBuckets, locations, r2Errors, type R2Bucket } from "../../bindings/r2/index.ts";
import { resolveBucket, type S3Response, type S3RequestContext, type S3Deps } from "../request-context.ts";
import { s3Errors } from "../errors.ts";
import { integerParameter } from "../headers.ts";
import { parseXml, xmlDocument } from "../xml.ts";

const MAX_XML_BYTES = 64 * 1024;

export async function listBuckets(context: S3RequestContext, { bucketList }: S3Deps): Promise<S3Response> {
  const { account, query } = context;
  const prefix = query.get("prefix") ?? "";
  const limit = integerParameter(query, "max-buckets", { min: 1, max: 10_000 }) ?? 1000;
  const token = query.get("continuation-token");
  const { buckets, cursor } = await listPermittedBuckets(
    bucketList,
    account,
    {
      contains: prefix,
      limit: Math.min(limit, 1000),
      ...(token !== undefined && token !== "" && { cursor: token }),
    },
    (bucket) =>
      bucket.name.startsWith(prefix) &&
      (context.address.jurisdiction === undefined || context.address.jurisdiction === bucket.jurisdiction) &&
      context.hasPermission("Read", bucket),
  );
  return {
    status: 200,
    body: xmlDocument("ListAllMyBucketsResult", [
      [
        "Buckets",
        buckets.map(({ name, createdAt }) => [
          "Bucket",
          [
            ["Name", name],
            ["CreationDate", createdAt.toISOString()],
          ],
        ]),
      ],
      [
        "Owner",
        [
          ["ID", account],
          ["DisplayName", account],
        ],
      ],
      cursor === undefined ? undefined : ["ContinuationToken", cursor],
      prefix === "" ? undefined : ["Prefix", prefix],
    ]),
  };
}

export async function createBucket(context: S3RequestContext, { bucketList }: S3Deps): Promise<S3Response> {
  const { account, address, headers } = context;
  const bytes = await context.collectBody(MAX_XML_BYTES);
  const constraint =
    bytes.length === 0 ? "" : (parseXml(bytes, "CreateBucketConfiguration").text("LocationConstraint") ?? "");
  const requestedLocation = constraint.trim().toLowerCase();
  const location = locations.find((candidate) => candidate === requestedLocation);
  // These values are aliases of the only region.
  if (location === undefined && !["", "auto", "us-east-1"].includes(requestedLocation))
    throw s3Errors.invalidLocation({ location: JSON.stringify(constraint.slice(0, 50)) });
  const jurisdiction =
    address.jurisdiction ?? jurisdictions.find((candidate) => candidate === headers.get("cf-r2-jurisdiction"));
  context.requirePermission("Write", { name: address.bucket!, jurisdiction: jurisdiction ?? "default" });
  await bucketList.create(account, address.bucket!, {
    ...(location && { location }),
    ...(jurisdiction && { jurisdiction }),
  });
  return { status: 200, headers: { location: `/${address.bucket!}` } };
}

export async function headBucket(_: S3RequestContext, __: S3Deps, bucket: R2Bucket): Promise<S3Response> {
  return { status: 200, headers: { "x-amz-bucket-region": bucket.location?.toUpperCase() ?? "auto" } };
}

export async function bucketLocation(_: S3RequestContext, __: S3Deps, { location }: R2Bucket): Promise<S3Response> {
  return {
    status: 200,
    body: xmlDocument("LocationConstraint", []).replace(
      "></LocationConstraint>",
      `>${location?.toUpperCase() ?? "auto"}</LocationConstraint>`,
    ),
  };
}

export async function deleteBucket(context: S3RequestContext, deps: S3Deps): Promise<S3Response> {
  const name = context.address.bucket!;
  if ((await resolveBucket(context, deps, name)) === undefined) throw r2Errors.noSuchBucket();
  await deps.bucketList.delete(context.account, name);
  return { status: 204 };
}
