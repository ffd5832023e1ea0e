import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, UserError } from "../../../kernel/index.ts";
import { openFsObjects, type ObjectStore } from "../../../store/index.ts";
import type { Outbound, TraceEvent } from "../../messages/types.ts";
import { createOutbound, type OutboundLimits, type OutboundOptions } from "../outbound.ts";
import type { Carried, Carrier, Parcel, Result } from "../types.ts";
import { outboundMigrations } from "./migrations.ts";
import type { Failure } from "./settle.ts";

const NOON = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** One delivery under way: the test decides how it ends. */
interface Delivery {
  domain: string;
  parcel: Parcel;
  raw: string;
  signal: AbortSignal;
  end(outcome?: Result["outcome"] | "unreachable" | ((rcpt: string) => Result["outcome"])): void;
}

const REPLIES = { delivered: [250, "2.0.0", "taken"], temporary: [450, "4.2.1", "later"], permanent: [550, "5.1.1", "no such user"] } as const;

function controlledCarrier({ toSmartHost = false, answer }: { toSmartHost?: boolean; answer?: (delivery: Delivery) => void } = {}) {
  const deliveries: Delivery[] = [];
  const carrier: Carrier = {
    toSmartHost,
    close: () => {},
    async carry(domain, parcel, signal) {
      const opened = await parcel.body.open();
      const raw = Buffer.concat(opened instanceof Uint8Array ? [opened] : await opened.toArray()).toString("latin1");
      return new Promise<Carried>((resolve) => {
        const finish = (outcomeOf: (rcpt: string) => Result["outcome"], reached: boolean) => {
          const results = parcel.to.map(({ rcpt }): Result => {
            const outcome = outcomeOf(rcpt);
            const [code, enhanced, text] = REPLIES[outcome];
            return { rcpt, outcome, reply: { code, enhanced, text }, host: `mx.${domain}` };
          });
          resolve({ results, reached, interrupted: signal.aborted });
        };
        signal.addEventListener("abort", () => finish(() => "temporary", true), { once: true });
        const delivery: Delivery = {
          domain, parcel, raw, signal,
          end: (how = "delivered") => finish(typeof how === "function" ? how : () => (how === "unreachable" ? "temporary" : how), how !== "unreachable"),
        };
        deliveries.push(delivery);
        answer?.(delivery);
      });
    },
  };
  return { carrier, deliveries, nth: async (n: number) => (await until(() => deliveries.length >= n), deliveries[n - 1]!) };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > 20_000) throw new Error(`waited in vain for ${condition}`);
    await new Promise((resolve) => void setTimeout(resolve, 1));
  }
}

const mail = (to: string[], more: Partial<Outbound> = {}): Outbound => ({
  messageId: randomIds.messageId("here.example"), cause: "send", from: "a@here.example", to, raw: () => Buffer.from("Subject: x\r\n\r\nhello\r\n"), ...more,
});

