import {
  messageOf,
  randomIds,
  silentLog,
  systemClock,
  UserError,
  type Clock,
  type Ids,
  type Log,
} from "../../../../kernel/index.ts";
import type { Db, Events, Job, Jobs, ObjectHandle, ObjectStore } from "../../../../store/index.ts";
import { createBookmarkGenerator } from "../bookmarks.ts";
import type { D1Databases } from "../port.ts";
import { d1Errors } from "../errors.ts";
import type { D1DatabaseList } from "../list.ts";
import { d1Limits } from "../limits.ts";
import type { ExportOptions } from "./export-sql.ts";
import type { Imported } from "./import-sql.ts";
import { createTransfersTable, type TransferChange, type TransferRow } from "./transfers-table.ts";
import { createTransferNotifications } from "./news.ts";

/**
 * Imports SQL files into databases and exports databases to SQL files. The files are uploaded to and downloaded from
 * their own URLs; jobs that survive the process run the transfers, and clients poll until they finish. `database` is
 * the id of an existing database. Throws UserErrors of `d1Errors`.
 */
export interface D1Transfers {
  /** Maximum bytes of a file. */
  readonly maxBytes: number;
  /**
   * Reserves an upload for a file with this MD5 (hex). Returns the same upload until it is imported. Throws badEtag,
   * tooManyTransfers.
   */
  announce(account: string, database: string, etag: string): Promise<{ filename: string; token: string }>;
  /**
   * Stores the bytes; resolves with their MD5 once they are on disk, or with undefined if the upload was never
   * announced or has expired. Throws otherContent, fileTooLarge.
   */
  upload(token: string, body: AsyncIterable<Uint8Array>): Promise<{ etag: string } | undefined>;
  /** Starts to run the uploaded file, completely or not at all. Throws notUploaded, importing. */
  import(account: string, database: string, file: { etag: string; filename: string }): Promise<Transfer>;
  /** Starts an export, or returns the running one with the same options. Throws exporting, tooManyTransfers. */
  export(account: string, database: string, options: ExportOptions): Promise<Transfer>;
  /** Waits up to ten seconds for a running transfer to end. Throws transferMissing. */
  follow(
    kind: Transfer["kind"],
    account: string,
    database: string,
    bookmark: string,
    signal?: AbortSignal,
  ): Promise<Transfer>;
  /** Resolves with the file of a finished export, available for an hour. */
  download(token: string): Promise<{ filename: string; file: ObjectHandle } | undefined>;
  /** Deletes files that were not downloaded. Call it periodically; a no-op in a process without database files. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export type Transfer = { kind: "import" | "export"; bookmark: string; filename: string } & (
  | { status: "active" }
  | { status: "error"; error: string }
  | { status: "complete"; token: string; imported?: Imported & { bookmark: string } }
);

interface D1TransfersOptions {
  db: Db;
  objects: ObjectStore;
  jobs: Jobs;
  events: Events;
  list: Pick<D1DatabaseList, "exists">;
  /** The local databases. If absent, another process owns the files and runs the jobs. */
  databases?: D1Databases;
  /**
   * Id of the folder of the database files, stable across restarts. Transfers started here then run only in the process
   * that has this folder.
   */
  home?: string;
  /** Delay until the transfers of a dead process resume. Default: 30 s. */
  leaseMs?: number;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
}

const JOB = "d1-transfer";
const ATTEMPTS = 5;
const HOUR_MS = 3600_000;
/** A transfer that has been active for this long has lost its job. */
const TRANSFER_TTL_MS = 24 * HOUR_MS;
const MAX_WAIT_MS = 10_000;
/** Maximum number of files per database that are waiting to be imported or downloaded. */
const MAX_FILES = 20;
const BATCH_SIZE = 100;

