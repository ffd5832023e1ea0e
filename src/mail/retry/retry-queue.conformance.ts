import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { createJobs, createLocalEvents, jobsMigrations, type Jobs } from "../../store/index.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";
import type { Verdict } from "../authenticate/index.ts";
import { createSpool, type Envelope, type MailSource, type TraceEvent } from "../messages/index.ts";
import type { BounceRequest } from "../bounces/index.ts";
import { createRetryQueue, type RetryQueueOptions } from "./retry-queue.ts";
import type { RetryRecipient, RetryResult } from "./types.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const RAW = "Received: ours\r\nSubject: \xfcber\r\n\r\nbody \xff\r\n";
const ENVELOPE: Envelope = {
  from: "a@sender.example",
  to: ["b@here.example"],
  helo: "x",
  ip: "192.0.2.1",
  smtputf8: false,
  dsn: { ret: "HDRS" },
};
const VERDICT = {
  spf: { result: "pass", domain: "sender.example", identity: "mailfrom" },
  dkim: [],
  summary: "mx; spf=pass",
} as unknown as Verdict;
const LATER = { code: 451, enhanced: "4.3.0", text: "later" };
const NEVER = { code: 550, enhanced: "5.1.1", text: "never" };

const later = (rcpt: string): RetryResult => ({ rcpt, ok: false, temporary: true, reply: LATER });
const never = (rcpt: string): RetryResult => ({ rcpt, ok: false, temporary: false, reply: NEVER });
const waiting = (rcpt: string, more: Partial<RetryRecipient> = {}): RetryRecipient => ({
  rcpt,
  reply: LATER,
  account: "acc",
  zone: "z",
  ...more,
});

const openOn =
  (engine: TestEngine) =>
  async (t: TestContext, { limits, ...more }: Partial<RetryQueueOptions> = {}) => {
    const folder = await mkdtemp(join(tmpdir(), "reelpost-held-"));
    const { db } = await engine.open(t, jobsMigrations);
    const clock = createManualClock(Date.UTC(2026, 0, 1, 12));
    const events = createLocalEvents({ log: silentLog });
    const objects = await openWriteOnceObjects({ folder: join(folder, "objects") });
    const table = createJobs({ db, clock, ids: randomIds, events, log: silentLog });
    let job = "";
    const jobs: Jobs = { ...table, enqueue: async (...args) => (job = await table.enqueue(...args)) };
    const spool = createSpool({ dir: join(folder, "spool"), ids: randomIds, memoryBytes: 20 });
    const [trace, bounced]: [TraceEvent[], BounceRequest[]] = [[], []];
    const tried: string[] = [];
    const answers = new Map<string, (rcpt: string) => RetryResult>();
    const started: { stop(): Promise<void> }[] = [];

    /** Starts another process. */
    function start(options: Partial<RetryQueueOptions> = {}) {
      const retries = createRetryQueue({
        objects,
        jobs,
        spool,
        clock,
        ids: randomIds,
        log: silentLog,
        trace: (event) => void trace.push(event),
        bounces: { bounce: async (request) => (bounced.push(request), true) },
        limits: { leaseMs: 10 * MINUTE, ...limits },
        ...more,
        ...options,
      });
      retries.start(async ({ envelope, source, verdict }, { rcpt, to }) => {
        assert.deepEqual([envelope, verdict, await textOf(source)], [ENVELOPE, VERDICT, RAW]);
        tried.push(to === undefined ? rcpt : `${rcpt} to ${to.join()}`);
        return (answers.get(rcpt) ?? ((ok) => ({ rcpt: ok, ok: true })))(rcpt);
      });
      started.push(retries);
      return retries;
    }
    t.after(async () => {
      await Promise.all(started.map((retries) => retries.stop()));
      await spool.close();
      await events.close();
      await rm(folder, { recursive: true, force: true });
    });
    /** Advances the clock until the condition is met: workers poll at their own times. */
    async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
      for (const start = performance.now(); !(await condition()); clock.advance(200)) {
        if (performance.now() - start > 60_000) throw new Error(`timed out waiting for ${condition}`);
        await new Promise((resolve) => void setTimeout(resolve, 1));
      }
    }

    async function bodies() {
      const keys: string[] = [];
      for await (const { key } of objects.list("mail/held/")) keys.push(key);
      return keys;
    }

    return {
      until,
      /** The object store that holds the content of messages. */
      objects,
      /** Resolves with the time of the next run of the retry job. */
      dueAt: async () =>
        (
          await db
            .tables<{ jobs: { id: string; run_at: number } }>()
            .selectFrom("jobs")
            .select("run_at")
            .where("id", "=", job)
            .executeTakeFirstOrThrow()
        ).run_at,
      async resting() {
        while ((await table.get(job))?.status === "running")
          await new Promise((resolve) => void setTimeout(resolve, 1));
      },
      async gone() {
        await until(async () => (await table.get(job))?.status === "done");
        assert.deepEqual(await bodies(), []);
      },
      bodies,
      clock,
      trace,
      bounced,
      tried,
      answers,
      start,
      jobs,
      source: async (): Promise<MailSource> =>
        spool.collect(
          (async function* () {
            yield Buffer.from(RAW, "latin1");
          })(),
          { id: "message1" },
        ),
      steps: () =>
        trace.map(({ message, step, rcpt, account, zone }) => [message, step, rcpt, account, zone].join(" ")),
    };
  };

