import { basename } from "node:path";
import { messageOf, type Clock } from "../../kernel/index.ts";
import type { D1Databases } from "../bindings/d1/index.ts";
import type { KvStore } from "../bindings/kv/index.ts";
import type { R2Buckets } from "../bindings/r2/index.ts";
import { copyBucket, copyNamespace } from "./copy-values.ts";
import type { CopiedResource, WranglerStateImportRequest, WranglerStateImportResult } from "./port.ts";
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
 * Copies wrangler's local KV, R2 and D1 data. Namespaces and buckets that are not in the configuration keep their
 * names. Databases that are not in the configuration are only listed, because their file names are hashes from which
 * their ids cannot be derived. Throws wranglerStateMissing.
 */
export async function importWranglerState(
  { state: folder, kv, r2, d1, overwrite, dryRun }: WranglerStateImportRequest,
  { kv: { store }, r2: { buckets }, d1: { databases }, clock }: WranglerStateDeps,
): Promise<WranglerStateImportResult> {
  const state = openStateFolder(folder);
  const options = { state, overwrite, dryRun };
  const result: WranglerStateImportResult = { kv: [], r2: [], d1: [] };
  for (const { name, to, file } of listSources(state, "kv", kv, overwrite))
    result.kv.push(await copyNamespace({ ...options, file, from: name, to }, { store, clock }));
  for (const { name, to, file } of listSources(state, "r2", r2, overwrite))
    result.r2.push(await copyBucket({ ...options, file, from: name, to }, buckets));
  const configuredFiles = new Set<string>();
  for (const { from, to } of d1) {
    const stateFile = from.flatMap((name) => {
      const file = state.file("d1", name);
      if (file !== undefined) configuredFiles.add(file);
      return file === undefined ? [] : [{ name, file }];
    })[0];
    if (stateFile !== undefined) result.d1.push(await copyDatabase(stateFile, to));
  }
  for (const file of state.files("d1").filter((candidate) => !configuredFiles.has(candidate)))
    result.d1.push({ from: basename(file), to: null, copied: countStateTables(file), kept: 0, problems: [] });
  return result;

  async function copyDatabase({ name, file }: { name: string; file: string }, to: string): Promise<CopiedResource> {
    const emptyResult: CopiedResource = { from: name, to, copied: 0, kept: 0, problems: [] };
    try {
      const existingTables = overwrite ? 0 : await countStoredTables(to);
      if (existingTables > 0) return { ...emptyResult, kept: existingTables };
      if (!dryRun) await databases.replace(to, file);
      return { ...emptyResult, copied: countStateTables(file) };
    } catch (err) {
      return { ...emptyResult, problems: [{ name, reason: messageOf(err) }] };
    }
  }

  async function countStoredTables(id: string): Promise<number> {
    // A query would create the file.
    if ((await databases.size(id)) === 0) return 0;
    return Number((await databases.query(id, [{ sql: COUNT_TABLES }]))[0]!.results.rows[0]![0]);
  }
}

interface ImportSource {
  name: string;
  to: string;
  file: string;
}

/**
 * Lists the sources with configured ids in their order, then all other sources. The first source that contains a key
 * takes precedence. With `overwrite` the order is reversed, because the source that is copied last takes precedence.
 */
function listSources(
  state: StateFolder,
  kind: "kv" | "r2",
  configuredResources: WranglerStateImportRequest["kv"],
  overwrite: boolean,
): ImportSource[] {
  const configuredSources = configuredResources.flatMap(({ from, to }) => from.map((name) => ({ name, to })));
  const otherSources = state
    .names(kind)
    .filter((name) => !configuredSources.some((candidate) => candidate.name === name))
    .map((name) => ({ name, to: name }));
  const existingSources = [...configuredSources, ...otherSources].flatMap(({ name, to }) => {
    const file = state.file(kind, name);
    return file === undefined ? [] : [{ name, to, file }];
  });
  const distinctSources = [
    ...new Map(existingSources.map((source) => [`${source.name} ${source.to}`, source])).values(),
  ];
  return overwrite ? distinctSources.toReversed() : distinctSources;
}

function countStateTables(file: string): number {
  const table = openStateTable(file);
  try {
    return table.countTables();
  } finally {
    table.close();
  }
}
