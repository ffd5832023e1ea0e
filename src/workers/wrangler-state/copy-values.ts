import { Readable } from "node:stream";
import { messageOf, type Clock } from "../../kernel/index.ts";
import type { KvStore } from "../bindings/kv/index.ts";
import type { Checksums, HttpMetadata, R2Buckets } from "../bindings/r2/index.ts";
import { openWithoutLinks } from "./links.ts";
import type { CopiedResource } from "./port.ts";
import type { StateFolder } from "./state-folder.ts";
import { openStateTable, type StateEntry, type StateObject } from "./state-table.ts";

interface CopyOptions {
  state: StateFolder;
  file: string;
  from: string;
  to: string;
  overwrite: boolean;
  dryRun: boolean;
}

type StoredHttpMetadata = Omit<HttpMetadata, "cacheExpiry"> & { cacheExpiry?: number };

/** Maximum number of reported failures. */
const MAX_REPORTED_PROBLEMS = 20;
/** Maximum size of a value that is read into memory as a whole. */
const MAX_BUFFERED_BYTES = 64 * 1024;

/** Copies the keys of a namespace, except those that have expired. */
export async function copyNamespace(
  { state, file, from, to, overwrite, dryRun }: CopyOptions,
  { store, clock }: { store: KvStore; clock: Clock },
): Promise<CopiedResource> {
  const table = openStateTable(file);
  try {
    if (dryRun) return { from, to, copied: table.countEntries(), kept: 0, problems: [] };
    return await copyEach(from, to, table.entries(), async ({ key, blob, expiresAt, metadata }: StateEntry) => {
      if (expiresAt !== null && expiresAt <= clock.now()) return "expired";
      if (!overwrite && (await hasKey(store, to, key))) return "kept";
      const path = state.blob("kv", from, blob);
      const { file: content, size } = await openWithoutLinks(path);
      try {
        const value = size <= MAX_BUFFERED_BYTES ? await content.readFile() : content.createReadStream();
        await store.put(to, key, value, { expiresAt, ...(metadata !== null && { metadata }) });
      } finally {
        await content.close();
      }
      return "copied";
    });
  } finally {
    table.close();
  }
}

async function hasKey(store: KvStore, namespace: string, key: string): Promise<boolean> {
  const entry = await store.get(namespace, key);
  if (entry?.value instanceof Readable) entry.value.destroy();
  return entry !== undefined;
}

/** Copies the objects of a bucket with their metadata. ETags are preserved, except those of multipart uploads. */
export async function copyBucket(
  { state, file, from, to, overwrite, dryRun }: CopyOptions,
  buckets: R2Buckets,
): Promise<CopiedResource> {
  const table = openStateTable(file);
  try {
    if (dryRun) return { from, to, copied: table.countObjects(), kept: 0, problems: [] };
    return await copyEach(from, to, table.objects(), async (object: StateObject) => {
      if (!overwrite && (await buckets.head(to, object.key)) !== undefined) return "kept";
      const paths = object.blobs.map((blob) => state.blob("r2", from, blob));
      const { cacheExpiry, ...http } = JSON.parse(object.httpMetadata) as StoredHttpMetadata;
      await buckets.put(to, object.key, concatenatedFiles(paths), {
        size: object.size,
        httpMetadata: { ...http, ...(cacheExpiry !== undefined && { cacheExpiry: new Date(cacheExpiry) }) },
        customMetadata: JSON.parse(object.customMetadata) as Record<string, string>,
        checksums: JSON.parse(object.checksums) as Checksums,
      });
      return "copied";
    });
  } finally {
    table.close();
  }
}

async function* concatenatedFiles(paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) {
    const { file } = await openWithoutLinks(path);
    yield* file.createReadStream() as AsyncIterable<Buffer>;
  }
}

/** Copies every item. If one fails, the failure is recorded and the other items are copied. */
async function copyEach<Item extends { key: string }>(
  from: string,
  to: string,
  items: Iterable<Item>,
  copy: (item: Item) => Promise<"copied" | "kept" | "expired">,
): Promise<CopiedResource> {
  const result: CopiedResource = { from, to, copied: 0, kept: 0, problems: [] };
  for (const item of items) {
    try {
      const outcome = await copy(item);
      if (outcome !== "expired") result[outcome]++;
    } catch (err) {
      if (result.problems.length < MAX_REPORTED_PROBLEMS)
        result.problems.push({ name: item.key, reason: messageOf(err) });
    }
  }
  return result;
}