export function createD1Transfers({
  db,
  objects,
  jobs,
  events,
  list,
  databases,
  home,
  leaseMs = 30_000,
  clock = systemClock,
  ids = randomIds,
  log = silentLog,
}: D1TransfersOptions): D1Transfers {
  const table = createTransfersTable(db);
  const notifications = createTransferNotifications(events, clock);
  const bookmarkOf = createBookmarkGenerator(clock);
  const limits = databases?.limits ?? d1Limits;
  const ownJob = home === undefined ? JOB : `${JOB}-${home}`;
  const workers =
    databases === undefined
      ? []
      : [...new Set([JOB, ownJob])].map((kind) => jobs.work(kind, { concurrency: 4, leaseMs }, run));

  function newRow(
    account: string,
    database: string,
    kind: TransferRow["kind"],
    extraFields: Partial<TransferRow>,
  ): TransferRow {
    const now = clock.now();
    return {
      id: ids.hex(),
      account_id: account,
      database_id: database,
      kind,
      status: "waiting",
      token: ids.token(),
      filename: "",
      etag: null,
      object_key: null,
      size: null,
      options: null,
      result: null,
      error: null,
      job_id: null,
      created_at: now,
      expires_at: now + HOUR_MS,
      ...extraFields,
    };
  }

  async function begin(row: TransferRow): Promise<TransferRow> {
    const job = await jobs.enqueue(ownJob, { transfer: row.id }, { key: row.id, attempts: ATTEMPTS });
    await table.change(row.id, ["active"], { job_id: job });
    return { ...row, status: "active", job_id: job };
  }

  /**
   * Creates the job if the process died before doing so; marks the transfer as failed if its job failed permanently.
   */
  async function refreshRow(row: TransferRow): Promise<TransferRow> {
    if (row.status !== "active") return row;
    if (row.job_id === null) return begin(row);
    const job = await jobs.get(row.job_id);
    if (job !== undefined && job.status !== "failed") return row;
    await finish(row, { status: "error", error: d1Errors.reset().message });
    return (await table.find(row.id)) ?? row;
  }

  async function finish({ id }: TransferRow, change: TransferChange): Promise<void> {
    await table.change(id, ["active"], { ...change, expires_at: clock.now() + HOUR_MS });
    notifications.notify(id);
  }

  async function run(job: Job, { signal }: { signal: AbortSignal }): Promise<void> {
    const row = await table.find((job.payload as { transfer: string }).transfer);
    if (row?.status !== "active") return;
    try {
      await (row.kind === "import" ? runImport(row, signal) : runExport(row, job, signal));
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const isOurs = !(thrown instanceof UserError) || thrown.entry.http >= 500;
      if (isOurs && job.attempt < ATTEMPTS) throw thrown;
      if (isOurs) log.error({ err: thrown, database: row.database_id }, `d1: ${row.kind} failed`);
      await finish(row, {
        status: "error",
        error: thrown instanceof UserError ? thrown.message : d1Errors.reset().message,
      });
    }
    if (row.kind === "import") await removeFiles(row.id);
  }

  async function runImport(row: TransferRow, signal: AbortSignal): Promise<void> {
    const file = await objects.open(row.object_key!);
    if (!file) throw d1Errors.notUploaded({ filename: row.filename });
    const sql = { open: () => file.read(), size: file.size, mark: markOf(row) };
    const imported = await databases!.import(row.database_id, sql, {
      ready: () => list.exists(row.account_id, row.database_id),
      signal,
    });
    await finish(row, {
      status: "complete",
      result: JSON.stringify({ ...imported, bookmark: bookmarkOf(row.database_id) }),
    });
  }

  async function runExport(row: TransferRow, { attempt }: Job, signal: AbortSignal): Promise<void> {
    if (!(await list.exists(row.account_id, row.database_id))) throw d1Errors.databaseNotFound({ id: row.database_id });
    const key = `${folderOf(row.id)}${attempt}-${ids.hex()}`;
    const { size } = await objects.put(
      key,
      databases!.export(row.database_id, JSON.parse(row.options!) as ExportOptions, signal),
    );
    await finish(row, { status: "complete", object_key: key, size });
  }

  async function removeFiles(id: string): Promise<void> {
    for await (const { key } of objects.list(folderOf(id))) await objects.delete([key]);
  }

  async function removeOne(row: TransferRow): Promise<void> {
    await removeFiles(row.id);
    await table.forget(row.id);
  }

  return {
    maxBytes: limits.importBytes,

    async announce(account, database, etag) {
      if (!/^[0-9a-f]{32}$/i.test(etag)) throw d1Errors.badEtag();
      const md5 = etag.toLowerCase();
      const existingUpload = await table.findUpload(database, md5, ["waiting", "uploaded"]);
      if (
        existingUpload &&
        (await table.change(existingUpload.id, ["waiting", "uploaded"], { expires_at: clock.now() + HOUR_MS })) === true
      )
        return existingUpload;
      const row = newRow(account, database, "import", { etag: md5, filename: `${database}-${md5}.sql` });
      if (!(await table.insert(row, MAX_FILES, ["waiting", "uploaded"])))
        throw d1Errors.tooManyTransfers({ limit: MAX_FILES });
      return row;
    },

    async upload(token, body) {
      const row = await table.findByToken(token);
      if (
        row?.kind !== "import" ||
        (row.status !== "waiting" && row.status !== "uploaded") ||
        row.expires_at < clock.now()
      )
        return undefined;
      const key = `${folderOf(row.id)}${ids.hex()}`;
      const { size, digests } = await objects
        .put(key, body, { maxBytes: limits.importBytes, digests: ["md5"] })
        .catch((thrown: unknown) => {
          throw thrown instanceof UserError && thrown.kind === "tooLarge"
            ? d1Errors.fileTooLarge({ importBytes: limits.importBytes }, { cause: thrown })
            : thrown;
        });
      const found = digests.md5!;
      const isAccepted =
        found === row.etag &&
        (await table.change(row.id, ["waiting", "uploaded"], {
          status: "uploaded",
          object_key: key,
          size,
          expires_at: clock.now() + HOUR_MS,
        }));
      if (isAccepted !== true) await objects.delete([key]);
      else if (row.object_key !== null) await objects.delete([row.object_key]);
      if (found !== row.etag) throw d1Errors.otherContent({ found, announced: row.etag });
      return { etag: found };
    },

    async import(account, database, { etag, filename }) {
      const md5 = etag.toLowerCase();
      const row = await table.findUpload(database, md5, ["uploaded", "active"]);
      if (row?.filename !== filename || row.account_id !== account) throw d1Errors.notUploaded({ filename });
      if (row.status === "active") return toTransfer(await refreshRow(row));
      const outcome = await table.change(row.id, ["uploaded"], {
        status: "active",
        expires_at: clock.now() + TRANSFER_TTL_MS,
      });
      if (outcome === "other active") {
        const other = await table.findActive(database, "import");
        if (other) await refreshRow(other);
        throw d1Errors.importing();
      }
      if (outcome) return toTransfer(await begin(row));
      // Another caller has started it in the meantime.
      const now = await table.find(row.id);
      if (now === undefined) throw d1Errors.notUploaded({ filename });
      return toTransfer(await refreshRow(now));
    },

    async export(account, database, options) {
      const row = newRow(account, database, "export", {
        status: "active",
        options: JSON.stringify(options),
        expires_at: clock.now() + TRANSFER_TTL_MS,
      });
      row.filename = `${database}-${bookmarkAt(row)}.sql`;
      if (await table.insert(row, MAX_FILES, ["active", "complete"])) return toTransfer(await begin(row));
      const activeExport = await table.findActive(database, "export");
      if (!activeExport) throw d1Errors.tooManyTransfers({ limit: MAX_FILES });
      if (activeExport.options !== row.options) throw d1Errors.exporting();
      return toTransfer(await refreshRow(activeExport));
    },

    async follow(kind, account, database, bookmark, signal) {
      const id = /^(?:[0-9a-f]{8}-){3}([0-9a-f]{32})$/.exec(bookmark)?.[1];
      const until = clock.now() + MAX_WAIT_MS;
      for (;;) {
        const change = notifications.waitForChange(id ?? "", until - clock.now(), signal);
        try {
          const found = id === undefined ? undefined : await table.find(id);
          if (found?.kind !== kind || found.account_id !== account || found.database_id !== database)
            throw d1Errors.transferMissing({ kind, bookmark });
          const row = await refreshRow(found);
          if (row.status !== "active" || clock.now() >= until || signal?.aborted) return toTransfer(row);
          await change.changed;
        } finally {
          change.end();
        }
      }
    },

    async download(token) {
      const row = await table.findByToken(token);
      if (row?.kind !== "export" || row.status !== "complete" || row.expires_at < clock.now()) return undefined;
      const file = await objects.open(row.object_key!);
      return file && { filename: row.filename, file };
    },

    async sweep() {
      if (databases === undefined) return;
      const now = clock.now();
      for (const row of await table.stale(now, BATCH_SIZE))
        await finish(row, { status: "error", error: d1Errors.reset().message });
      for (let rows: TransferRow[]; (rows = await table.expired(now, BATCH_SIZE)).length > 0;) {
        for (const row of rows) await removeOne(row);
      }
    },

    async close() {
      notifications.close();
      await Promise.all(workers.map((worker) => worker.stop({ graceMs: 0 }))).catch((err: unknown) =>
        log.warn({ reason: messageOf(err) }, "d1: transfers did not stop in time"),
      );
    },
  };
}

/** Returns the transfer's id as clients pass it back: in the format of a bookmark, whose last group is the id. */
const bookmarkAt = ({ id, created_at }: TransferRow) => {
  const hex = (created_at * 1000).toString(16).padStart(16, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-00000000-${id}`;
};

/** Returns the mark that the import writes to the database file: never 0, the mark of a new database. */
const markOf = ({ id }: TransferRow) => Number.parseInt(id.slice(0, 8), 16) & 0x7fff_ffff || 1;

const folderOf = (id: string) => `d1-transfers/${id}/`;

function toTransfer(row: TransferRow): Transfer {
  const { kind, filename, token, status } = row;
  const base = { kind, filename, bookmark: bookmarkAt(row) };
  if (status === "error") return { ...base, status, error: row.error! };
  if (status !== "complete") return { ...base, status: "active" };
  return {
    ...base,
    status,
    token,
    ...(row.result !== null && { imported: JSON.parse(row.result) as Imported & { bookmark: string } }),
  };
}
