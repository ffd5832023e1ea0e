import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Caller } from "../../accounts/index.ts";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { migrate, openSqlite, type ObjectStore } from "../../store/index.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";
import { type Queue } from "../../workers/index.ts";
import { createBucketSettings, bucketSettingsMigrations } from "../../workers/bucket-settings/index.ts";
import { r2Migrations, createR2Service } from "../../workers/bindings/r2/index.ts";
import { kvMigrations, createKvService } from "../../workers/bindings/kv/index.ts";
import type { Zone } from "../../zones/index.ts";
import { startApi, TEST_ACCOUNT, TEST_TOKEN } from "../api.testing.ts";
import { kvRoutes } from "./kv/routes.ts";
import { r2Routes } from "./r2/routes.ts";

/** The only queue and the only zone that exist for the R2 routes. */
export const QUEUE: Queue = {
  id: "0123456789abcdef0123456789abcdef",
  account: TEST_ACCOUNT,
  name: "events",
  createdAt: new Date(0),
  modifiedAt: new Date(0),
  purgedAt: undefined,
  consumer: undefined,
  deliveryDelay: 0,
  deliveryPaused: false,
  retention: 3600,
  jurisdiction: undefined,
};
export const ZONE = { id: "fedcba9876543210fedcba9876543210", account: TEST_ACCOUNT, name: "example.com" } as Zone;
/** A zone of another account below `ZONE`. */
const OTHERS_ZONE = {
  ...ZONE,
  id: "0123456789abcdeffedcba9876543210",
  account: "f".repeat(32),
  name: "shop.example.com",
};

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
  {
    wrap = (objects: ObjectStore) => objects,
    caller,
  }: { wrap?(objects: ObjectStore): ObjectStore; caller?: Caller } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "storage-api-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...kvMigrations, ...r2Migrations, ...bucketSettingsMigrations]);
  const stored = wrap(await openWriteOnceObjects({ folder: join(folder, "objects") }));
  const clock = createManualClock(Date.now());
  const kv = createKvService({ db, objects: stored, clock });
  const settings = createBucketSettings({ db, clock, ids: randomIds });
  const r2 = { ...createR2Service({ db, objects: stored, clock }), settings };
  scope.after(async () => {
    await kv.namespaces.close();
    await Promise.all([kv.store.close(), r2.buckets.close()]);
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const api = await startApi(scope, {
    routes: [
      ...kvRoutes({ ...kv, clock }),
      ...r2Routes({
        ...r2,
        queues: { get: async (account, id) => (id === QUEUE.id ? { ...QUEUE, account } : undefined) },
        zones: {
          find: async (id) => (id === ZONE.id ? ZONE : undefined),
          byName: async (name) =>
            [OTHERS_ZONE, ZONE].find((zone) => name === zone.name || name.endsWith(`.${zone.name}`)),
        },
        publicDomain: "public.test",
        isReserved: (host) => host === "api.example.com",
        clock,
      }),
    ],
    clock,
    log: silentLog,
    ...(caller && { caller }),
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
