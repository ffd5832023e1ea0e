import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { plannedItem, type Context, type SourceContext } from "../context.ts";
import { download, uploadTo } from "../downloads.ts";
import { migrateErrors } from "../errors.ts";
import type { PlannedItem, V4Client } from "../port.ts";
import { apiPath, collect, readNumberedPages, resultIfFound } from "../requests.ts";
import { dropTablesSql, fingerprint, type Fingerprint } from "./d1-fingerprint.ts";
import { idHeader } from "./zone.ts";

export interface V4Database {
  uuid: string;
  name: string;
  file_size?: number;
  jurisdiction?: string | null;
}

/** A step of an export or import job. */
interface Transfer {
  status?: string;
  success?: boolean;
  at_bookmark?: string;
  error?: string;
  errors?: string[];
  upload_url?: string;
  filename?: string;
  result?: { signed_url?: string; filename?: string };
}

/** Larger databases are compared by their schema and row counts. */
const COMPARED_BYTES = 100 * 1024 * 1024;
const POLL_MS = 500;
const STEP_TIMEOUT_MS = 300_000;

export const databasesOf = (api: V4Client, base: string): Promise<V4Database[]> =>
  collect(readNumberedPages<V4Database>(api, `${base}/d1/database`, { perPage: 100 }));

/** Plans the import of D1 databases. An export blocks the source database for its duration. */
export async function planD1(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, ids, options } = context;
  const [ours, theirs] = await Promise.all([
    databasesOf(source.api, paths.source),
    databasesOf(target.api, paths.target),
  ]);
  const items: PlannedItem[] = [];
  for (const database of ours) {
    const existing =
      theirs.find(({ uuid }) => uuid === (ids.find("d1", database.uuid) ?? database.uuid)) ??
      theirs.find(({ name }) => name === database.name);
    if (existing !== undefined) ids.set("d1", database.uuid, existing.uuid);
    if (options.areas.has("d1")) items.push(await planDatabase(context, database, existing));
  }
  return items;
}

async function planDatabase(
  context: Context,
  { uuid, name }: V4Database,
  existing: V4Database | undefined,
): Promise<PlannedItem> {
  const { source, target, paths } = context;
  context.onStep?.(`comparing D1 database ${name}`);
  const path = (base: string, id: string) => `${base}/d1/database${apiPath`/${id}`}`;
  const from = path(paths.source, uuid);
  const { file_size: size = 0 } = (await resultIfFound<V4Database>(source.api, from)) ?? {};
  const withRows = size <= COMPARED_BYTES;
  const content = await fingerprint(source.api, from, withRows);
  const found =
    existing === undefined ? undefined : await fingerprint(target.api, path(paths.target, existing.uuid), withRows);
  const losses = [
    ...(existing !== undefined && existing.uuid !== uuid ? [`its id is ${existing.uuid} instead of ${uuid}`] : []),
    ...(existing === undefined && !context.keepsIds ? ["its id changes"] : []),
    ...(withRows ? [] : ["only its schema and row counts are compared"]),
  ];
  return plannedItem(context, {
    kind: "D1 database",
    key: `d1 ${uuid}`,
    name,
    ...(losses.length > 0 && { losses }),
    bytes: size,
    source: content,
    target: found !== undefined && isEmpty(found) && !isEmpty(content) ? undefined : found,
    async apply(progress) {
      if (context.ids.find("d1", uuid) === undefined) {
        const made = await target.api.result<V4Database>("POST", `${paths.target}/d1/database`, {
          json: { name },
          headers: idHeader(context, uuid),
        });
        context.ids.set("d1", uuid, made.uuid);
      }
      const to = path(paths.target, context.ids.require("d1", uuid, `The D1 database ${name}`));
      const tables = await fingerprint(target.api, to, false);
      if (!isEmpty(tables))
        await target.api.result("POST", `${to}/query`, { json: { sql: dropTablesSql(tables) }, timeoutMs: null });
      if (!isEmpty(content)) await transfer(context, { from, to, name });
      progress.bytes(size);
    },
  });
}

const isEmpty = ({ schema }: Fingerprint) => schema.length === 0;

async function transfer(context: Context, { from, to, name }: { from: string; to: string; name: string }) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-import-"));
  try {
    const file = join(folder, "export.sql");
    const url = await exportUrl(context, from, name);
    const response = await download(url, `the export of ${name}`, context);
    await pipeline(response.body as unknown as AsyncIterable<Uint8Array>, createWriteStream(file));
    await importFile(context, to, name, file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves with the URL of a new SQL dump. Throws `incomplete`. */
export async function exportUrl({ source, clock }: SourceContext, path: string, name: string): Promise<string> {
  let bookmark: string | undefined;
  for (;;) {
    const step = await source.api.result<Transfer>("POST", `${path}/export`, {
      json: { output_format: "polling", ...(bookmark !== undefined && { current_bookmark: bookmark }) },
      timeoutMs: STEP_TIMEOUT_MS,
    });
    const url = step.result?.signed_url;
    if (step.status === "complete" && url !== undefined) return new URL(url, source.api.url).href;
    failIfEnded(step, `the export of ${name}`);
    bookmark = step.at_bookmark;
    await clock.sleep(POLL_MS);
  }
}

async function importFile(context: Context, path: string, name: string, file: string): Promise<void> {
  const { target, clock } = context;
  const { size } = await stat(file);
  const etag = await md5Of(file);
  const call = (json: object) =>
    target.api.result<Transfer>("POST", `${path}/import`, { json, timeoutMs: STEP_TIMEOUT_MS });
  let step = await call({ action: "init", etag });
  if (step.upload_url !== undefined) {
    await uploadTo(new URL(step.upload_url, target.api.url).href, `the import of ${name}`, {
      size,
      body: () => createReadStream(file),
    });
    step = await call({ action: "ingest", filename: step.filename, etag });
  }
  while (step.status !== "complete") {
    failIfEnded(step, `the import of ${name}`);
    await clock.sleep(POLL_MS);
    step = await call({ action: "poll", current_bookmark: step.at_bookmark });
  }
}

function failIfEnded({ status, success, error, errors }: Transfer, what: string): void {
  if (status === "error" || success === false || error !== undefined)
    throw migrateErrors.incomplete({ what, reason: errors?.join("; ") ?? error ?? "no reason given" });
}

async function md5Of(path: string): Promise<string> {
  const hash = createHash("md5");
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest("hex");
}
