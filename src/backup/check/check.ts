import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf } from "../../kernel/index.ts";
import { openPostgres, openRowSnapshot, openSqlite, type DatabaseAddress } from "../../store/index.ts";
import { isInBucket, type DataLocation } from "../create.ts";
import { backupErrors } from "../errors.ts";
import { makeFolder } from "../files.ts";
import { canDecrypt, readSecretsKey, type SecretsSettings } from "../secrets-key.ts";
import { findSqliteFiles, rebuildIndexes, sqliteProblem } from "../sqlite-files.ts";
import { explain, type DataFinding } from "./finding.ts";
import { moveFile, openCheckedObjects, type CheckedObjects } from "./objects.ts";
import { createReferences, type Reference, type Row } from "./references.ts";
import { deleteRow } from "./repairs-table.ts";

interface CheckOptions extends DataLocation {
  secrets: SecretsSettings;
  keyMark: { name: string };
  /** The row with the id of the objects folder, and the object that contains the same id. */
  objectsMark: { name: string; object: string };
  now: number;
  onProgress?: (progress: { step: "objects" | "rows" | "databases"; count: number }) => void;
}

interface Checked {
  objects: number;
  rows: number;
  databases: number;
  findings: DataFinding[];
}

/**
 * In a running server, a row without an object, or an object without a row, may result from a write in progress for
 * this long.
 */
const ORPHAN_GRACE_MS = 24 * 3_600_000;
/** Removed files are moved here. */
const REMOVED = "removed";

/**
 * Compares rows with objects, and reads all databases. In a running server, rows and files change during the check: a
 * second check confirms the findings. A repair needs a stopped server. Throws BackupError noData, and StoreError.
 */
export async function checkServerData({
  isRunning,
  repair,
  ...options
}: CheckOptions & { isRunning: boolean; repair: boolean }): Promise<Checked & { repaired: Repaired[] }> {
  const objects = await openObjects(options);
  try {
    const checked = await checkOnce(options, objects);
    if (isRunning && checked.findings.length > 0) {
      const again = new Set((await checkOnce(options, objects)).findings.map(identityOf));
      checked.findings = checked.findings.filter((finding) => again.has(identityOf(finding)));
    }
    return { ...checked, repaired: repair ? await repairData(options, objects, checked.findings) : [] };
  } finally {
    await objects.close();
  }
}

async function openObjects(options: CheckOptions): Promise<CheckedObjects> {
  const { dataDirectory, objects } = options;
  const address = addressOf(options);
  const files = [...("path" in address ? [address.path] : []), ...(isInBucket(options) ? [] : [objects])];
  for (const file of files)
    await stat(file).catch((err: unknown) => {
      throw backupErrors.noData({ directory: dataDirectory, file }, { cause: err });
    });
  return openCheckedObjects(objects, address);
}

const identityOf = ({ kind, subject }: DataFinding) => `${kind} ${subject}`;

