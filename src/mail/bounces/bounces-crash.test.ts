import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createManualClock, randomIds, silentLog, systemClock, type Clock } from "../../kernel/index.ts";
import { readBounce } from "../../protocol/dsn/index.ts";
import { createSrs } from "../../protocol/srs/index.ts";
import { migrate, openFsObjects, openSqlite } from "../../store/index.ts";
import { createSigner } from "../authenticate/index.ts";
import type { Transport } from "../messages/index.ts";
import { outboundMigrations, createOutbound, type OutboundTables } from "../outbound/index.ts";
import { resolverOf, startSink } from "../outbound/outbound.testing.ts";
import { createBounces } from "./bounces.ts";
import { MAIL, until } from "./bounces.testing.ts";
import { bouncesMigrations } from "./bounces-table.ts";

/** Tests a process that is killed between a failure and its report, and the process that takes over. */

const MINUTE = 60_000;
/**
 * When the first process is killed: before the report is queued, after it is queued but not recorded, or after one of
 * two records is written.
 */
const MOMENTS = ["before", "behind", "noted"] as const;
type Moment = (typeof MOMENTS)[number];

async function openService(folder: string, port: number, clock: Clock, dieAt?: Moment) {
  const db = openSqlite({ path: join(folder, "test.db") });
  const die = (moment: Moment) => void (dieAt === moment && process.kill(process.pid, "SIGKILL"));
  const outbound = createOutbound({
    db,
    objects: await openFsObjects({ folder: join(folder, "objects") }),
    clock,
    ids: randomIds,
    log: silentLog,
    name: "fwd.example",
    trace: () => {},
    port,
    resolver: resolverOf({ "example.net": { a: ["127.0.0.1"] }, "example.org": { a: ["127.0.0.1"] } }),
    limits: { pollMs: 20, leaseMs: 60_000 },
  });
  const queue: Transport = {
    async deliver(mail) {
      die("before");
      const settled = await outbound.queue.deliver(mail);
      die("behind");
      return settled;
    },
  };
  const srs = createSrs({ domain: "fwd.example", keys: ["srs"] });
  const bounces = createBounces({
    db,
    queue,
    srs,
    keys: ["paths"],
    forwardDomain: "fwd.example",
    label: "rp-bounce",
    name: "fwd.example",
    signer: createSigner({ clock }),
    trace: () => {},
    clock,
    ids: randomIds,
    log: silentLog,
  });
  outbound.onFailed(async (failure) => {
    await bounces.onFailed(failure);
    die("noted");
  });
  return { db, outbound, srs };
}

if (process.argv[2] === "work") {
  const [folder, port, moment] = process.argv.slice(3) as [string, string, Moment];
  const { outbound, srs } = await openService(folder, Number(port), systemClock, moment);
  const path = srs.forward("alice@example.org", Date.now());
  assert.ok(path.ok);
  await outbound.enqueue({
    messageId: "<x@fwd.example>",
    cause: "forward",
    from: path.address,
    to: ["bob@example.net"],
    raw: () => Buffer.from(MAIL),
  });
  outbound.start();
  setTimeout(() => process.exit(1), 100_000);
} else {
  describe("after a kill between a failure and its report", { timeout: 240_000 }, () => {
    for (const moment of MOMENTS) {
      test(`${moment}: the next process sends the report, and each sender gets at most one duplicate`, async (t) => {
        const folder = await mkdtemp(join(tmpdir(), "reelpost-returns-crash-"));
        t.after(() => rm(folder, { recursive: true, force: true }));
        const sink = await startSink({
          rcpt: (to) => (to === "bob@example.net" ? "550 5.1.1 no such user" : undefined),
        });
        const first = openSqlite({ path: join(folder, "test.db") });
        await migrate(first, [...outboundMigrations, ...bouncesMigrations]);
        await first.close();
        const child = spawn(process.execPath, [import.meta.filename, "work", folder, String(sink.port), moment], {
          stdio: ["ignore", "inherit", "inherit"],
        });
        assert.equal((await once(child, "exit"))[1], "SIGKILL", "the child was killed at the specified step");

        const clock = createManualClock(Date.now() + 6 * MINUTE);
        const { db, outbound } = await openService(folder, sink.port, clock);
        t.after(async () => {
          await outbound.stop({ graceMs: 0 });
          await db.close();
        });
        const tables = db.tables<OutboundTables>();
        const open = tables
          .selectFrom("outbound_recipients")
          .select("id")
          .where((eb) => eb.or([eb("finished_at", "is", null), eb("tell_at", "is not", null)]));
        assert.ok((await open.execute()).length > 0, "unfinished work remains");
        outbound.start();
        // Each poll of the job runner needs a clock step.
        await until(async () => {
          clock.advance(100);
          return (await open.execute()).length === 0;
        });
        const reports = sink.mails.map(({ from, to, raw }) => ({
          from,
          to,
          reported: readBounce(Buffer.from(raw, "latin1"))?.recipients.map(
            ({ address, action }) => `${address} ${action}`,
          ),
        }));
        const one = { from: "", to: ["alice@example.org"], reported: ["bob@example.net failed"] };
        assert.deepEqual(reports, moment === "behind" ? [one, one] : [one]);
      });
    }
  });
}
