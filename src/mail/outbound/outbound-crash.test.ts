import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { migrate, openFsObjects, openSqlite } from "../../store/index.ts";
import { createOutbound } from "./outbound.ts";
import { resolverOf, startSink } from "./outbound.testing.ts";
import type { OutboundTables } from "./queue/migrations.ts";
import { outboundMigrations } from "./migrations.ts";

/**
 * Tests what happens to accepted messages while processes are killed in the middle of their work: every acknowledged
 * message arrives or fails visibly, and duplicates occur only if the result had not been written when the process died.
 */

const LEASE_MS = 4000;

async function openService(folder: string, port: number) {
  const db = openSqlite({ path: join(folder, "test.db") });
  const service = createOutbound({
    db,
    objects: await openFsObjects({ folder: join(folder, "objects") }),
    clock: systemClock,
    ids: randomIds,
    log: silentLog,
    name: "out.example",
    trace: () => {},
    port,
    resolver: resolverOf({
      "a.example": { a: ["127.0.0.1"] },
      "b.example": { a: ["127.0.0.1"] },
      "c.example": { a: ["127.0.0.1"] },
    }),
    limits: { leaseMs: LEASE_MS, pollMs: 20, backoffMs: [50] },
  });
  service.start();
  return { db, service };
}

/** Accepts and delivers messages concurrently for as long as the process lives. */
async function work(folder: string, port: number, run: string): Promise<never> {
  const { service } = await openService(folder, port);
  async function take(lane: number): Promise<never> {
    for (let n = 0; ; n++) {
      // Accepting is much faster than delivering, so the queue is bounded to keep the test short.
      if (n % 10 === 0)
        while ((await service.list({ state: "queued", limit: 100 })).items.length === 100)
          await new Promise((resolve) => void setTimeout(resolve, 5));
      const key = `${run}-${lane}-${n}`;
      const domain = `${"abc"[n % 3]}.example`;
      const to = n % 5 === 0 ? [`${key}@${domain}`, `no-${key}@${domain}`] : [`${key}@${domain}`];
      await service.enqueue({
        messageId: `<${key}@here.example>`,
        cause: "send",
        from: "a@here.example",
        to,
        raw: () => Buffer.from(`Subject: ${key}\r\n\r\n${"body ".repeat(100)}\r\n`),
      });
      writeSync(1, `${to.join(" ")}\n`);
    }
  }
  return Promise.race([0, 1, 2, 3].map(take));
}

/** Runs a child process until `arrived` resolves; resolves with the messages that the child acknowledged. */
async function killOn(arrived: Promise<void>, folder: string, port: number, run: string): Promise<string[]> {
  const child = spawn(process.execPath, [import.meta.filename, "work", folder, String(port), run], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  void arrived.then(() => child.kill("SIGKILL"));
  const rcpts: string[] = [];
  // Reads to the end: output written just before the process died counts as well.
  for await (const line of createInterface({ input: child.stdout })) rcpts.push(...line.split(" "));
  assert.equal((await exited)[1], "SIGKILL", "the child was killed while it was working");
  return rcpts;
}

if (process.argv[2] === "work") {
  await work(process.argv[3]!, Number(process.argv[4]), process.argv[5]!);
} else {
  test(
    "a queue that is killed repeatedly loses no message, and duplicates only those whose result was not yet stored",
    { timeout: 240_000 },
    async (t) => {
      const folder = await mkdtemp(join(tmpdir(), "reelpost-outbound-crash-"));
      t.after(() => rm(folder, { recursive: true, force: true }));
      const arrived: string[] = [];
      let count = 0;
      let onArrival = () => {};
      const sink = await startSink({
        rcpt: (to) => (to.startsWith("no-") ? "550 5.1.1 no such user" : undefined),
        data: ({ to }) => {
          // Every seventh message is deferred.
          if (++count % 7 === 0) return "451 4.3.0 later";
          arrived.push(...to);
          onArrival();
          return undefined;
        },
      });
      const db = openSqlite({ path: join(folder, "test.db") });
      await migrate(db, outboundMigrations);
      const acknowledged: string[] = [];
      /** Counts, per recipient, how often its process died during delivery. */
      const underWay = new Map<string, number>();
      for (const [run, more] of [40, 5, 120, 15, 80].entries()) {
        const enough = new Promise<void>((resolve) => {
          const wanted = arrived.length + more;
          onArrival = () => void (arrived.length >= wanted && resolve());
        });
        acknowledged.push(...(await killOn(enough, folder, sink.port, String(run))));
        const held = await db
          .tables<OutboundTables>()
          .selectFrom("outbound_recipients")
          .select("rcpt")
          .where("state", "=", "delivering")
          .execute();
        for (const { rcpt } of held) underWay.set(rcpt, (underWay.get(rcpt) ?? 0) + 1);
      }
      await db.close();

      const last = await openService(folder, sink.port);
      t.after(async () => {
        await last.service.stop();
        await last.db.close();
      });
      const waiting = () =>
        last.db
          .tables<OutboundTables>()
          .selectFrom("outbound_recipients")
          .select("id")
          .where("finished_at", "is", null)
          .execute();
      while ((await waiting()).length > 0) await new Promise((resolve) => void setTimeout(resolve, 20));

      const failed = new Set(
        (
          await last.db
            .tables<OutboundTables>()
            .selectFrom("outbound_recipients")
            .select("rcpt")
            .where("state", "=", "failed")
            .execute()
        ).map(({ rcpt }) => rcpt),
      );
      const got = new Set(arrived);
      const lost = acknowledged.filter((rcpt) => !got.has(rcpt) && !failed.has(rcpt));
      const copies = Map.groupBy(arrived, (rcpt) => rcpt);
      const tooMany = [...copies]
        .filter(([rcpt, all]) => all.length > 1 + (underWay.get(rcpt) ?? 0))
        .map(([rcpt, all]) => `${rcpt} ${all.length} times`);
      t.diagnostic(
        `${acknowledged.length} acknowledged, ${lost.length} lost, ${arrived.length - got.size} duplicates, ${underWay.size} in progress when killed, ${failed.size} failed`,
      );
      assert.deepEqual(lost, []);
      assert.deepEqual(tooMany, []);
      assert.ok(
        [...failed].every((rcpt) => rcpt.startsWith("no-")) &&
          acknowledged.filter((rcpt) => rcpt.startsWith("no-")).every((rcpt) => failed.has(rcpt)),
      );
      const list = await last.service.list({ state: "failed", limit: 1000 });
      assert.equal(list.items.length, failed.size, "failed recipients remain listed");
    },
  );
}