/** What every engine promises of the outbound queue. */
export function queueConformance(engine: TestEngine): void {
  async function open(t: TestContext) {
    const folder = await mkdtemp(join(tmpdir(), "reelpost-outbound-"));
    const stops: (() => Promise<void>)[] = [];
    // Hooks run in the order they were given: runners stop before their database closes.
    t.after(async () => {
      await Promise.all(stops.map((stop) => stop()));
      await rm(folder, { recursive: true, force: true });
    });
    const { db, another } = await engine.open(t, outboundMigrations);
    const objects = await openFsObjects({ folder });
    const clock = createManualClock(NOON);
    const events: TraceEvent[] = [];
    const failures: Failure[] = [];
    /** One more process. */
    const start = async (carrier: Carrier, { run = true, ...more }: Partial<OutboundOptions> & { run?: boolean; limits?: Partial<OutboundLimits> } = {}) => {
      const service = createOutbound({
        db: await another(), objects, clock, ids: randomIds, log: silentLog, name: "here.example", carrier, trace: (event) => void events.push(event), onFailed: (failure) => void failures.push(failure),
        resolver: { resolveMx: assert.fail, resolve4: assert.fail, resolve6: assert.fail }, ...more,
      });
      stops.push(() => service.stop({ graceMs: 0 }));
      if (run) service.start();
      return service;
    };
    return { db, objects, clock, events, failures, start, bodies: () => keysOf(objects) };
  }

  const stateOf = async (service: { get(id: string): Promise<{ recipients: { state: string }[] } | undefined> }, id: string) => (await service.get(id))?.recipients.map(({ state }) => state).sort().join(",");

  describe("a queued message", () => {
    test("is on the disk when it is taken, delivered, and then only remembered", async (t) => {
      const { start, bodies, events } = await open(t);
      const { carrier, nth } = controlledCarrier();
      const service = await start(carrier);
      const { id, refused } = await service.enqueue(mail(["b@there.example"], { account: "acc", script: "s", inbound: { id: "in" }, cause: "forward", dsn: { ret: "HDRS", envid: "e", to: { "b@there.example": { notify: ["FAILURE"], orcpt: "rfc822;o@x.example" } } } }));
      assert.deepEqual(refused, []);
      assert.equal((await bodies()).length, 1);
      const delivery = await nth(1);
      assert.deepEqual([delivery.domain, delivery.raw], ["there.example", "Subject: x\r\n\r\nhello\r\n"]);
      assert.deepEqual({ ...delivery.parcel, body: undefined }, { from: "a@here.example", to: [{ rcpt: "b@there.example", notify: ["FAILURE"], orcpt: "rfc822;o@x.example" }], body: undefined, ret: "HDRS", envid: "e" });
      assert.equal(await stateOf(service, id!), "delivering");
      delivery.end();
      await until(async () => (await service.get(id!))!.message.finishedAt !== undefined && (await bodies()).length === 0);
      const found = (await service.get(id!))!;
      assert.deepEqual([found.message.account, found.message.script, found.message.inbound, found.message.cause, found.message.hasBody], ["acc", "s", "in", "forward", false]);
      assert.deepEqual(found.recipients.map(({ state, attempts, reply, host }) => ({ state, attempts, reply, host })), [{ state: "delivered", attempts: 1, reply: { code: 250, enhanced: "2.0.0", text: "taken" }, host: "mx.there.example" }]);
      assert.deepEqual(events.map(({ message, step, rcpt }) => `${message} ${step} ${rcpt}`), ["in queued b@there.example", "in delivered b@there.example"]);
      assert.equal(events[1]!.detail["text"], "taken");
    });

    test("goes to each domain in one transaction for all its recipients", async (t) => {
      const { start } = await open(t);
      const { carrier, nth, deliveries } = controlledCarrier();
      const service = await start(carrier);
      const everyone = [...Array.from({ length: 30 }, (_, n) => `b${n}@one.example`), "c@two.example", "b1@one.example"];
      const { id } = await service.enqueue(mail(everyone));
      await nth(2);
      assert.deepEqual(deliveries.map(({ domain, parcel }) => [domain, parcel.to.length]).sort(), [["one.example", 30], ["two.example", 1]]);
      for (const delivery of deliveries) delivery.end();
      await until(async () => (await service.get(id!))!.message.finishedAt !== undefined);
      assert.equal(deliveries.length, 2);
    });

    test("that is put off is tried again after a minute, five, fifteen, an hour, two, four, then every four, and given up after five days", async (t) => {
      const { start, clock, failures, events, bodies } = await open(t);
      const { carrier, deliveries } = controlledCarrier({ answer: ({ end }) => end("temporary") });
      const service = await start(carrier);
      const { id } = await service.enqueue(mail(["b@there.example"]));
      const waits: number[] = [];
      for (let n = 1; n <= 8; n++) {
        await until(async () => deliveries.length === n && (await stateOf(service, id!)) === "deferred");
        const nextTry = (await service.get(id!))!.recipients[0]!.nextTry!;
        waits.push((nextTry.getTime() - clock.now()) / MINUTE);
        clock.advance(nextTry.getTime() - clock.now() - 1);
        await settleDown();
        assert.equal(deliveries.length, n, "not a moment too early");
        clock.advance(1000);
      }
      for (const [i, wanted] of [1, 5, 15, 60, 120, 240, 240, 240].entries()) assert.ok(waits[i]! >= wanted && waits[i]! <= wanted * 1.1, `${waits[i]} minutes after attempt ${i + 1}`);
      let last = 0;
      while ((await stateOf(service, id!)) !== "expired") {
        await until(async () => deliveries.length > last && (await stateOf(service, id!)) !== "delivering");
        last = deliveries.length;
        clock.advance(4.5 * HOUR);
        await settleDown();
      }
      const found = (await service.get(id!))!;
      assert.ok(found.recipients[0]!.finishedAt!.getTime() - NOON >= 5 * DAY);
      assert.ok(found.recipients[0]!.finishedAt!.getTime() - NOON < 5 * DAY + 5 * HOUR);
      assert.ok(last > 30 && last < 45, `${last} attempts`);
      await until(() => failures.length === 1);
      assert.deepEqual(failures[0]!.recipients.map(({ rcpt, state, reply }) => `${rcpt} ${state} ${reply.code} ${reply.text}`), ["b@there.example expired 450 later"]);
      assert.equal(events.at(-1)!.step, "bounced");
      assert.equal((await bodies()).length, 1, "kept for a while");
    });

    test("has an end of its own for every recipient, and failures are told once with the message at hand", async (t) => {
      const { start, failures, clock } = await open(t);
      const { carrier, nth, deliveries } = controlledCarrier();
      const service = await start(carrier);
      const { id } = await service.enqueue(mail(["yes@there.example", "no@there.example", "later@there.example"]));
      (await nth(1)).end((rcpt) => (rcpt.startsWith("yes") ? "delivered" : rcpt.startsWith("no") ? "permanent" : "temporary"));
      await until(async () => (await stateOf(service, id!)) === "deferred,delivered,failed");
      await until(() => failures.length === 1);
      const [failure] = failures as [Failure];
      assert.deepEqual(failure.recipients.map(({ rcpt, state, reply }) => [rcpt, state, reply.code]), [["no@there.example", "failed", 550]]);
      assert.equal((await failure.open())!.toString(), "Subject: x\r\n\r\nhello\r\n");
      clock.advance(2 * MINUTE);
      const again = await nth(2);
      assert.deepEqual(again.parcel.to.map(({ rcpt }) => rcpt), ["later@there.example"]);
      again.end();
      await until(async () => (await service.get(id!))!.message.finishedAt !== undefined);
      clock.advance(10 * MINUTE);
      await settleDown();
      assert.deepEqual([failures.length, deliveries.length], [1, 2]);
    });

    test("whose failure could not be told is told again", async (t) => {
      const { start, clock } = await open(t);
      const { carrier } = controlledCarrier({ answer: ({ end }) => end("permanent") });
      let calls = 0;
      const service = await start(carrier, {
        onFailed: () => {
          if (++calls < 3) throw new Error("no room for it");
        },
      });
      await service.enqueue(mail(["b@there.example"]));
      for (let n = 1; n <= 3; n++) {
        await until(() => calls === n);
        await settleDown();
        clock.advance(6 * MINUTE);
      }
      clock.advance(HOUR);
      await settleDown();
      assert.equal(calls, 3);
    });

    test("stays visible when it failed, can be sent again, and not any more when its content is gone", async (t) => {
      const { start, clock, bodies } = await open(t);
      const { carrier, nth } = controlledCarrier();
      const service = await start(carrier);
      const { id } = await service.enqueue(mail(["b@there.example"]));
      (await nth(1)).end("permanent");
      await until(async () => (await service.get(id!))!.message.finishedAt !== undefined);
      clock.advance(HOUR);
      await service.resend(id!);
      (await nth(2)).end("permanent");
      await until(async () => (await service.get(id!))!.message.finishedAt !== undefined);
      clock.advance(8 * DAY);
      await until(async () => (await bodies()).length === 0);
      await assert.rejects(service.resend(id!), (err) => err instanceof UserError && err.kind === "outboundGone");
      await assert.rejects(service.resend("none"), (err) => err instanceof UserError && err.kind === "outboundNotFound");
      assert.equal(await stateOf(service, id!), "failed");
      clock.advance(40 * DAY);
      await until(async () => (await service.get(id!)) === undefined);
    });

    test("can be given up while it waits", async (t) => {
      const { start, events, bodies, clock } = await open(t);
      const { carrier, deliveries } = controlledCarrier();
      const service = await start(carrier, { run: false });
      const { id } = await service.enqueue(mail(["b@there.example", "c@else.example"]));
      assert.deepEqual((await service.cancel(id!)).sort(), ["b@there.example", "c@else.example"]);
      assert.equal(await stateOf(service, id!), "failed,failed");
      service.start();
      await settleDown();
      assert.equal(deliveries.length, 0);
      assert.equal(events.filter(({ step }) => step === "bounced").length, 2);
      await assert.rejects(service.cancel("none"), (err) => err instanceof UserError && err.kind === "outboundNotFound");
      clock.advance(8 * DAY);
      await until(async () => (await bodies()).length === 0);
    });

    test("without recipients, or with a sender that is none, is refused; recipients that are none are told", async (t) => {
      const { start, bodies } = await open(t);
      const service = await start(controlledCarrier().carrier, { run: false });
      await assert.rejects(service.enqueue(mail([])), (err) => err instanceof UserError && err.kind === "noRecipients");
      await assert.rejects(service.enqueue(mail(["b@there.example"], { from: "a@b\r\nRCPT TO:<x@y>" })), (err) => err instanceof UserError && err.kind === "senderInvalid");
      const { id, refused } = await service.enqueue(mail(["b@there.example", "not one", "c@there.example>\r\nDATA"]));
      assert.deepEqual(refused.map(({ outcome, reply }) => [outcome, reply.code, reply.enhanced]), [["permanent", 553, "5.1.3"], ["permanent", 553, "5.1.3"]]);
      assert.equal((await service.get(id!))!.recipients.length, 1);
      assert.equal((await bodies()).length, 1);
    });

    test("that cannot be put on the disk is not taken", async (t) => {
      const { start, objects } = await open(t);
      const full: ObjectStore = { ...objects, put: () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" })) };
      const service = await start(controlledCarrier().carrier, { objects: full });
      await assert.rejects(service.enqueue(mail(["b@there.example"])));
      assert.deepEqual((await service.queue.deliver(mail(["b@there.example"]))).map((one) => !one.ok && [one.temporary, one.reply.code, one.reply.enhanced]), [[true, 452, "4.3.1"]]);
      assert.deepEqual((await service.list({})).items, []);
    });

    test("is put off when too many wait", async (t) => {
      const { start, clock } = await open(t);
      const service = await start(controlledCarrier().carrier, { run: false, limits: { waiting: 3 } });
      await service.enqueue(mail(["a@there.example", "b@there.example", "c@there.example"]));
      clock.advance(11_000);
      await assert.rejects(service.enqueue(mail(["d@there.example"])), (err) => err instanceof UserError && err.kind === "queueFull" && err.entry.smtp === 452);
    });
  });

  test("lists its own account's recipients, newest first, page by page", async (t) => {
    const { start, clock } = await open(t);
    const service = await start(controlledCarrier().carrier, { run: false });
    for (let n = 0; n < 7; n++) {
      await service.enqueue(mail([`b${n}@d${n % 2}.example`], { account: "mine" }));
      if (n % 3 === 0) clock.advance(1);
    }
    await service.enqueue(mail(["other@there.example"], { account: "other" }));
    await service.enqueue(mail(["own@there.example"]));
    const all: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await service.list({ account: "mine", limit: 3, ...(after !== undefined && { after }) });
      all.push(...page.items.map(({ rcpt }) => rcpt));
      if ((after = page.next) === undefined) break;
    }
    assert.deepEqual(all.toSorted(), Array.from({ length: 7 }, (_, n) => `b${n}@d${n % 2}.example`));
    assert.equal(all.at(-1), "b0@d0.example");
    assert.equal((await service.list({ account: "mine", domain: "d1.example" })).items.length, 3);
    assert.equal((await service.list({ account: "mine", state: "delivered" })).items.length, 0);
    assert.deepEqual((await service.list({})).items.map(({ rcpt, message }) => [rcpt, message.from]), [["own@there.example", "a@here.example"]]);
  });

  describe("several runners", () => {
    test("share the work and do none of it twice", async (t) => {
      const { start } = await open(t);
      const carriers = Array.from({ length: 3 }, () => controlledCarrier({ answer: ({ end }) => setImmediate(end) }));
      const services = await Promise.all(carriers.map(({ carrier }) => start(carrier, { run: false })));
      const ids = await Promise.all(Array.from({ length: 60 }, async (_, n) => (await services[n % 3]!.enqueue(mail([`b${n}@d${n % 4}.example`]))).id!));
      for (const service of services) service.start();
      for (const id of ids) await until(async () => (await services[0]!.get(id))!.message.finishedAt !== undefined);
      const delivered = carriers.flatMap(({ deliveries }) => deliveries.flatMap(({ parcel }) => parcel.to.map(({ rcpt }) => rcpt)));
      assert.deepEqual(delivered.sort(), Array.from({ length: 60 }, (_, n) => `b${n}@d${n % 4}.example`).sort());
    });

    test("take over from one that died, once its lease is over", async (t) => {
      const { start, clock } = await open(t);
      const dead = controlledCarrier();
      const alive = controlledCarrier();
      // Its clock stands still: it renews nothing.
      const first = await start(dead.carrier, { clock: createManualClock(NOON) });
      const { id } = await first.enqueue(mail(["b@there.example"]));
      await dead.nth(1);
      const second = await start(alive.carrier);
      clock.advance(50_000);
      await settleDown();
      assert.equal(alive.deliveries.length, 0);
      clock.advance(45_000);
      (await alive.nth(1)).end();
      await until(async () => (await stateOf(second, id!)) === "delivered");
      // What the dead one thinks now changes nothing.
      dead.deliveries[0]!.end("permanent");
      await settleDown();
      assert.equal(await stateOf(second, id!), "delivered");
    });

    test("keep what they work on for as long as it takes", async (t) => {
      const { start, clock } = await open(t);
      const slow = controlledCarrier();
      const other = controlledCarrier();
      const first = await start(slow.carrier);
      const { id } = await first.enqueue(mail(["b@there.example"]));
      await slow.nth(1);
      await start(other.carrier);
      for (let n = 0; n < 20; n++) {
        clock.advance(15_000);
        await settleDown();
      }
      assert.equal(other.deliveries.length, 0);
      slow.deliveries[0]!.end();
      await until(async () => (await stateOf(first, id!)) === "delivered");
    });

    test("give back what they could not end when they stop; that attempt does not count", async (t) => {
      const { start } = await open(t);
      const hung = controlledCarrier();
      const service = await start(hung.carrier);
      const { id } = await service.enqueue(mail(["b@there.example"]));
      await hung.nth(1);
      await service.stop({ graceMs: 0 });
      const found = (await service.get(id!))!.recipients[0]!;
      assert.deepEqual([found.state, found.attempts], ["queued", 0]);
      const next = controlledCarrier();
      const after = await start(next.carrier);
      (await next.nth(1)).end();
      await until(async () => (await stateOf(after, id!)) === "delivered");
    });
  });

  describe("destinations", () => {
    test("one that hangs holds few lanes and nobody else up", async (t) => {
      const { start } = await open(t);
      const { carrier, deliveries } = controlledCarrier({ answer: ({ domain, end }) => void (domain !== "slow.example" && setImmediate(end)) });
      const service = await start(carrier, { run: false, limits: { lanes: 10 } });
      await Promise.all(Array.from({ length: 60 }, (_, n) => service.enqueue(mail([`b${n}@slow.example`]))));
      const quick = await Promise.all(Array.from({ length: 40 }, async (_, n) => (await service.enqueue(mail([`c@quick${n % 20}.example`]))).id!));
      service.start();
      for (const id of quick) await until(async () => (await stateOf(service, id)) === "delivered");
      assert.ok(deliveries.filter(({ domain }) => domain === "slow.example").length <= 2, "no success, no more lanes");
    });

    test("have at most so many messages under way, and as many as that once it goes well", async (t) => {
      const { start } = await open(t);
      let now = 0;
      let most = 0;
      const ends: (() => void)[] = [];
      const { carrier, deliveries } = controlledCarrier({
        answer: ({ end }) => {
          most = Math.max(most, ++now);
          ends.push(() => {
            now--;
            end();
          });
        },
      });
      const service = await start(carrier, { run: false, limits: { perDestination: 4 } });
      await Promise.all(Array.from({ length: 80 }, (_, n) => service.enqueue(mail([`b${n}@there.example`]))));
      service.start();
      const endOne = async () => {
        await until(() => ends.length > 0);
        ends.shift()!();
      };
      await until(() => now === 2);
      for (let n = 0; n < 4; n++) await endOne();
      await until(() => now === 4);
      for (let n = 4; n < 80; n++) await endOne();
      assert.equal(deliveries.length, 80);
      assert.equal(most, 4);
    });

    test("begin no more messages a minute than they may", async (t) => {
      const { start, clock } = await open(t);
      const { carrier, deliveries } = controlledCarrier({ answer: ({ end }) => setImmediate(end) });
      const service = await start(carrier, { limits: { perMinute: 6 } });
      for (let n = 0; n < 5; n++) await service.enqueue(mail([`b${n}@there.example`]));
      for (let n = 1; n <= 4; n++) {
        await until(() => deliveries.length === n);
        clock.advance(9_000);
        await settleDown();
        assert.equal(deliveries.length, n);
        clock.advance(1_000);
      }
      await until(() => deliveries.length === 5);
    });

    test("that cannot be reached are left alone, tried with one message after a while, and their mail expires all the same", async (t) => {
      const { start, clock, failures } = await open(t);
      const { carrier, deliveries } = controlledCarrier({ answer: ({ end }) => setImmediate(end, "unreachable") });
      const service = await start(carrier, { run: false });
      const ids = await Promise.all(Array.from({ length: 30 }, async (_, n) => (await service.enqueue(mail([`b${n}@gone.example`]))).id!));
      service.start();
      await until(() => service.paused().length === 1);
      await settleDown();
      const first = deliveries.length;
      assert.ok(first >= 3 && first <= 12, `${first} messages to find out`);
      assert.equal(service.paused()[0]!.name, "gone.example");
      clock.advance(30_000);
      await settleDown();
      assert.equal(deliveries.length, first);
      clock.advance(31_000);
      await until(() => deliveries.length === first + 1);
      await settleDown();
      assert.equal(deliveries.length, first + 1, "one is enough to find out");
      for (let n = 0; n < 125; n++) {
        clock.advance(HOUR);
        await settleDown(3);
      }
      for (const id of ids) await until(async () => (await stateOf(service, id)) === "expired");
      await until(() => failures.length === 30);
    });

    test("a smart host is one destination, and gets a message once for all its domains", async (t) => {
      const { start } = await open(t);
      const { carrier, nth } = controlledCarrier({ toSmartHost: true });
      const service = await start(carrier);
      await service.enqueue(mail(["a@one.example", "b@two.example", "c@three.example"]));
      assert.equal((await nth(1)).parcel.to.length, 3);
    });
  });

  describe("housekeeping", () => {
    test("deletes bodies that lost their message, and no others", async (t) => {
      const { start, objects, clock, bodies } = await open(t);
      const service = await start(controlledCarrier().carrier, { run: false });
      await service.enqueue(mail(["b@there.example"]));
      await objects.put("mail/out/2025-12-01/0123456789abcdef0123456789abcdef.eml", Buffer.from("orphan"));
      await objects.put("mail/2025-12-01/of-others.eml", Buffer.from("not ours"));
      assert.equal((await bodies()).length, 3);
      clock.advance(3 * DAY);
      service.start();
      await until(async () => (await bodies()).length === 2);
    });

    test("a body that is gone is a failure that is told, not a message that waits for ever", async (t) => {
      const { start, objects, failures, bodies } = await open(t);
      const service = await start(controlledCarrier().carrier, { run: false });
      const { id } = await service.enqueue(mail(["b@there.example"]));
      await objects.delete(await bodies());
      service.start();
      await until(() => failures.length === 1);
      assert.equal(await stateOf(service, id!), "failed");
    });
  });

  describe("the ways to give a message away", () => {
    test("relay answers with the next hop's words and keeps nothing", async (t) => {
      const { start, bodies, events } = await open(t);
      const { carrier } = controlledCarrier({ answer: ({ end }) => end((rcpt) => (rcpt.startsWith("yes") ? "delivered" : rcpt.startsWith("no") ? "permanent" : "temporary")) });
      const service = await start(carrier);
      const settled = await service.relay.deliver(mail(["yes@there.example", "no@there.example", "later@else.example", "YES@There.example", "nonsense"]));
      assert.deepEqual(settled.map((one) => (one.ok ? "ok" : `${one.temporary} ${one.reply.code} ${one.reply.enhanced}`)), ["ok", "false 550 5.1.1", "true 450 4.2.1", "true 450 4.2.1", "false 553 5.1.3"]);
      assert.deepEqual([(await bodies()).length, (await service.list({})).items.length], [0, 0]);
      assert.deepEqual(events.map(({ step }) => step).sort(), ["bounced", "bounced", "deferred", "deferred", "delivered"]);
    });

    test("relay has its time, and no more than so many at once", async (t) => {
      const { start } = await open(t);
      const { carrier, deliveries } = controlledCarrier();
      const service = await start(carrier, { limits: { relayMs: 30, relaysAtOnce: 1 } });
      const [slow, busy] = await Promise.all([service.relay.deliver(mail(["b@there.example"])), service.relay.deliver(mail(["b@there.example"]))]);
      assert.deepEqual([slow, busy].map(([one]) => !one!.ok && [one!.temporary, one!.reply.code]), [[true, 450], [true, 451]]);
      assert.equal(deliveries.length, 1);
    });

    test("relay then queue: what is put off is queued, what is refused is refused", async (t) => {
      const { start, clock } = await open(t);
      const { carrier, deliveries } = controlledCarrier({ answer: ({ end }) => end((rcpt) => (rcpt.startsWith("yes") ? "delivered" : rcpt.startsWith("no") ? "permanent" : "temporary")) });
      const service = await start(carrier);
      const settled = await service.relayThenQueue.deliver(mail(["yes@there.example", "no@there.example", "later@there.example"]));
      assert.deepEqual(settled.map((one) => (one.ok ? "ok" : one.reply.code)), ["ok", 550, "ok"]);
      const [queued] = (await service.list({})).items;
      assert.deepEqual([queued!.rcpt, queued!.state, queued!.reply!.text, queued!.attempts], ["later@there.example", "deferred", "later", 1]);
      clock.advance(70_000);
      await until(() => deliveries.length === 2);
      assert.deepEqual(deliveries[1]!.parcel.to.map(({ rcpt }) => rcpt), ["later@there.example"]);
    });
  });
}

async function keysOf(objects: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list("mail/")) keys.push(key);
  return keys;
}

/** Everything that can happen without time going on has happened. */
async function settleDown(rounds = 15): Promise<void> {
  for (let n = 0; n < rounds; n++) await new Promise((resolve) => void setTimeout(resolve, 1));
}
