import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { createManualClock, silentLog, type Clock } from "../../kernel/index.ts";
import {
  createLocalEvents,
  createSecrets,
  type Db,
  type Events,
  type ObjectStore,
  type Secrets,
} from "../../store/index.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";
import { workerErrors } from "../errors.ts";
import { createLiveWorkers, type LiveOptions } from "../live/live.ts";
import type { ScriptObjectsStore } from "../objects/script-objects.ts";
import type { WorkerRuntime } from "../runtime/port.ts";
import type { Author, BindingTargets, Upload } from "./port.ts";
import type { WorkerScript } from "./script.ts";
import { createScripts, type ScriptStore, type ScriptsOptions } from "./scripts.ts";

/** Helpers for the tests of deploying: uploads from source text, and a runtime that runs no code. */

export const author: Author = { id: "f".repeat(32), email: "dev@example.com", source: "api" };

export const uploadOf = (source: string, more: Partial<Upload> = {}): Upload => ({
  format: "modules",
  main: "index.js",
  modules: [{ name: "index.js", kind: "esm", contentType: "application/javascript+module", content: source }],
  bindings: [],
  keepBindings: [],
  inheritStrictly: false,
  compatibilityFlags: [],
  ...more,
});

export const everyTarget: BindingTargets = {
  kvNamespace: async () => true,
  r2Bucket: async () => true,
  d1Database: async () => true,
  worker: async () => true,
  queue: async () => true,
  storedSecret: async () => true,
};

/**
 * Behaves as specified by the code text: `throws` does not start, `email` and `fetch` are handlers, `class A` is
 * exported. A message is rejected with the version's id.
 */
export function createFakeRuntime() {
  const known = new Map<string, WorkerScript>();
  const state = {
    tried: 0,
    removed: [] as string[],
    runs: [] as { script: string; cron: string; at: number }[],
    beforeStart: async () => {},
  };
  const codeOf = (script: WorkerScript) => String(script.modules.find(({ name }) => name === script.main)?.content);
  const missing = (name: string) => ({
    outcome: "exception" as const,
    exception: { name: "Error", message: `no ${name}` },
  });
  const runtime: WorkerRuntime = {
    async deploy(script, { start = true } = {}) {
      if (start) {
        state.tried++;
        await state.beforeStart();
        if (codeOf(script).includes("throws"))
          throw workerErrors.scriptRefused({ script: script.name, reason: "it throws" });
      }
      known.set(script.key!, script);
    },
    entrypoint: (name) => Promise.reject(workerErrors.scriptMissing({ script: name })),
    async remove(name) {
      if (known.delete(name)) state.removed.push(name);
    },
    async email(name) {
      const script = known.get(name);
      return script === undefined
        ? { ...missing(name), ended: Promise.resolve() }
        : { outcome: "ok", rejected: script.version, ended: Promise.resolve() };
    },
    fetch: async (name) => missing(name),
    async scheduled(name, { cron, scheduledTime }) {
      const script = known.get(name);
      if (script === undefined) return missing(name);
      state.runs.push({ script: script.name, cron, at: scheduledTime.getTime() });
      return { outcome: "ok" };
    },
    queue: async (name) => ({ ...missing(name), started: false, ackAll: false, acks: [], retries: [] }),
    tail: async (name) => missing(name),
    async readExports(name) {
      const script = known.get(name);
      if (script === undefined) throw workerErrors.scriptMissing({ script: name });
      const code = codeOf(script);
      const classes = [...code.matchAll(/class (\w+)/g)].map(([, name]) => name!);
      return { handlers: ["email", "fetch", "tail"].filter((handler) => code.includes(handler)), classes };
    },
    claimObjects: () => {},
    upgrade: () => {},
    onInvocation: () => () => {},
    onUsage: () => () => {},
    close: async () => {},
  };
  return { runtime, known, state };
}

/** Keys of the stored modules. */
export async function storedModules(objects: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list("modules/")) keys.push(key);
  return keys;
}

export interface ScriptsFixture {
  db: Db;
  objects: ObjectStore;
  secrets: Secrets;
  events: Events;
  clock: Clock & { advance(ms: number): void };
  fake: ReturnType<typeof createFakeRuntime>;
  live: ReturnType<typeof createLiveWorkers>;
  scripts: ScriptStore;
  /** A second instance on the same database and objects. */
  another(db: Db): Pick<ScriptsFixture, "fake" | "live" | "scripts">;
}

/** Opens all components from the database up and closes them when `scope` ends. */
export async function openScriptsFixture(
  scope: { after(end: () => Promise<void>): void },
  db: Db,
  options: {
    limits?: ScriptsOptions["limits"];
    targets?: BindingTargets;
    live?: Partial<LiveOptions>;
    objects?: (objects: ObjectStore) => ObjectStore;
    durableObjects?: (db: Db) => ScriptObjectsStore;
    references?: ScriptsOptions["references"];
  } = {},
): Promise<ScriptsFixture> {
  const folder = mkdtempSync(join(tmpdir(), "scripts-"));
  scope.after(async () => rmSync(folder, { recursive: true, force: true }));
  const stored = await openWriteOnceObjects({ folder });
  const objects = options.objects?.(stored) ?? stored;
  const secrets = createSecrets({ keys: [randomBytes(32)] });
  const clock = createManualClock(Date.parse("2026-10-20T10:00:30Z"));
  const events = createLocalEvents({ log: silentLog });
  scope.after(() => events.close());
  const build = (from: Db) => {
    const objectOptions = options.durableObjects && { durableObjects: options.durableObjects(from) };
    const fake = createFakeRuntime();
    const live = createLiveWorkers({
      db: from,
      objects,
      secrets,
      events,
      runtime: fake.runtime,
      clock,
      ...objectOptions,
      ...options.live,
    });
    scope.after(() => live.close());
    const scripts = createScripts({
      db: from,
      objects,
      secrets,
      events,
      live,
      targets: options.targets ?? everyTarget,
      clock,
      ...objectOptions,
      ...(options.references && { references: options.references }),
      ...(options.limits && { limits: options.limits }),
    });
    return { fake, live, scripts };
  };
  return { db, objects, secrets, events, clock, ...build(db), another: build };
}
