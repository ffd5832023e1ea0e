import { compareItem, withProgressRecord, type Context } from "../context.ts";
import type { ItemProgress, PlannedItem } from "../port.ts";
import { apiPath, collect, readCursorPages, inParallel, hasErrorStatus, keyPath } from "../requests.ts";

export interface Bucket {
  name: string;
  jurisdiction?: string;
  storage_class?: string;
}

export interface V4Object {
  key: string;
  etag: string;
  size: number;
  last_modified?: string;
  storage_class?: string;
  http_metadata?: Record<string, string>;
  custom_metadata?: Record<string, string>;
}

export const bucketsOf = async (api: Context["source"]["api"], base: string): Promise<Bucket[]> =>
  collect(
    readCursorPages<Bucket>(api, `${base}/r2/buckets`, {
      query: { per_page: 1000 },
      pick: (result) => (result as { buckets: Bucket[] }).buckets,
    }),
  ).catch((thrown: unknown) => {
    if (hasErrorStatus(thrown, 404)) return [];
    throw thrown;
  });

/** Plans the import of R2 buckets with all their objects. */
export async function planR2(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths } = context;
  const [ours, theirs] = await Promise.all([bucketsOf(source.api, paths.source), bucketsOf(target.api, paths.target)]);
  const items: PlannedItem[] = [];
  for (const bucket of ours)
    items.push(
      await planBucket(
        context,
        bucket,
        theirs.some(({ name }) => name === bucket.name),
      ),
    );
  return items;
}

async function planBucket(context: Context, bucket: Bucket, exists: boolean): Promise<PlannedItem> {
  const { source, target, paths } = context;
  context.onStep?.(`comparing R2 bucket ${bucket.name}`);
  const item = { kind: "R2 bucket", key: `r2 ${bucket.name}`, name: bucket.name };
  const path = (base: string) => `${base}/r2/buckets${apiPath`/${bucket.name}`}/objects`;
  const objectsOf = (api: Context["source"]["api"], base: string) =>
    collect(readCursorPages<V4Object>(api, path(base), { query: { per_page: 1000 } }));
  const objects = await objectsOf(source.api, paths.source);
  const existing = new Map(
    (exists ? await objectsOf(target.api, paths.target) : []).map((object) => [object.key, object] as const),
  );
  const losses: string[] = ["lifecycle rules, CORS rules and public domains are not imported"];
  let kept = 0;
  const wanted = objects.filter((object) => {
    const { action } = compareItem(context, `r2 ${bucket.name} ${object.key}`, {
      source: formOf(object),
      target: existing.has(object.key) ? formOf(existing.get(object.key)!) : undefined,
    });
    if (action === "kept") kept++;
    return action === "new" || action === "changed";
  });
  if (kept > 0) losses.push(`${kept} objects differ on this server and are kept; --overwrite replaces them`);
  if (exists && wanted.length === 0) return { ...item, ...(kept > 0 && { losses }), action: "unchanged" };
  return {
    ...item,
    losses,
    action: exists ? "changed" : "new",
    entries: wanted.length,
    bytes: wanted.reduce((sum, { size }) => sum + size, 0),
    apply: withProgressRecord(context, item.key, "created", async (progress) => {
      if (!exists) await createBucket(context, bucket);
      await inParallel(wanted, context.options.concurrency, (object) =>
        copyObject(context, bucket.name, object, progress),
      );
    }),
  };
}

async function createBucket({ target, paths }: Context, { name, storage_class }: Bucket): Promise<void> {
  await target.api
    .result("POST", `${paths.target}/r2/buckets`, {
      json: { name, ...(storage_class !== undefined && { storageClass: storage_class }) },
    })
    .catch((thrown: unknown) => {
      // An interrupted run created the bucket.
      if (!hasErrorStatus(thrown, 409)) throw thrown;
    });
}

async function copyObject(context: Context, bucket: string, object: V4Object, progress: ItemProgress): Promise<void> {
  const { source, target, paths } = context;
  const path = (base: string) => `${base}/r2/buckets${apiPath`/${bucket}`}/objects/${keyPath(object.key)}`;
  await target.api.raw("PUT", path(paths.target), {
    // A new request for each attempt, because a body can be read only once.
    body: async () => {
      const response = await source.api.raw("GET", path(paths.source), { timeoutMs: null });
      return { stream: response.body as unknown as AsyncIterable<Uint8Array>, size: object.size };
    },
    headers: headersOf(object),
    timeoutMs: null,
  });
  context.state.put([
    [
      `r2 ${bucket} ${object.key}`,
      { digest: compareItem(context, "", { source: formOf(object), target: undefined }).digest },
    ],
  ]);
  progress.bytes(object.size);
  progress.entries(1);
}

/** A multipart etag (with a part count) depends on how the object was uploaded. */
const formOf = ({ key, etag, size, http_metadata = {}, custom_metadata = {} }: V4Object) => ({
  key,
  etag: etag.replaceAll('"', ""),
  size,
  http_metadata,
  custom_metadata,
});

/** In a header value, each character is one octet of the UTF-8 text. */
const octets = (text: string) => Buffer.from(text).toString("latin1");

const HTTP_FIELDS: Record<string, string> = {
  contentType: "content-type",
  contentLanguage: "content-language",
  contentDisposition: "content-disposition",
  contentEncoding: "content-encoding",
  cacheControl: "cache-control",
  cacheExpiry: "expires",
};

function headersOf({ http_metadata = {}, custom_metadata = {}, storage_class }: V4Object): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [field, value] of Object.entries(http_metadata)) {
    const name = HTTP_FIELDS[field];
    if (name !== undefined) headers[name] = field === "cacheExpiry" ? new Date(value).toUTCString() : octets(value);
  }
  for (const [name, value] of Object.entries(custom_metadata)) headers[`x-amz-meta-${name}`] = octets(value);
  if (storage_class !== undefined) headers["cf-r2-storage-class"] = storage_class;
  return headers;
}
