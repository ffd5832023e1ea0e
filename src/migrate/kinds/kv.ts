import { compareItem, withProgressRecord, type Context } from "../context.ts";
import { migrateErrors } from "../errors.ts";
import type { ItemProgress, PlannedItem, StoredItem } from "../port.ts";
import {
  apiPath,
  chunksOf,
  collect,
  readCursorPages,
  inParallel,
  hasErrorStatus,
  readNumberedPages,
} from "../requests.ts";
import { idHeader } from "./zone.ts";

export interface Namespace {
  id: string;
  title: string;
}

export interface ListedKey {
  name: string;
  /** Seconds since the epoch. */
  expiration?: number;
  metadata?: unknown;
}

/** A key with its value. */
interface Entry extends ListedKey {
  value: Buffer;
}

/** The limit of one bulk read. */
export const BATCH = 100;
/** The API rejects keys that expire within a minute. */
const MIN_TTL_SECONDS = 90;
const REPLACEMENT = "\uFFFD";

export const namespacesOf = (api: Context["source"]["api"], base: string): Promise<Namespace[]> =>
  collect(readNumberedPages<Namespace>(api, `${base}/storage/kv/namespaces`, { perPage: 100 }));

/** Plans the import of KV namespaces with all their keys. */
export async function planKv(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, ids, options } = context;
  const [ours, theirs] = await Promise.all([
    namespacesOf(source.api, paths.source),
    namespacesOf(target.api, paths.target),
  ]);
  const items: PlannedItem[] = [];
  for (const namespace of ours) {
    const existing =
      theirs.find(({ id }) => id === (ids.find("kv", namespace.id) ?? namespace.id)) ??
      theirs.find(({ title }) => title === namespace.title);
    if (existing !== undefined) ids.set("kv", namespace.id, existing.id);
    if (options.areas.has("kv")) items.push(await planNamespace(context, namespace, existing));
  }
  return items;
}

async function planNamespace(
  context: Context,
  { id, title }: Namespace,
  existing: Namespace | undefined,
): Promise<PlannedItem> {
  const { source, target, paths, ids } = context;
  context.onStep?.(`comparing KV namespace ${title}`);
  const item = { kind: "KV namespace", key: `kv ${id}`, name: title };
  const losses = [
    ...(existing !== undefined && existing.id !== id ? [`its id is ${existing.id} instead of ${id}`] : []),
    ...(existing === undefined && !context.keepsIds ? ["its id changes"] : []),
  ];
  const keys = await keysOf(source.api, `${paths.source}/storage/kv/namespaces${apiPath`/${id}`}`, context);
  const apply: PlannedItem["apply"] = async (progress) => {
    if (ids.find("kv", id) === undefined) {
      const made = await target.api.result<Namespace>("POST", `${paths.target}/storage/kv/namespaces`, {
        json: { title },
        headers: idHeader(context, id),
      });
      ids.set("kv", id, made.id);
    }
    await syncKeys(context, id, keys, progress);
  };
  if (existing === undefined)
    return {
      ...item,
      ...(losses.length > 0 && { losses }),
      action: "new",
      entries: keys.length,
      apply: withProgressRecord(context, item.key, "created", apply),
    };
  const { wanted, kept } = await syncKeys(context, id, keys);
  if (kept > 0) losses.push(`${kept} keys differ on this server and are kept; --overwrite replaces them`);
  const shown = { ...item, ...(losses.length > 0 && { losses }) };
  if (wanted === 0) return { ...shown, action: "unchanged" };
  return {
    ...shown,
    action: "changed",
    entries: wanted,
    apply: withProgressRecord(context, item.key, "created", apply),
  };
}

async function keysOf(api: Context["source"]["api"], path: string, { clock }: Context): Promise<ListedKey[]> {
  const keys = await collect(readCursorPages<ListedKey>(api, `${path}/keys`, { query: { limit: 1000 } }));
  const soon = clock.now() / 1000 + MIN_TTL_SECONDS;
  return keys.filter(({ expiration }) => expiration === undefined || expiration > soon);
}

