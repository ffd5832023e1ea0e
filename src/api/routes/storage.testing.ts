import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { migrate, openFsObjects, openSqlite, type ObjectStore } from "../../store/index.ts";
import { createKvService, createR2Service, kvMigrations, r2Migrations } from "../../workers/index.ts";
import { startApi, TEST_TOKEN } from "../api.testing.ts";
import { kvRoutes } from "./kv/routes.ts";
import { r2Routes } from "./r2/routes.ts";

interface RawAnswer {
  status: number;
  headers: IncomingMessage["headers"];
  bytes: Buffer;
  text: string;
}

/**
 * Serves the KV and R2 routes over HTTP, with a separate database and object store. `wrap` intercepts access to the
 * objects.
 */
export async function startStorageApi(
  scope: { after(end: () => Promise<void>): void },
  { wrap = (objects: ObjectStore) => objects } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "storage-api-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...kvMigrations, ...r2Migrations]);
  const stored = wrap(await openFsObjects({ folder: join(folder, "objects") }));
  const clock = createManualClock(Date.now());
  const kv = createKvService({ db, objects: stored, clock });
  const r2 = createR2Service({ db, objects: stored, clock });
  scope.after(async () => {
    await kv.namespaces.close();
    await Promise.all([kv.store.close(), r2.buckets.close()]);
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const api = await startApi(scope, {
    routes: [...kvRoutes({ ...kv, clock }), ...r2Routes({ ...r2, clock })],
    clock,
    log: silentLog,
  });

  /** Sends a request with its path unchanged: fetch would normalize it. */
  async function raw(
    method: string,
    path: string,
    { body, headers = {} }: { body?: string | Uint8Array; headers?: Record<string, string> } = {},
  ): Promise<RawAnswer> {
    const { hostname, port, pathname } = new URL(api.url);
    const sent = request({
      hostname,
      port,
      method,
      path: pathname + path,
      agent: false,
      headers: {
        authorization: `Bearer ${TEST_TOKEN}`,
        ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
        ...headers,
      },
    });
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const bytes = Buffer.concat(await response.toArray());
    return { status: response.statusCode!, headers: response.headers, bytes, text: bytes.toString() };
  }

  return { ...api, raw, kv, r2, clock, stored };
}
