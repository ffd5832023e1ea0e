import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomIds, silentLog, systemClock } from "../../../kernel/index.ts";
import { createJobs, createLocalEvents, jobsMigrations, migrate, openSqlite } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import {
  type D1Limits,
  d1Migrations,
  createD1Transfers,
  createD1Databases,
  createD1DatabaseList,
} from "../../../workers/bindings/d1/index.ts";
import { startApi, type TestApiOptions } from "../../api.testing.ts";
import { createPlatformHttp } from "../../platform-http.ts";
import { createD1TransferHttp, d1Routes, D1_TRANSFERS } from "./routes.ts";

export interface D1ApiOptions extends Partial<TestApiOptions> {
  limits?: Partial<D1Limits>;
  /** False: simulates the API of a process without database files. */
  files?: boolean;
  maxDatabases?: number;
}

/** Serves the D1 routes and transfer URLs over HTTP, with a separate data folder. */
export async function startD1Api(
  scope: { after(end: () => Promise<void>): void },
  { limits = {}, files = true, maxDatabases = 50, routes = [], ...more }: D1ApiOptions = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "d1-api-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...d1Migrations]);
  const objects = await openWriteOnceObjects({ folder: join(folder, "objects") });
  const events = createLocalEvents({ log: silentLog });
  const jobs = createJobs({ db, clock: systemClock, ids: randomIds, events, log: silentLog });
  const databases = files ? createD1Databases({ directory: join(folder, "d1"), processes: 1, limits }) : undefined;
  const list = createD1DatabaseList({ db, maxDatabases, ...(databases && { databases }) });
  const transfers = createD1Transfers({ db, objects, jobs, events, list, ...(databases && { databases }) });
  const port = createPlatformHttp({
    hosts: { domain: "localhost" },
    pages: {},
    prefixes: { [D1_TRANSFERS]: createD1TransferHttp({ transfers, log: silentLog }) },
    log: silentLog,
    graceMs: 0,
  });
  const { url: origin } = await port.listen({ host: "127.0.0.1", port: 0 });
  scope.after(async () => {
    await port.close();
    await transfers.close();
    await databases?.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const api = await startApi(scope, {
    routes: [...d1Routes({ list, transfers, origin: () => origin, ...(databases && { databases }) }), ...routes],
    ...more,
  });
  return { ...api, origin, db, objects, list, transfers, databases };
}
