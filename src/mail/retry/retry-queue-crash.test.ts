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
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  migrate,
  openFsObjects,
  openSqlite,
} from "../../store/index.ts";
import { runtimeOf } from "../mail.testing.ts";
import { createSpool } from "../messages/index.ts";
import { outboundMigrations, createOutbound } from "../outbound/index.ts";
import { resolverOf, startSink } from "../outbound/outbound.testing.ts";
import { createReceiver } from "../receive.ts";
import { createRetryQueue } from "./retry-queue.ts";

/**
 * Tests messages with mixed results while processes are killed: for every accepted message, one recipient has it, one
 * gets it later, and the failure of the third is reported to the sender.
 */

async function openQueue(folder: string, port: number) {
  const db = openSqlite({ path: join(folder, "test.db") });
  const objects = await openFsObjects({ folder: join(folder, "objects") });
  const parts = { clock: systemClock, ids: randomIds, log: silentLog, trace: () => {} };
  const { relay, stop } = createOutbound({
    ...parts,
    db,
    objects,
    name: "here.example",
    port,
    resolver: resolverOf({ "there.example": { a: ["127.0.0.1"] } }),
  });
  const spool = createSpool({ dir: join(folder, `spool-${process.pid}`), ids: randomIds });
  const events = createLocalEvents({ log: silentLog });
  const bounces = {
    isReturnPath: () => false,
    check: async () => undefined,
    process: () => assert.fail(),
    async bounce({ recipients }: { recipients: { rcpt: string }[] }) {
      const to = recipients.map(({ rcpt }) => rcpt.replace(/^no-(.*)@.*$/, "told-$1@there.example"));
      const settled = await relay.deliver({
        messageId: "<x@here.example>",
        cause: "reply",
        from: "",
        to,
        raw: () => Buffer.from("Subject: report\r\n\r\n"),
      });
      if (settled.some((one) => !one.ok)) throw new Error("not now");
      return true;
    },
  };
  const jobs = createJobs({ ...parts, db, events });
  const held = createRetryQueue({
    ...parts,
    objects,
    jobs,
    spool,
    bounces,
    limits: { backoffMs: [30], leaseMs: 400, pollMs: 10 },
  });
  const receiver = createReceiver({
    ...parts,
    runtime: runtimeOf({}),
    transport: relay,
    spool,
    retries: held,
    bounces,
    route: (rcpt) => ({ kind: "forward", to: [rcpt.replace("@here", "@there")] }),
  });
  held.start(receiver.retry);
  return {
    db,
    receiver,
    spool,
    async close() {
      await held.stop();
      await stop();
      await spool.close();
      await db.close();
    },
  };
}

async function work(folder: string, port: number, run: string): Promise<never> {
  const { receiver, spool } = await openQueue(folder, port);
  async function take(lane: number): Promise<never> {
    for (let n = 0; ; n++) {
      const key = `${run}-${lane}-${n}`;
      const to = ["ok", "later", "no"].map((fate) => `${fate}-${key}@here.example`);
      const source = spool.fromMemory(Buffer.from(`Received: ours\r\nSubject: ${key}\r\n\r\nbody\r\n`));
      const settled = await receiver.receive(
        { from: "a@sender.example", to, helo: "x", ip: "192.0.2.1", smtputf8: false },
        source,
      );
      if (settled.every((one) => one.ok)) writeSync(1, `${key}\n`);
    }
  }
  return Promise.race([0, 1, 2].map(take));
}

/** Runs a child process until `reached` resolves; resolves with the messages to which it replied 250. */
async function killOn(reached: Promise<void>, folder: string, port: number, run: string): Promise<string[]> {
  const child = spawn(process.execPath, [import.meta.filename, "work", folder, String(port), run], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  void reached.then(() => child.kill("SIGKILL"));
  const keys: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) keys.push(line);
  assert.equal((await exited)[1], "SIGKILL", "the child was killed while it was working");
  return keys;
}

if (process.argv[2] === "work") {
  await work(process.argv[3]!, Number(process.argv[4]), process.argv[5]!);
} else {
  test("a retry queue whose process is killed repeatedly loses no mail", { timeout: 240_000 }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "reelpost-held-crash-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const arrived = new Map<string, number>();
    const tries = new Map<string, number>();
    let onArrival = () => {};
    const sink = await startSink({
      rcpt(to) {
        if (to.startsWith("no-")) return "550 5.1.1 no such user";
        // Every recipient to be deferred is deferred twice: while the sender waits, and on the first retry.
        const count = (tries.get(to) ?? 0) + 1;
        tries.set(to, count);
        return to.startsWith("later-") && count <= 2 ? "451 4.3.0 later" : undefined;
      },
      data({ to }) {
        for (const rcpt of to) arrived.set(rcpt, (arrived.get(rcpt) ?? 0) + 1);
        onArrival();
        return undefined;
      },
    });
    const db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, [...jobsMigrations, ...outboundMigrations]);
    await db.close();

    const taken: string[] = [];
    for (const [run, more] of [60, 5, 120, 30].entries()) {
      const wanted = arrived.size + more;
      const reached = new Promise<void>((resolve) => (onArrival = () => void (arrived.size >= wanted && resolve())));
      taken.push(...(await killOn(reached, folder, sink.port, String(run))));
    }

    const last = await openQueue(folder, sink.port);
    t.after(last.close);
    const open = last.db
      .tables<{ jobs: { id: string; status: string } }>()
      .selectFrom("jobs")
      .select("id")
      .where("status", "in", ["waiting", "running"]);
    while ((await open.execute()).length > 0) await new Promise((resolve) => void setTimeout(resolve, 20));

    assert.ok(taken.length > 10, `${taken.length} were accepted`);
    const missing = taken
      .flatMap((key) => ["ok", "later", "told"].map((fate) => `${fate}-${key}@there.example`))
      .filter((rcpt) => !arrived.has(rcpt));
    const again = [...arrived].filter(([, count]) => count > 1).map(([rcpt]) => rcpt);
    t.diagnostic(`${taken.length} accepted, ${missing.length} recipients lost, ${again.length} duplicates`);
    assert.deepEqual(missing, []);
    // Deliveries in progress when the process died may be repeated: at most one attempt from each of three lanes and
    // from the queued recipients.
    assert.ok(
      again.every((rcpt) => rcpt.startsWith("later-") || rcpt.startsWith("told-")),
      again.join(),
    );
  });
}