async function checkOnce(options: CheckOptions, stored: CheckedObjects): Promise<Checked> {
  const { dataDirectory, onProgress } = options;
  const address = addressOf(options);
  const findings: DataFinding[] = [];
  if ("path" in address) {
    onProgress?.({ step: "databases", count: 0 });
    const problem = sqliteProblem(address.path);
    if (problem !== undefined) findings.push({ kind: "database", subject: "reelpost.sqlite", problem });
  }
  // Objects first: an object is stored before its row.
  const objects = new Map<string, { size: number; modified: number }>();
  for await (const { key, size, modified } of stored.list()) {
    objects.set(key, { size, modified: modified.getTime() });
    onProgress?.({ step: "objects", count: objects.size });
  }
  const collector = createReferences();
  let rows = 0;
  const snapshot = await openRowSnapshot(address);
  try {
    for (const table of snapshot.tables)
      for await (const values of snapshot.rows(table)) {
        collector.add(table.name, Object.fromEntries(table.columns.map((column, at) => [column, values[at]!])) as Row);
        onProgress?.({ step: "rows", count: ++rows });
      }
  } catch (err) {
    if (findings.length === 0) throw err;
    // The database is damaged: without its rows, nothing can be compared.
    return { objects: objects.size, rows, databases: 1, findings };
  } finally {
    await snapshot.close();
  }
  const { references, databases, marks, hasAccounts, isOwned } = collector.complete();

  const sealed = marks.get(options.keyMark.name);
  if (sealed !== undefined) {
    const key = readSecretsKey(dataDirectory, options.secrets);
    if (key === undefined || !canDecrypt(key, sealed, options.keyMark.name))
      findings.push({
        kind: "secrets_key",
        subject: key?.source ?? "secrets.key",
        problem: key === undefined ? "it is missing" : "the secrets were encrypted with a different key",
      });
  }
  const folderId = marks.get(options.objectsMark.name);
  if (folderId !== undefined) {
    const found = await stored.textOf(options.objectsMark.object);
    if (found !== folderId)
      findings.push({
        kind: "other_objects",
        subject: options.objects,
        problem: found === undefined ? "its id is missing" : "it has a different id",
      });
  }
  for (const reference of references.values()) {
    const problem = await objectProblem(stored, reference, objects.get(reference.key)?.size);
    if (problem === undefined) continue;
    const { kind, subject, key, row } = reference;
    findings.push({
      kind,
      subject,
      problem: `objects/${key} ${problem}`,
      file: `objects/${key}`,
      ...(row !== undefined && { row }),
    });
  }
  for (const [key, { size, modified }] of objects) {
    if (size === 0 && /^stream\/[^/]+\/[^/]+\/(?:init\.mp4|\d+\.m4s)$/.test(key))
      findings.push({
        kind: "video_segment",
        subject: `objects/${key}`,
        problem: "it is empty",
        file: `objects/${key}`,
      });
    else if (!isOwned(key) && options.now - modified > ORPHAN_GRACE_MS)
      findings.push({ kind: "orphan", subject: `objects/${key}`, problem: `${size} bytes`, file: `objects/${key}` });
  }
  let checkedDatabases = "path" in address ? 1 : 0;
  for (const [area, kind] of [
    ["d1", "d1_database"],
    ["durable-objects", "durable_object"],
  ] as const) {
    for (const name of await findSqliteFiles(join(dataDirectory, area))) {
      const path = `${area}/${name}`;
      onProgress?.({ step: "databases", count: ++checkedDatabases });
      // No rows refer to the databases of `reelpost dev`.
      if (area === "d1" && hasAccounts && !databases.has(name)) {
        findings.push({ kind: "orphan_database", subject: path, problem: "it has no row", file: path });
        continue;
      }
      const problem = sqliteProblem(join(dataDirectory, path));
      if (problem !== undefined) findings.push({ kind, subject: path, problem, file: path });
    }
  }
  return { objects: objects.size, rows, databases: checkedDatabases, findings };
}

async function objectProblem(stored: CheckedObjects, { key, size }: Reference, listed: number | undefined) {
  const found = listed ?? (await stored.sizeOf(key));
  if (found === undefined) return "is missing";
  return size !== undefined && found !== size ? `has ${found} bytes instead of ${size}` : undefined;
}

const addressOf = ({ dataDirectory, databaseUrl }: CheckOptions): DatabaseAddress =>
  databaseUrl === undefined ? { path: join(dataDirectory, "reelpost.sqlite") } : { url: databaseUrl };

interface Repaired {
  finding: DataFinding;
  /** Undefined if repaired. */
  failure?: string;
}

/**
 * Repairs the findings that can be repaired. Files are moved to `removed/<time>/` in the data directory. No server may
 * be using the data.
 */
async function repairData(
  { dataDirectory, databaseUrl, now }: CheckOptions,
  objects: CheckedObjects,
  findings: readonly DataFinding[],
): Promise<Repaired[]> {
  const repairable = findings.filter(({ kind }) => explain(kind).repair !== undefined);
  if (repairable.length === 0) return [];
  const removed = join(dataDirectory, REMOVED, new Date(now).toISOString().replace(/[-:]|\.\d+/g, ""));
  const db =
    databaseUrl === undefined
      ? openSqlite({ path: join(dataDirectory, "reelpost.sqlite") })
      : await openPostgres({ url: databaseUrl });
  const results: Repaired[] = [];
  try {
    for (const finding of repairable) {
      const failure = await repair(finding).catch(messageOf);
      results.push({ finding, ...(failure !== undefined && { failure }) });
    }
  } finally {
    await db.close();
  }
  return results;

  async function repair({ kind, row, file }: DataFinding): Promise<string | undefined> {
    if (kind === "d1_database") return rebuildIndexes(join(dataDirectory, file!));
    // Delete the file last: if this is interrupted, the file has no row, and the next check finds it.
    if (row !== undefined) await deleteRow(db, row);
    if (file === undefined) return undefined;
    const names = file.endsWith(".sqlite") ? ["", "-wal", "-shm"].map((suffix) => file + suffix) : [file];
    for (const name of names) await moveAway(name);
    return undefined;
  }

  async function moveAway(name: string): Promise<void> {
    const to = join(removed, name);
    await makeFolder(dirname(to));
    if (name.startsWith("objects/")) await objects.moveTo(name.slice("objects/".length), to);
    else await moveFile(join(dataDirectory, name), to);
  }
}
