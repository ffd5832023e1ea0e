import type { Repetition } from "../../kernel/periodic.ts";
import { localSweeps } from "../../store/index.ts";
import { createCopies } from "./copies.ts";
import { createUploadCreator, type CreationDeps } from "./creation.ts";
import { createForms } from "./forms.ts";
import { ACTIVE_UPLOAD_MS, createUploadHttp, tusHeaders } from "./http.ts";
import type { UploadsDeps } from "./deps.ts";
import type { Uploads } from "./port.ts";
import { createSources } from "./sources.ts";
import { createUploadLock } from "./upload-lock.ts";
import { createTus } from "./tus.ts";
import { createUploadsTable } from "./uploads-table.ts";

/** A client that lost the last response may retry within this time, and is informed that everything is stored. */
const FINISHED_RETENTION_MS = 2 * 86_400_000;
/** Longer than the interval between two row updates of a copy, and between two attempts. */
const STALE_COPY_MS = 10 * 60_000;
const SWEEP_MS = 10 * 60_000;

/** Creates all upload methods: forms, TUS, one-time URLs and copies from a URL. */
export function createUploads(uploadsDeps: UploadsDeps): Uploads {
  const { db, events, sweeps = localSweeps, ids, clock, log, videos } = uploadsDeps;
  const table = createUploadsTable(db);
  const sources = createSources(uploadsDeps, table);
  const lock = createUploadLock({ events, process: ids.token(8) });
  const deps: CreationDeps = { ...uploadsDeps, table, sources, lock };
  const creations = createUploadCreator(deps);
  let repetition: Repetition | undefined;
  const forms = createForms(deps);
  const copies = createCopies(deps);
  const http = createUploadHttp({
    ...deps,
    creations,
    forms,
    tus: createTus({ table, sources, lock, videos, log, settings: uploadsDeps.settings }),
  });

  return {
    http,
    tus: creations.tus,
    tusHeaders: tusHeaders(uploadsDeps.settings),
    direct: creations.direct,
    form: forms.form,
    bytes: forms.bytes,
    copy: copies.copy,
    start() {
      copies.start();
      repetition ??= sweeps.every(SWEEP_MS, () => recover().then(sweep), { name: "stream: sweep of uploads", log });
      void repetition.run();
    },
    async close() {
      await repetition?.stop();
      lock.close();
      await copies.close();
    },
    async isArriving(uid) {
      if (lock.has(uid)) return true;
      const row = await table.find(uid);
      return row !== undefined && row.finished_at === null && clock.now() - row.touched_at < ACTIVE_UPLOAD_MS;
    },
    async onVideoDeleted(uid) {
      await sources.discard((await table.find(uid)) ?? { uid, source_key: null });
      await table.remove(uid);
    },
    recover,
    sweep,
  };

  async function recover(): Promise<void> {
    for await (const row of table.unfinished()) {
      if (row.kind === "copy") {
        // A copy that is running, or waiting for its next attempt, has a job.
        if (clock.now() - row.touched_at > STALE_COPY_MS) await copies.enqueue(row.uid);
      } else if (row.length !== null && !lock.has(row.uid) && (await sources.offset(row)) === row.length)
        await finishInterrupted(row.uid);
    }
  }

  async function sweep(): Promise<void> {
    while (await table.deleteFinished(clock.now() - FINISHED_RETENTION_MS));
  }

  /** All data had arrived, but the video was not announced. */
  async function finishInterrupted(uid: string): Promise<void> {
    const end = await lock.acquire(uid, { waitMs: 0 });
    if (end === undefined) return;
    try {
      const row = await table.find(uid);
      if (row?.length != null && row.finished_at === null && (await sources.offset(row)) === row.length)
        await sources.finish(row, row.length);
    } catch (err) {
      log.warn({ err, video: uid }, "stream: failed to process a complete upload, will retry");
    } finally {
      end();
    }
  }
}
