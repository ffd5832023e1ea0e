import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createLifecycle, silentLog, systemClock, UserError } from "../kernel/index.ts";
import { largestLimits, openDevWorkers } from "./workers.ts";

/** Writes one configuration file per entry and opens them. */
async function open(t: TestContext, configs: Record<string, Record<string, unknown>>) {
  const cwd = mkdtempSync(join(tmpdir(), "reelpost-dev-workers-"));
  const lifecycle = createLifecycle({ log: silentLog });
  t.after(async () => {
    await lifecycle.stop();
    rmSync(cwd, { recursive: true, force: true });
  });
  writeFileSync(join(cwd, "index.js"), "export default { email() {} };");
  for (const [file, config] of Object.entries(configs))
    writeFileSync(join(cwd, file), JSON.stringify({ main: "index.js", compatibility_date: "2026-01-01", ...config }));
  return openDevWorkers(
    { cwd, configs: Object.keys(configs), environment: undefined, report: () => {}, watch: false },
    { clock: systemClock, lifecycle },
  );
}

describe("workers of several configurations", () => {
  it("are selected by name and by address; the first one is the default", async (t) => {
    const workers = await open(t, {
      "a.json": { name: "inbox", reelpost: { limits: { cpuMs: 100 } } },
      "b.json": { name: "shop", addresses: ["*@shop.example"], vars: { A: "b" } },
    });
    assert.deepEqual(workers.names, ["inbox", "shop"]);
    assert.equal(workers.defaultProject.name, "inbox");
    assert.equal(workers.workerFor("orders@shop.example"), "shop");
    assert.equal(workers.workerFor("anyone@example.org"), "inbox");
    assert.deepEqual(
      ["inbox", "shop"].map((name) => workers.claims(name, "orders@shop.example")),
      [false, true],
    );
    assert.deepEqual(
      workers.describe().map(({ name, config, bindings }) => [name, config, bindings.length]),
      [
        ["inbox", "a.json", 0],
        ["shop", "b.json", 1],
      ],
    );
  });

  it("may send only to the addresses that their own configuration lists", async (t) => {
    const workers = await open(t, {
      "a.json": { name: "inbox", reelpost: { verified_addresses: ["ada@example.org"] } },
      "b.json": { name: "shop" },
    });
    const allowed = (script: string) =>
      ["ada@example.org", "eve@example.org"].filter((address) => workers.isVerified(address, { script }));
    assert.deepEqual(
      [allowed("inbox"), allowed("shop")],
      [["ada@example.org"], ["ada@example.org", "eve@example.org"]],
    );
  });

  it("are started and report their versions and problems", async (t) => {
    const workers = await open(t, { "a.json": { name: "inbox" }, "b.json": { name: "shop" } });
    assert.match(workers.unavailable("shop")!, /is being built/);
    await workers.start({
      deploy: async ({ name }) => {
        if (name === "shop") throw new Error("no such export");
      },
      consume: async () => {},
    });
    const [inbox, shop] = workers.status();
    assert.deepEqual([inbox!.name, typeof inbox!.version, inbox!.problem], ["inbox", "string", undefined]);
    assert.deepEqual([shop!.version, shop!.problem], [null, "shop cannot run: no such export"]);
    assert.equal(workers.unavailable("inbox"), undefined);
  });

  it("are rejected with one error, or with the errors of all", async (t) => {
    await assert.rejects(open(t, { "a.json": { name: "inbox" }, "b.json": { name: "No Name" } }), UserError);
    await assert.rejects(
      open(t, { "a.json": { name: "No Name" }, "b.json": { main: "absent.js" } }),
      (err: unknown) =>
        err instanceof AggregateError && err.errors.length === 2 && err.errors.every((one) => one instanceof UserError),
    );
  });

  it("must have different names", async (t) => {
    await assert.rejects(
      open(t, { "a.json": { name: "inbox" }, "b.json": { name: "inbox" } }),
      (err: unknown) =>
        err instanceof UserError && err.kind === "twoWorkersOneName" && /a\.json.*b\.json/.test(err.message),
    );
  });
});

it("uses the largest value of each limit", () => {
  assert.deepEqual(largestLimits([{ cpuMs: 100, heapMb: 64 }, {}, { cpuMs: 50, rssMb: 200 }]), {
    cpuMs: 100,
    heapMb: 64,
    rssMb: 200,
  });
});
