import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { scriptOf } from "../runtime/runtime.testing.ts";
import { createFakeRuntime } from "../scripts/scripts.testing.ts";
import { DEFAULT_LIVE_LIMITS, type LiveLimits } from "./limits.ts";
import { createLoadedVersions } from "./loaded-versions.ts";

const SCRIPT = "s".repeat(32);
const version = (versionId: string, scriptId = SCRIPT) => ({ key: `a/${scriptId}/${versionId}`, versionId, scriptId });
const keysOf = (known: Map<string, unknown>) => [...known.keys()].map((key) => key.split("/")[2]).join(" ");

function start(limits: Partial<LiveLimits> = {}, size = 10) {
  const fake = createFakeRuntime();
  const clock = createManualClock();
  const loads: string[] = [];
  const claims: string[] = [];
  /** Loading a version waits for its promise in this map. */
  const delays = new Map<string, Promise<void>>();
  const load = async (id: string) => {
    loads.push(id);
    await delays.get(id);
    if (id === "broken") throw new Error("broken");
    return { worker: scriptOf("", { version: id, key: version(id).key }), size };
  };
  const loadedVersions = createLoadedVersions({
    runtime: { ...fake.runtime, claimObjects: (key) => void claims.push(key.split("/")[2]!) },
    load,
    limits: { ...DEFAULT_LIVE_LIMITS, ...limits },
    clock,
    log: silentLog,
  });
  const use = async (id: string) => {
    const loadedVersion = loadedVersions.acquire(version(id));
    await loadedVersion.ready;
    loadedVersions.release(loadedVersion);
  };
  return { loadedVersions, clock, loads, claims, delays, use, known: fake.known };
}

test("a version is loaded once for all concurrent users", async () => {
  const { loads, use, known } = start();
  await Promise.all([use("1"), use("1"), use("1"), use("2")]);
  assert.deepEqual([loads, keysOf(known)], [["1", "2"], "1 2"]);
});

test("above the limits, the least recently used version is evicted, but never one in use", async () => {
  const { loadedVersions, use, known } = start({ versions: 2 });
  const held = loadedVersions.acquire(version("1"));
  await held.ready;
  for (const id of ["2", "3", "2", "4"]) await use(id);
  assert.equal(keysOf(known), "1 4");
  loadedVersions.release(held);
  await use("5");
  assert.equal(keysOf(known), "4 5");

  const heavy = start({ versionBytes: 25 }, 10);
  for (const id of ["1", "2", "3"]) await heavy.use(id);
  assert.equal(keysOf(heavy.known), "2 3");
});

test("versions that have been idle for long are unloaded, except those with open connections", async () => {
  const { loadedVersions, clock, use, known } = start({ restMs: 1000 });
  await use("1");
  const close = loadedVersions.releaseToConnection(loadedVersions.acquire(version("2")));
  clock.advance(600);
  await use("3");
  clock.advance(600);
  loadedVersions.unloadIdle();
  assert.equal(keysOf(known), "2 3");
  close();
  close();
  clock.advance(1000);
  loadedVersions.unloadIdle();
  assert.equal(known.size, 0);
});

test("a retired version is unloaded after its last user, and loaded again when needed", async () => {
  const { loadedVersions, use, known } = start();
  const held = loadedVersions.acquire(version("1"));
  await held.ready;
  await use("2");
  await use("3");
  loadedVersions.retire(SCRIPT, new Set([version("3").key]));
  assert.equal(keysOf(known), "1 3");
  const late = loadedVersions.acquire(version("1"));
  loadedVersions.release(held);
  assert.equal(keysOf(known), "1 3");
  loadedVersions.release(late);
  assert.equal(keysOf(known), "3");
  await use("1");
  assert.equal(keysOf(known), "3 1");
  loadedVersions.retire("another script", new Set());
  assert.equal(keysOf(known), "3 1");
});

test("Durable Objects belong to the deployed version, even if an older one is loaded late", async () => {
  const { loadedVersions, use, claims, delays } = start();
  const { promise, resolve } = Promise.withResolvers<void>();
  delays.set("1", promise);
  const late = loadedVersions.acquire(version("1"));
  await use("2");
  loadedVersions.retire(SCRIPT, new Set([version("2").key]));
  assert.deepEqual(claims, ["2"]);
  resolve();
  await late.ready;
  assert.deepEqual(claims, ["2", "2"]);
});

test("a retired version with an open connection remains for a grace period", async (t: TestContext) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { loadedVersions, known } = start();
  const loadedVersion = loadedVersions.acquire(version("1"));
  await loadedVersion.ready;
  loadedVersions.releaseToConnection(loadedVersion);
  loadedVersions.retire(SCRIPT, new Set());
  t.mock.timers.tick(29_000);
  assert.equal(known.size, 1);
  t.mock.timers.tick(1000);
  assert.equal(known.size, 0);
});

test("a version being tested is not retired, and is unloaded once released", async () => {
  const { loadedVersions, known } = start();
  const trial = await loadedVersions.startTrial(scriptOf("", { version: "1", key: version("1").key }), SCRIPT);
  loadedVersions.retire(SCRIPT, new Set());
  assert.equal(keysOf(known), "1");
  trial.settle(true);
  assert.equal(keysOf(known), "1");
  const second = await loadedVersions.startTrial(scriptOf("", { version: "2", key: version("2").key }), SCRIPT);
  second.settle(false);
  assert.equal(keysOf(known), "1");
  await assert.rejects(loadedVersions.startTrial(scriptOf("throws", { version: "3", key: version("3").key }), SCRIPT), {
    kind: "scriptRefused",
  });
  assert.deepEqual(loadedVersions.scripts(), [SCRIPT]);
});

test("a version that failed to load is retried by the next user", async () => {
  const { use, loads, known } = start();
  await assert.rejects(use("broken"), /broken/);
  await assert.rejects(use("broken"), /broken/);
  assert.deepEqual([loads, known.size], [["broken", "broken"], 0]);
});
