import { cursorAfterPrefix, lastEntryOfCursor, type ListedObject, type R2Bucket } from "../../bindings/r2/index.ts";
import type { S3Response, S3RequestContext, S3Deps } from "../request-context.ts";
import { s3Errors } from "../errors.ts";
import { integerParameter, s3StorageClass } from "../headers.ts";
import { xmlDocument, type Element } from "../xml.ts";

/** ListObjectsV2. */
export async function listObjectsV2(
  context: S3RequestContext,
  { buckets }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  const { query } = context;
  const { prefix, delimiter, encode, encoding } = listQuery(query);
  const limit = integerParameter(query, "max-keys", { min: 0, max: 2 ** 31 }) ?? 1000;
  const token = query.get("continuation-token");
  const startAfter = query.get("start-after");
  const owner = query.get("fetch-owner") === "true" ? context.account : undefined;
  const page =
    limit === 0
      ? { objects: [], delimitedPrefixes: [] }
      : await buckets.list(bucket.id, {
          prefix,
          delimiter,
          limit: Math.min(limit, 1000),
          // A continuation token overrides start-after, which applies only to the first page.
          ...(token ? { cursor: token } : startAfter ? { startAfter } : {}),
        });
  const cursor = "cursor" in page ? page.cursor : undefined;
  return {
    status: 200,
    body: xmlDocument("ListBucketResult", [
      ["Name", bucket.name],
      ["Prefix", encode(prefix)],
      delimiter === "" ? undefined : ["Delimiter", encode(delimiter)],
      ["MaxKeys", limit],
      encoding === undefined ? undefined : ["EncodingType", encoding],
      ["KeyCount", page.objects.length + page.delimitedPrefixes.length],
      ["IsTruncated", cursor !== undefined],
      token === undefined ? undefined : ["ContinuationToken", token],
      cursor === undefined ? undefined : ["NextContinuationToken", cursor],
      startAfter === undefined ? undefined : ["StartAfter", encode(startAfter)],
      ...page.objects.map((object) => contentsElement(object, encode, owner)),
      ...page.delimitedPrefixes.map((each): Element => ["CommonPrefixes", [["Prefix", encode(each)]]]),
    ]),
  };
}

/** Implements ListObjects, the older list operation, whose pages start after a key. */
export async function listObjects(
  context: S3RequestContext,
  { buckets }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  const { query } = context;
  const { prefix, delimiter, encode, encoding } = listQuery(query);
  const limit = integerParameter(query, "max-keys", { min: 0, max: 2 ** 31 }) ?? 1000;
  const marker = query.get("marker") ?? "";
  const page =
    limit === 0
      ? { objects: [], delimitedPrefixes: [] }
      : await buckets.list(bucket.id, {
          prefix,
          delimiter,
          limit: Math.min(limit, 1000),
          ...startPosition(marker, prefix, delimiter),
        });
  const cursor = "cursor" in page ? page.cursor : undefined;
  return {
    status: 200,
    body: xmlDocument("ListBucketResult", [
      ["Name", bucket.name],
      ["Prefix", encode(prefix)],
      ["Marker", encode(marker)],
      delimiter === "" ? undefined : ["Delimiter", encode(delimiter)],
      ["MaxKeys", limit],
      encoding === undefined ? undefined : ["EncodingType", encoding],
      ["IsTruncated", cursor !== undefined],
      cursor === undefined ? undefined : ["NextMarker", encode(lastEntryOfCursor(cursor))],
      ...page.objects.map((object) => contentsElement(object, encode, context.account)),
      ...page.delimitedPrefixes.map((each): Element => ["CommonPrefixes", [["Prefix", encode(each)]]]),
    ]),
  };
}

/** If the marker is a common prefix from the previous page, the list continues after all keys with this prefix. */
function startPosition(marker: string, prefix: string, delimiter: string) {
  if (marker === "") return {};
  const delimiterIndex = delimiter === "" || !marker.startsWith(prefix) ? -1 : marker.indexOf(delimiter, prefix.length);
  return delimiterIndex >= 0 && delimiterIndex + delimiter.length === marker.length
    ? { cursor: cursorAfterPrefix(marker) }
    : { startAfter: marker };
}

export function listQuery(query: ReadonlyMap<string, string>) {
  const encoding = query.get("encoding-type");
  if (encoding !== undefined && encoding !== "url")
    throw s3Errors.invalidArgument({ problem: "encoding-type must be url." });
  const encode = encoding === "url" ? encodeKey : (text: string) => text;
  return { prefix: query.get("prefix") ?? "", delimiter: query.get("delimiter") ?? "", encoding, encode };
}

const encodeKey = (text: string) => encodeURIComponent(text).replaceAll("%2F", "/");

const contentsElement = (
  { key, uploaded, etag, size, storageClass }: ListedObject,
  encode: (text: string) => string,
  owner: string | undefined,
): Element => [
  "Contents",
  [
    ["Key", encode(key)],
    ["LastModified", uploaded.toISOString()],
    ["ETag", `"${etag}"`],
    ["Size", size],
    ["StorageClass", s3StorageClass(storageClass)],
    owner === undefined
      ? undefined
      : [
          "Owner",
          [
            ["ID", owner],
            ["DisplayName", owner],
          ],
        ],
  ],
];
