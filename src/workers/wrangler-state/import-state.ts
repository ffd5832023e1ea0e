import { basename } from "node:path";
import { messageOf, type Clock } from "../../kernel/index.ts";
import type { D1Databases } from "../bindings/d1/index.ts";
import type { KvStore } from "../bindings/kv/index.ts";
import type { R2Buckets } from "../bindings/r2/index.ts";
import { copyBucket, copyNamespace } from "./copy-values.ts";
import type { CopiedResource, WranglerStateRequest, WranglerStateResult } from "./port.ts";
import { openStateFolder, type StateFolder } from "./state-folder.ts";
import { openStateTable } from "./state-table.ts";

interface WranglerStateDeps {
  kv: { store: KvStore };
  r2: { buckets: R2Buckets };
  d1: { databases: D1Databases };
  clock: Clock;
}

const COUNT_TABLES =
  "select count(*) from sqlite_master where type = 'table' and substr(name, 1, 7) <> 'sqlite_' and lower(substr(name, 1, 4)) <> '_cf_'";

/**
 * Copies what wrangler stored locally for KV, R2 and D1. Namespaces and buckets that are not in the configuration keep
 * their names; databases are stored under digests of their ids, so those that are not in the configuration are only
 * listed. Throws wranglerStateMissing.
 */
export async function importWranglerState(
  { state: folder, kv, r2, d1, overwrite, dryRun }: WranglerStateRequest,
  { kv: { store }, r2: { buckets }, d1: { databases }, clock }: WranglerStateDeps,
): Promise<WranglerStateResult> {
  const state = openStateFolder(folder);
  const options = { state, overwrite, dryRun };
  const result: WranglerStateResult = { kv: [], r2: [], d1: [] };
  for (const { name, to, file } of sources(state, "kv", kv, overwrite))
    result.kv.push(await copyNamespace({ ...options, file, from: name, to }, { store, clock }));
  for (const { name, to, file } of sources(state, "r2", r2, overwrite))
    result.r2.push(await copyBucket({ ...options, file, from: name, to }, buckets));
  const known = new Set<string>();
  for (const { from, to } of d1) {
    const found = from.flatMap((name) => {
      const file = state.file("d1", name);
      if (file !== undefined) known.add(file);
      return file === undefined ? [] : [{ name, file }];
    })[0];
    if (found !== undefined) result.d1.push(await copyDatabase(found, to));
  }
  for (const file of state.files("d1").filter((each) => !known.has(each)))
    result.d1.push({ from: basename(file), to: null, copied: tablesOf(file), kept: 0, problems: [] });
  return result;

  async function copyDatabase({ name, file }: { name: string; file: string }, to: string): Promise<CopiedResource> {
    const copied: CopiedResource = { from: name, to, copied: 0, kept: 0, problems: [] };
    try {
      const there = overwrite ? 0 : await tablesIn(to);
      if (there > 0) return { ...copied, kept: there };
      if (!dryRun) await databases.replace(to, file);
      return { ...copied, copied: tablesOf(file) };
    } catch (err) {
      return { ...copied, problems: [{ name, reason: messageOf(err) }] };
    }
  }

  async function tablesIn(id: string): Promise<number> {
    // A query would create the file.
    if ((await databases.size(id)) === 0) return 0;
    return Number((await databases.query(id, [{ sql: COUNT_TABLES }]))[0]!.results.rows[0]![0]);
  }
}

interface Source {
  name: string;
  to: string;
  file: string;
}

/**
 * Configured ids first, in their order, then all others. The first source of a key wins: with `overwrite` it is copied
 * last.
 */
function sources(
  state: StateFolder,
  kind: "kv" | "r2",
  configured: WranglerStateRequest["kv"],
  overwrite: boolean,
): Source[] {
  const named = configured.flatMap(({ from, to }) => from.map((name) => ({ name, to })));
  const others = state
    .names(kind)
    .filter((name) => !named.some((each) => each.name === name))
    .map((name) => ({ name, to: name }));
  const found = [...named, ...others].flatMap(({ name, to }) => {
    const file = state.file(kind, name);
    return file === undefined ? [] : [{ name, to, file }];
  });
  const distinct = [...new Map(found.map((source) => [`${source.name} ${source.to}`, source])).values()];
  return overwrite ? distinct.toReversed() : distinct;
}

function tablesOf(file: string): number {
  const table = openStateTable(file);
  try {
    return table.countTables();
  } finally {
    table.close();
  }
}