const textOf = async (source: MailSource) => {
  const raw = source.open();
  return Buffer.from(raw instanceof Uint8Array ? raw : Buffer.concat(await raw.toArray())).toString("latin1");
};

export function retryQueueConformance(engine: TestEngine): void {
  const open = openOn(engine);

  test("retries until every recipient has the message, delivers none twice, and leaves nothing behind", async (t) => {
    const { clock, answers, tried, start, source, bodies, steps, until, resting, gone, dueAt } = await open(t);
    answers.set("c@here.example", later);
    const retries = start();
    const given = await source();
    await retries.add({
      envelope: ENVELOPE,
      source: given,
      verdict: VERDICT,
      recipients: [waiting("b@here.example"), waiting("c@here.example")],
    });
    await given.discard();
    assert.equal((await bodies()).length, 1);
    assert.deepEqual(tried, []);
    clock.advance(1.2 * MINUTE);
    await until(() => tried.length === 2);
    await resting();
    await until(() => steps().length === 1);
    assert.deepEqual([...tried].sort(), ["b@here.example", "c@here.example"]);
    assert.deepEqual(steps(), ["message1 deferred c@here.example acc z"]);
    answers.delete("c@here.example");
    // The job must not be due too early: the second delay is longer.
    clock.advance(2 * MINUTE);
    assert.ok((await dueAt()) > clock.now());
    assert.equal(tried.length, 2);
    clock.advance(4 * MINUTE);
    await gone();
    assert.deepEqual(tried.slice(2), ["c@here.example"]);
  });

  test("bounces recipients that were permanently rejected in the meantime, all recipients of one message together", async (t) => {
    const { clock, answers, start, source, bounced, steps, gone } = await open(t);
    for (const rcpt of ["b@here.example", "c@here.example"]) answers.set(rcpt, never);
    await start().add({
      envelope: ENVELOPE,
      source: await source(),
      verdict: VERDICT,
      recipients: ["b@here.example", "c@here.example", "d@here.example"].map((rcpt) => waiting(rcpt)),
    });
    clock.advance(1.2 * MINUTE);
    await gone();
    assert.partialDeepStrictEqual(bounced, [
      {
        inbound: { id: "message1" },
        account: "acc",
        zone: "z",
        senderAuthenticated: true,
        envelope: ENVELOPE,
        arrivedAt: new Date(Date.UTC(2026, 0, 1, 12)),
      },
    ]);
    assert.equal(bounced.length, 1);
    assert.deepEqual(bounced[0]!.recipients, [
      { rcpt: "b@here.example", reply: NEVER },
      { rcpt: "c@here.example", reply: NEVER },
    ]);
    assert.deepEqual(steps(), ["message1 bounced b@here.example acc z", "message1 bounced c@here.example acc z"]);
  });

  test("gives up after five days and reports the last reply to the sender", async (t) => {
    const { clock, answers, tried, start, source, bounced, trace, until, resting, gone } = await open(t);
    answers.set("b@here.example", later);
    await start().add({
      envelope: ENVELOPE,
      source: await source(),
      verdict: VERDICT,
      recipients: [waiting("b@here.example")],
    });
    while (bounced.length === 0) {
      const before = tried.length;
      clock.advance(5 * 60 * MINUTE);
      await until(() => tried.length > before);
      await until(() => trace.length === tried.length);
      await resting();
    }
    await gone();
    assert.deepEqual(bounced[0]!.recipients, [{ rcpt: "b@here.example", reply: LATER }]);
    assert.ok(clock.now() - Date.UTC(2026, 0, 1, 12) >= 5 * DAY);
    assert.deepEqual([trace.at(-1)!.step, trace.at(-1)!.detail["told"]], ["bounced", true]);
  });

  test("sends a bounce later if it cannot be stored now, without retrying the recipient", async (t) => {
    let full = true;
    let refused = 0;
    const reported: string[] = [];
    const { clock, tried, start, source, bodies, gone, resting, until } = await open(t, {
      bounces: {
        async bounce({ recipients }) {
          if (full) {
            refused++;
            throw new Error("queue full");
          }
          reported.push(...recipients.map(({ rcpt }) => rcpt));
          return true;
        },
      },
    });
    await start().add({
      envelope: ENVELOPE,
      source: await source(),
      verdict: VERDICT,
      recipients: [waiting("b@here.example", { reply: NEVER, bounce: true })],
    });
    await until(() => refused > 0);
    await resting();
    assert.equal((await bodies()).length, 1);
    full = false;
    clock.advance(10 * MINUTE);
    await gone();
    assert.deepEqual([tried, reported], [[], ["b@here.example"]]);
  });

  test("retries only those of several destination addresses that remain", async (t) => {
    const { clock, tried, start, source, gone } = await open(t);
    await start().add({
      envelope: ENVELOPE,
      source: await source(),
      verdict: VERDICT,
      recipients: [waiting("b@here.example", { to: ["x@there.example"] })],
    });
    clock.advance(1.2 * MINUTE);
    await gone();
    assert.deepEqual(tried, ["b@here.example to x@there.example"]);
  });

  test("another process continues where one stopped, and does not deliver again to finished recipients", async (t) => {
    const { clock, answers, tried, start, source, gone, until } = await open(t, { limits: { recipients: 1 } });
    const first = start();
    answers.set("c@here.example", later);
    await first.add({
      envelope: ENVELOPE,
      source: await source(),
      verdict: VERDICT,
      recipients: [waiting("b@here.example"), waiting("c@here.example")],
    });
    clock.advance(1.2 * MINUTE);
    await until(() => tried.length === 2);
    await first.stop();
    answers.delete("c@here.example");
    start();
    clock.advance(10 * MINUTE);
    await gone();
    assert.deepEqual(tried, ["b@here.example", "c@here.example", "c@here.example"]);
  });

  test("reports missing content and ends the job", async (t) => {
    const { clock, start, source, steps, trace, until } = await open(t);
    const gone = start({
      objects: {
        put: async () => ({ size: 0, sha256: "", digests: {} }),
        putFile: async () => {},
        open: async () => undefined,
        copy: async () => {},
        leaseFile: async () => undefined,
        partial: () => assert.fail(),
        delete: async () => {},
        removeEmptyFolders: async () => {},
        list: async function* () {},
      },
    });
    await gone.add({
      envelope: ENVELOPE,
      source: await source(),
      verdict: VERDICT,
      recipients: [waiting("b@here.example")],
    });
    clock.advance(1.2 * MINUTE);
    await until(() => steps().length > 0);
    assert.deepEqual([steps(), trace[0]!.detail["lost"]], [["message1 bounced b@here.example acc z"], true]);
  });

  test("deletes content that a dead process left without a job", async (t) => {
    const { clock, start, source, bodies, until, objects } = await open(t, {
      jobs: {
        enqueue: () => Promise.reject(new Error("database gone")),
        enqueueClaimed: () => assert.fail(),
        work: () => ({ stop: async () => {} }),
        get: async () => undefined,
      },
    });
    await assert.rejects(
      start().add({
        envelope: ENVELOPE,
        source: await source(),
        verdict: VERDICT,
        recipients: [waiting("b@here.example")],
      }),
      /database gone/,
    );
    assert.equal((await bodies()).length, 1);
    clock.advance(14 * DAY - 1);
    const swept = Promise.withResolvers<void>();
    start({
      objects: {
        ...objects,
        async *list(...args) {
          try {
            yield* objects.list(...args);
          } finally {
            swept.resolve();
          }
        },
      },
    });
    await swept.promise;
    assert.equal((await bodies()).length, 1);
    clock.advance(DAY + 1);
    start();
    await until(async () => (await bodies()).length === 0);
  });
}
