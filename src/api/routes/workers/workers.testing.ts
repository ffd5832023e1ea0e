import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomIds, silentLog, systemClock } from "../../../kernel/index.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import {
  createLiveWorkers,
  createRuntime,
  createScripts,
  scriptsMigrations,
  type BindingTargets,
  type RoutingZone,
  type Scripts,
} from "../../../workers/index.ts";
import { devEgress } from "../../../workers/local/index.ts";
import { routingMigrations, createWorkerRouting } from "../../../workers/routing/index.ts";
import { openObjectStorage, createScriptObjects, createObjectNamespaces } from "../../../workers/objects/index.ts";
import { assetMigrations, createAssets } from "../../../workers/assets/index.ts";
import { startApi, TEST_ACCOUNT, type TestResponse, type TestApi, type TestApiOptions } from "../../api.testing.ts";
import { workerRoutes } from "./index.ts";

export const WORKERS = `/accounts/${TEST_ACCOUNT}/workers`;
export const WRANGLER = { "user-agent": "wrangler/4.164.0" };

/** Binding targets in these tests: all names exist except those that contain `missing`. */
const targets: BindingTargets = {
  kvNamespace: async (_account, id) => id !== "missing",
  r2Bucket: async (_account, name) => name !== "missing",
  d1Database: async (_account, id) => id !== "missing",
  worker: async (_account, name) => name !== "missing",
  queue: async (_account, name) => name !== "missing",
  storedSecret: async (_account, _store, name) => name !== "missing",
};

/** The only zone in these tests. */
export const ZONE: RoutingZone = { id: "b".repeat(32), account: TEST_ACCOUNT, name: "example.com" };

export interface WorkersApi extends TestApi {
  scripts: Scripts;
  /** Sends a request that must succeed, and returns its result. */
  ok(...request: Parameters<TestApi["call"]>): Promise<TestResponse["body"]>;
  /** Sends a request that must fail, and returns its status and code. */
  refused(...request: Parameters<TestApi["call"]>): Promise<[status: number, code: number, message: string]>;
}

/** Serves the routes with a real database and a real runtime. */
export async function startWorkersApi(
  scope: { after(end: () => Promise<void>): void },
  { caller, hasApiHost = true }: Pick<TestApiOptions, "caller"> & { hasApiHost?: boolean } = {},
): Promise<WorkersApi> {
  const folder = mkdtempSync(join(tmpdir(), "worker-routes-"));
  scope.after(async () => rmSync(folder, { recursive: true, force: true }));
  const db = await openSqlite({ path: join(folder, "test.db") });
  scope.after(() => db.close());
  await migrate(db, [...scriptsMigrations, ...assetMigrations, ...routingMigrations]);
  const objects = await openWriteOnceObjects({ folder: join(folder, "objects") });
  const secrets = createSecrets({ keys: [randomBytes(32)] });
  const events = createLocalEvents({ log: silentLog });
  scope.after(() => events.close());
  const storage = openObjectStorage(folder, { clock: systemClock, log: silentLog });
  const noService = { handle: () => Promise.reject(new Error("no storage in this test")) };
  const runtime = createRuntime({
    services: {
      kv: noService,
      r2: noService,
      d1: noService,
      queue: noService,
      stream: noService,
      rateLimit: noService,
      ai: { ...noService, isOffered: true },
      secretsStore: noService,
      service: { ...noService, upgrade() {}, connect() {} },
      analytics: noService,
      sendEmail: noService,
    },
    egress: devEgress(),
    objects: storage,
    ids: randomIds,
    log: silentLog,
  });
  scope.after(() => runtime.close());
  const durableObjects = createScriptObjects({ db, ids: randomIds, log: silentLog, storage });
  const live = createLiveWorkers({ db, objects, secrets, events, runtime, durableObjects });
  scope.after(() => live.close());
  const scripts = createScripts({
    db,
    objects,
    secrets,
    events,
    live,
    targets,
    durableObjects,
    accountName: async () => "Acme",
  });
  const assets = createAssets({ db, objects, secrets, clock: systemClock, ids: randomIds });
  const routing = createWorkerRouting({
    db,
    events,
    zones: {
      find: async (id) => (id === ZONE.id ? ZONE : undefined),
      findEnclosing: async (host) => (host.endsWith(ZONE.name) ? ZONE : undefined),
      conflicts: async (_zone, hosts) => hosts.filter((host) => host.startsWith("used.")),
      async publish() {},
    },
    owners: { find: () => TEST_ACCOUNT },
    zoneDeletedTopic: "zone-deleted",
    hasScript: async (account, name) => (await scripts.get(account, name)) !== undefined,
    schemeOf: () => "http",
    hasApiHost,
    ids: randomIds,
    log: silentLog,
  });
  scope.after(() => routing.close());
  const objectNamespaces = createObjectNamespaces({ db, storage });
  const api = await startApi(scope, {
    ...(caller !== undefined && { caller }),
    routes: workerRoutes({
      scripts,
      assets,
      routing,
      objectNamespaces,
      urlOf: (label, script) => `http://${script}.${label}.workers.test`,
    }),
  });

  return {
    ...api,
    scripts,
    async ok(...request) {
      const { status, text, body } = await api.call(...request);
      if (status >= 300) throw new Error(`${request[0]} ${request[1]} returned ${status}: ${text}`);
      return body.result;
    },
    async refused(...request) {
      const { status, text, body } = await api.call(...request);
      if (status < 400) throw new Error(`${request[0]} ${request[1]} returned ${status}: ${text}`);
      return [status, body.errors[0].code, body.errors[0].message];
    },
  };
}

export const CODE = `export default { async fetch() { return new Response("one"); }, async email() {} };\n`;

/** The module of a minimal tail worker. */
export const TAIL_WORKER: Record<string, [string, string]> = {
  "index.js": ["export default { tail() {} };", "application/javascript+module"],
};

/** Returns an upload form in wrangler's format: the file name of each part is its name. */
export function formOf(
  metadata: unknown,
  parts: Record<string, [content: string | Uint8Array<ArrayBuffer>, type: string]> = {
    "index.js": [CODE, "application/javascript+module"],
  },
): FormData {
  const form = new FormData();
  if (metadata !== undefined) form.set("metadata", typeof metadata === "string" ? metadata : JSON.stringify(metadata));
  for (const [name, [content, type]] of Object.entries(parts)) form.set(name, new File([content], name, { type }));
  return form;
}

export const metadataOf = (more: object = {}) => ({
  main_module: "index.js",
  bindings: [],
  compatibility_date: "2026-10-01",
  compatibility_flags: ["nodejs_compat"],
  ...more,
});
