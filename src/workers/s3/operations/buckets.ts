import { jurisdictions, locations, r2Errors, type R2Bucket } from "../../bindings/r2/index.ts";
import { bucketOf, type S3Answer, type S3Call, type S3Deps } from "../call.ts";
import { s3Errors } from "../errors.ts";
import { numberOf } from "../headers.ts";
import { collectBody } from "../payload.ts";
import { parseXml, xmlDocument } from "../xml.ts";

const MAX_XML = 64 * 1024;

export async function listBuckets(call: S3Call, { bucketList }: S3Deps): Promise<S3Answer> {
  const { account, query } = call;
  const prefix = query.get("prefix") ?? "";
  const limit = numberOf(query, "max-buckets", { min: 1, max: 10_000 }) ?? 1000;
  const token = query.get("continuation-token");
  const { buckets, cursor } = await bucketList.list(account, {
    contains: prefix,
    limit: Math.min(limit, 1000),
    ...(token !== undefined && token !== "" && { cursor: token }),
  });
  const shown = buckets.filter(
    (bucket) =>
      bucket.name.startsWith(prefix) &&
      (call.address.jurisdiction === undefined || call.address.jurisdiction === bucket.jurisdiction) &&
      call.may("Read", bucket),
  );
  return {
    status: 200,
    body: xmlDocument("ListAllMyBucketsResult", [
      [
        "Buckets",
        shown.map(({ name, createdAt }) => [
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

export async function createBucket(call: S3Call, { bucketList }: S3Deps): Promise<S3Answer> {
  const { account, address, headers } = call;
  const body = call.body();
  const bytes = await collectBody(body, MAX_XML);
  const constraint =
    bytes.length === 0 ? "" : (parseXml(bytes, "CreateBucketConfiguration").text("LocationConstraint") ?? "");
  const wanted = constraint.trim().toLowerCase();
  const location = locations.find((each) => each === wanted);
  // Aliases of the only region.
  if (location === undefined && !["", "auto", "us-east-1"].includes(wanted))
    throw s3Errors.invalidLocation({ location: JSON.stringify(constraint.slice(0, 50)) });
  const jurisdiction = address.jurisdiction ?? jurisdictions.find((each) => each === headers.get("cf-r2-jurisdiction"));
  await bucketList.create(account, address.bucket!, {
    ...(location && { location }),
    ...(jurisdiction && { jurisdiction }),
  });
  return { status: 200, headers: { location: `/${address.bucket!}` } };
}

export async function headBucket(_: S3Call, __: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  return { status: 200, headers: { "x-amz-bucket-region": bucket.location?.toUpperCase() ?? "auto" } };
}

export async function bucketLocation(_: S3Call, __: S3Deps, { location }: R2Bucket): Promise<S3Answer> {
  return {
    status: 200,
    body: xmlDocument("LocationConstraint", []).replace(
      "></LocationConstraint>",
      `>${location?.toUpperCase() ?? "auto"}</LocationConstraint>`,
    ),
  };
}

export async function deleteBucket(call: S3Call, deps: S3Deps): Promise<S3Answer> {
  const name = call.address.bucket!;
  if ((await bucketOf(call, deps, name)) === undefined) throw r2Errors.noSuchBucket();
  await deps.bucketList.delete(call.account, name);
  return { status: 204 };
}