/** Compares all keys, and with `progress` writes those that are new or have changed on the source. */
async function syncKeys(
  context: Context,
  id: string,
  keys: readonly ListedKey[],
  progress?: ItemProgress,
): Promise<{ wanted: number; kept: number }> {
  const { source, target, paths, ids, options } = context;
  const from = `${paths.source}/storage/kv/namespaces${apiPath`/${id}`}`;
  const to = `${paths.target}/storage/kv/namespaces${apiPath`/${ids.require("kv", id, `The KV namespace ${id}`)}`}`;
  const existing = new Map((await keysOf(target.api, to, context)).map((key) => [key.name, key] as const));
  const counts = { wanted: 0, kept: 0 };
  await inParallel(chunksOf(keys, BATCH), options.concurrency, async (batch) => {
    const present = batch.filter(({ name }) => existing.has(name)).map(({ name }) => existing.get(name)!);
    // A plan needs the values only of keys that exist on both sides.
    const read = progress === undefined ? batch.filter(({ name }) => existing.has(name)) : batch;
    const [entries, theirs] = await Promise.all([
      readEntries(source.api, from, read, context),
      readEntries(target.api, to, present, context),
    ]);
    if (progress === undefined) counts.wanted += batch.length - read.length;
    const there = new Map(theirs.map((entry) => [entry.name, formOf(entry)]));
    const writes: Entry[] = [];
    const finished: [string, StoredItem][] = [];
    for (const entry of entries) {
      const key = `kv ${id} ${entry.name}`;
      const { action, digest } = compareItem(context, key, { source: formOf(entry), target: there.get(entry.name) });
      if (action === "kept") counts.kept++;
      if (action === "new" || action === "changed") writes.push(entry);
      if (action !== "kept" && context.state.get(key)?.digest !== digest) finished.push([key, { digest }]);
    }
    counts.wanted += writes.length;
    if (progress === undefined) return;
    await writeEntries(target.api, to, writes);
    context.state.put(finished);
    progress.entries(writes.length);
  });
  return counts;
}

const formOf = ({ value, expiration, metadata }: Entry) => ({
  value: value.toString("base64"),
  expiration,
  metadata: metadata ?? undefined,
});

/** Reads values in bulk as text, and individually if they might be binary. Keys deleted in the meantime are omitted. */
async function readEntries(
  api: Context["source"]["api"],
  path: string,
  keys: readonly ListedKey[],
  { options }: Context,
): Promise<Entry[]> {
  if (keys.length === 0) return [];
  const texts = await readTexts(api, path, keys);
  const entries = new Map<string, Entry>();
  await inParallel(keys, options.concurrency, async (key) => {
    const value = texts.get(key.name) ?? (await readValue(api, path, key));
    if (value !== undefined) entries.set(key.name, { ...key, value });
  });
  return keys.flatMap(({ name }) => entries.get(name) ?? []);
}

/**
 * Reads the values of at most BATCH keys, without those that might be binary. Empty if the server cannot read them in
 * bulk.
 */
export async function readTexts(
  api: Context["source"]["api"],
  path: string,
  keys: readonly ListedKey[],
): Promise<Map<string, Buffer>> {
  try {
    const { values } = await api.result<{ values: Record<string, string | null> }>("POST", `${path}/bulk/get`, {
      json: { keys: keys.map(({ name }) => name), type: "text" },
    });
    return new Map(
      Object.entries(values).flatMap(([name, text]) =>
        typeof text === "string" && !text.includes(REPLACEMENT) ? [[name, Buffer.from(text)] as const] : [],
      ),
    );
  } catch (thrown) {
    // Together, the values exceed the limit of a bulk read, or the server does not support bulk reads.
    if (hasErrorStatus(thrown, 400, 404, 405, 413)) return new Map();
    throw thrown;
  }
}

/** Undefined if the key was deleted in the meantime. */
export async function readValue(
  api: Context["source"]["api"],
  path: string,
  { name }: ListedKey,
): Promise<Buffer | undefined> {
  try {
    const response = await api.raw("GET", `${path}/values${apiPath`/${name}`}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (thrown) {
    if (hasErrorStatus(thrown, 404)) return undefined;
    throw thrown;
  }
}

/** A request of this size stays below the limit of a bulk write even in base64. */
const WRITE_BYTES = 40 * 1024 * 1024;

async function writeEntries(api: Context["target"]["api"], path: string, entries: readonly Entry[]): Promise<void> {
  let pairs: object[] = [];
  let size = 0;
  const flush = async () => {
    if (pairs.length === 0) return;
    const { unsuccessful_keys: refused = [] } =
      (await api.result<{ unsuccessful_keys?: string[] } | null>("PUT", `${path}/bulk`, { json: pairs })) ?? {};
    if (refused.length > 0)
      throw migrateErrors.incomplete({
        what: `${refused.length} keys were not written`,
        reason: refused.slice(0, 3).join(", "),
      });
    [pairs, size] = [[], 0];
  };
  for (const { name, value, expiration, metadata } of entries) {
    if (size + value.length > WRITE_BYTES) await flush();
    pairs.push({
      key: name,
      value: value.toString("base64"),
      base64: true,
      ...(expiration !== undefined && { expiration }),
      ...(metadata != null && { metadata }),
    });
    size += value.length;
  }
  await flush();
}
