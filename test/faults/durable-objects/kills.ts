import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestContext } from "node:test";
import { sendHttpRequest, createApi, TOKEN } from "../../e2e/serve-client.ts";
import { spawnServe, temporaryFolder } from "../../support/serve.ts";

/**
 * Each write has a number in its path. The object stores it with SQL and the synchronous key-value API in one
 * transaction, and counts how often it writes each number, to detect duplicates.
 */
const WORKER = `
import { DurableObject } from "cloudflare:workers";
export class Ledger extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("create table if not exists seen (n text primary key, times integer)");
  }
  write(n) {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.sql.exec("insert into seen values (?, 1) on conflict do update set times = times + 1", n);
      this.ctx.storage.kv.put("count", (this.ctx.storage.kv.get("count") ?? 0) + 1);
    });
    return "stored";
  }
  read() {
    return { seen: this.ctx.storage.sql.exec("select n, times from seen").raw().toArray(), count: this.ctx.storage.kv.get("count") ?? 0, alarm: this.ctx.storage.kv.get("alarm") ?? 0 };
  }
  async later(ms) { await this.ctx.storage.setAlarm(Date.now() + Number(ms)); return "set"; }
  alarm() { this.ctx.storage.kv.put("alarm", (this.ctx.storage.kv.get("alarm") ?? 0) + 1); }
}
export default {
  async fetch(request, env) {
    const [, object, method, argument] = new URL(request.url).pathname.split("/");
    return Response.json(await env.LEDGER.getByName(object)[method](argument));
  },
};`;

const HOST = "ledgers.main.localhost";
const OBJECTS = ["one", "two", "three"];

interface Figures {
  rounds: number;
  acknowledged: number;
  /** Acknowledged writes that are not stored. */
  lost: number;
  /** Writes that were stored more than once. */
  duplicated: number;
  /** Writes that were stored but not acknowledged, because the process died in between. */
  unacknowledged: number;
  alarms: number;
}

/**
 * Kills workerd and the server alternately while clients write, then compares the stored with the acknowledged writes.
 */
export async function killRepeatedly(t: TestContext, { rounds, perRound }: { rounds: number; perRound: number }) {
  const dataDirectory = await temporaryFolder(t);
  const env = { REELPOST_API_TOKEN: TOKEN };
  let server = await spawnServe(t, { dataDirectory, env });
  await createApi(server.ready, TOKEN).deploy("ledgers", WORKER, {
    bindings: [{ type: "durable_object_namespace", name: "LEDGER", class_name: "Ledger" }],
    migrations: { new_tag: "v1", steps: [{ new_sqlite_classes: ["Ledger"] }] },
  });
  const call = async (path: string): Promise<unknown> => {
    const { status, body } = await sendHttpRequest(server.ready, path, { host: HOST });
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    return JSON.parse(body) as unknown;
  };
  /** Repeats a call until it succeeds: the process may be restarting. */
  async function callUntilSuccess(path: string): Promise<unknown> {
    for (let attemptsLeft = 1200; ; attemptsLeft--) {
      try {
        return await call(path);
      } catch (err) {
        if (attemptsLeft === 0) throw err;
        await sleep(50);
      }
    }
  }

  const acknowledged = new Map(OBJECTS.map((object) => [object, new Set<string>()]));
  const total = () => [...acknowledged.values()].reduce((sum, { size }) => sum + size, 0);
  let next = 0;
  for (let round = 0; round < rounds; round++) {
    assert.equal(await callUntilSuccess("/alarms/later/1"), "set");
    const stopClients = new AbortController();
    const clients = [...OBJECTS, ...OBJECTS].map(async (object) => {
      while (!stopClients.signal.aborted) {
        const n = String(next++);
        const result = await call(`/${object}/write/${n}`).catch(() => undefined);
        if (result === "stored") acknowledged.get(object)!.add(n);
      }
    });
    try {
      const targetTotal = total() + perRound;
      while (total() < targetTotal) await sleep(2);
      const objectProcesses = objectProcessesOf(dataDirectory);
      assert.equal(objectProcesses.length, 1, "exactly one process has the objects open");
      if (round % 2 === 0) process.kill(objectProcesses[0]!, "SIGKILL");
      else server.child.kill("SIGKILL");
    } finally {
      stopClients.abort();
    }
    await Promise.all(clients);
    if (round % 2 === 1) {
      await server.exited;
      server = await spawnServe(t, { dataDirectory, env });
    }
  }

  const figures: Figures = {
    rounds,
    acknowledged: total(),
    lost: 0,
    duplicated: 0,
    unacknowledged: 0,
    alarms: 0,
  };
  for (const object of OBJECTS) {
    const { seen, count } = (await callUntilSuccess(`/${object}/read`)) as { seen: [string, number][]; count: number };
    const storedWrites = new Map(seen);
    const acknowledgedWrites = acknowledged.get(object)!;
    figures.lost += [...acknowledgedWrites].filter((n) => !storedWrites.has(n)).length;
    figures.duplicated += seen.filter(([, times]) => times > 1).length;
    figures.unacknowledged += seen.filter(([n]) => !acknowledgedWrites.has(n)).length;
    assert.equal(
      count,
      seen.reduce((sum, [, times]) => sum + times, 0),
      "both writes of each transaction are stored",
    );
  }
  figures.alarms = ((await callUntilSuccess("/alarms/read")) as { alarm: number }).alarm;
  return figures;
}

/**
 * Ids of processes that have object files in this data directory open, identified by the shared memory that SQLite
 * maps.
 */
const objectProcessesOf = (dataDirectory: string): number[] =>
  readdirSync("/proc").flatMap((name) => {
    try {
      const isHolder =
        /^\d+$/.test(name) &&
        readFileSync(`/proc/${name}/maps`, "latin1").includes(`${dataDirectory}/durable-objects/`);
      return isHolder ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
