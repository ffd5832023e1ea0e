import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { createLocalEvents } from "../../../store/index.ts";
import type { OutboundTables } from "./migrations.ts";
import { NOON, HOUR, MINUTE, controlledAgent, until, mail, openOn, stateOf, settleDown } from "./queue.testing.ts";

/** Tests queue runners on every database engine: several concurrent runners, and many destinations. */
export function runnersConformance(engine: TestEngine): void {
  const open = openOn(engine);

  describe("several runners", () => {
    test("share the work without duplicates", async (t) => {
      const { start } = await open(t);
      const agents = Array.from({ length: 3 }, () => controlledAgent({ answer: ({ end }) => setImmediate(end) }));
      const services = await Promise.all(agents.map(({ agent }) => start(agent, { run: false })));
      const ids = await Promise.all(
        Array.from(
          { length: 60 },
          async (_, n) => (await services[n % 3]!.enqueue(mail([`b${n}@d${n % 4}.example`]))).id!,
        ),
      );
      for (const service of services) service.start();
      for (const id of ids) await until(async () => (await services[0]!.get(id))!.message.finishedAt !== undefined);
      const delivered = agents.flatMap(({ deliveries }) =>
        deliveries.flatMap(({ parcel }) => parcel.to.map(({ rcpt }) => rcpt)),
      );
      assert.deepEqual(delivered.sort(), Array.from({ length: 60 }, (_, n) => `b${n}@d${n % 4}.example`).sort());
    });

    test("take over from a dead runner when its lease has expired", async (t) => {
      const { start, clock } = await open(t);
      const dead = controlledAgent();
      const alive = controlledAgent();
      // The clock of this runner does not advance, so it renews no leases.
      const first = await start(dead.agent, { clock: createManualClock(NOON) });
      const { id } = await first.enqueue(mail(["b@there.example"]));
      await dead.nth(1);
      const second = await start(alive.agent);
      clock.advance(50_000);
      await settleDown();
      assert.equal(alive.deliveries.length, 0);
      clock.advance(45_000);
      (await alive.nth(1)).end();
      await until(async () => (await stateOf(second, id!)) === "delivered");
      // Later results of the dead runner have no effect.
      dead.deliveries[0]!.end("permanent");
      await settleDown();
      assert.equal(await stateOf(second, id!), "delivered");
    });

    test("keep their messages for as long as the delivery takes", async (t) => {
      const { db, start, clock } = await open(t);
      const leaseUntil = async () =>
        (await db.tables<OutboundTables>().selectFrom("outbound_recipients").select("lease_until").executeTakeFirst())
          ?.lease_until ?? 0;
      const slow = controlledAgent();
      const other = controlledAgent();
      const first = await start(slow.agent);
      const { id } = await first.enqueue(mail(["b@there.example"]));
      await slow.nth(1);
      await start(other.agent);
      for (let n = 0; n < 40; n++) {
        clock.advance(5_000);
        // Advances the clock only after the renewal: a lease of 60 s is renewed well before it expires.
        await until(async () => (await leaseUntil()) > clock.now() + 30_000);
      }
      assert.equal(other.deliveries.length, 0);
      slow.deliveries[0]!.end();
      await until(async () => (await stateOf(first, id!)) === "delivered");
    });

    test("release unfinished deliveries when they stop, without counting the attempt", async (t) => {
      const { start } = await open(t);
      const hung = controlledAgent();
      const service = await start(hung.agent);
      const { id } = await service.enqueue(mail(["b@there.example"]));
      await hung.nth(1);
      await service.stop({ graceMs: 0 });
      const found = (await service.get(id!))!.recipients[0]!;
      assert.deepEqual([found.state, found.attempts], ["queued", 0]);
      const next = controlledAgent();
      const after = await start(next.agent);
      (await next.nth(1)).end();
      await until(async () => (await stateOf(after, id!)) === "delivered");
    });
  });

  describe("destinations", () => {
    test("use few concurrent deliveries if they hang, and do not delay others", async (t) => {
      const { start } = await open(t);
      const { agent, deliveries } = controlledAgent({
        answer: ({ domain, end }) => void (domain !== "slow.example" && setImmediate(end)),
      });
      const service = await start(agent, { run: false, limits: { maxConcurrent: 10 } });
      await Promise.all(Array.from({ length: 60 }, (_, n) => service.enqueue(mail([`b${n}@slow.example`]))));
      const quick = await Promise.all(
        Array.from({ length: 40 }, async (_, n) => (await service.enqueue(mail([`c@quick${n % 20}.example`]))).id!),
      );
      service.start();
      for (const id of quick) await until(async () => (await stateOf(service, id)) === "delivered");
      assert.ok(
        deliveries.filter(({ domain }) => domain === "slow.example").length <= 2,
        "no lanes are added without a success",
      );
    });

    test("have a maximum number of messages in progress, which grows to the limit with success", async (t) => {
      const { start } = await open(t);
      let now = 0;
      let most = 0;
      const ends: (() => void)[] = [];
      const { agent, deliveries } = controlledAgent({
        answer: ({ end }) => {
          most = Math.max(most, ++now);
          ends.push(() => {
            now--;
            end();
          });
        },
      });
      const service = await start(agent, { run: false, limits: { perDestination: 4 } });
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

    test("start at most the maximum number of messages per minute", async (t) => {
      const { start, clock } = await open(t);
      const { agent, deliveries } = controlledAgent({ answer: ({ end }) => setImmediate(end) });
      const service = await start(agent, { limits: { perMinute: 6 } });
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

    test("are retried immediately by resend despite a pause, in every process", async (t) => {
      const { start, clock } = await open(t);
      let down = true;
      const resumed: string[] = [];
      const { agent, deliveries } = controlledAgent({
        answer: ({ end }) => setImmediate(() => end(down ? "unreachable" : "delivered")),
      });
      const events = createLocalEvents({ log: silentLog });
      const service = await start({ ...agent, resume: async (domain) => void resumed.push(domain) }, { events });
      const other = await start(controlledAgent().agent, { run: false, events });
      const ids = await Promise.all(
        Array.from(
          { length: 5 },
          async (_, n) => (await service.enqueue(mail([`b${n}@gone.example`], { account: "a1" }))).id!,
        ),
      );
      const recipient = async (id: string) => (await other.get(id))!.recipients[0]!;
      await until(async () => (await recipient(ids[0]!)).paused !== undefined);
      await until(async () => (await service.list({ account: "a1", state: "delivering" })).items.length === 0);
      const pausedUntil = clock.now() + MINUTE;
      for (const id of ids) {
        const { paused, nextTry } = await recipient(id);
        assert.deepEqual([paused?.until.getTime(), paused?.why], [pausedUntil, "later"]);
        assert.ok(nextTry!.getTime() >= pausedUntil, "the next attempt is not before the end of the pause");
      }
      assert.deepEqual(await other.pausesOf("a1"), [
        { destination: "gone.example", until: new Date(pausedUntil), why: "later" },
      ]);
      assert.deepEqual(await other.pausesOf("a2"), []);
      down = false;
      const before = deliveries.length;
      await other.resend(ids[4]!);
      await until(async () => (await stateOf(service, ids[4]!)) === "delivered");
      assert.ok(deliveries.length > before);
      assert.ok(
        resumed.every((domain) => domain === "gone.example") && resumed.length > 0,
        "the hosts of the destination are resumed too",
      );
      await until(async () => (await other.pausesOf("a1")).length === 0);
    });

    test("stay paused across a restart of the process", async (t) => {
      const { start } = await open(t);
      const { agent, deliveries } = controlledAgent({ answer: ({ end }) => setImmediate(end, "unreachable") });
      const first = await start(agent);
      for (let n = 0; n < 5; n++) await first.enqueue(mail([`b${n}@gone.example`]));
      await until(async () => (await first.list({})).items.some(({ paused }) => paused !== undefined));
      await until(async () => (await first.list({ state: "delivering" })).items.length === 0);
      await first.stop({ graceMs: 0 });
      const before = deliveries.length;
      const second = await start(agent);
      await second.enqueue(mail(["c@gone.example"]));
      await until(() => second.paused().length > 0);
      await settleDown();
      assert.deepEqual([second.paused().map(({ name }) => name), deliveries.length], [["gone.example"], before]);
    });

    test("are paused if unreachable and probed with one message later, while their mail still expires", async (t) => {
      const { start, clock, failures } = await open(t);
      const { agent, deliveries } = controlledAgent({ answer: ({ end }) => setImmediate(end, "unreachable") });
      const service = await start(agent, { run: false });
      const ids = await Promise.all(
        Array.from({ length: 30 }, async (_, n) => (await service.enqueue(mail([`b${n}@gone.example`]))).id!),
      );
      service.start();
      const noneUnderWay = () => until(async () => (await service.list({ state: "delivering" })).items.length === 0);
      await until(() => service.paused().length === 1);
      await noneUnderWay();
      await settleDown();
      const first = deliveries.length;
      assert.ok(first >= 3 && first <= 12, `${first} messages were attempted before the pause`);
      assert.equal(service.paused()[0]!.name, "gone.example");
      clock.advance(30_000);
      await settleDown();
      assert.equal(deliveries.length, first);
      clock.advance(31_000);
      await until(() => deliveries.length === first + 1);
      await noneUnderWay();
      await settleDown();
      assert.equal(deliveries.length, first + 1, "one message probes the destination");
      for (let n = 0; n < 125; n++) {
        clock.advance(HOUR);
        await settleDown(3);
      }
      for (const id of ids) await until(async () => (await stateOf(service, id)) === "expired");
      await until(() => failures.length === 30);
    });

    test("count as one behind a smart host, which gets a message once for all its domains", async (t) => {
      const { start } = await open(t);
      const { agent, nth } = controlledAgent({ toSmartHost: true });
      const service = await start(agent);
      await service.enqueue(mail(["a@one.example", "b@two.example", "c@three.example"]));
      assert.equal((await nth(1)).parcel.to.length, 3);
    });
  });

  describe("three processes together", () => {
    const peersOf = (index: number) => () => ({ count: 3, index });

    test("share the limit of concurrent messages to a destination", async (t) => {
      const { start } = await open(t);
      let now = 0;
      let most = 0;
      const ends: (() => void)[] = [];
      let isOpen = false;
      const { agent, deliveries } = controlledAgent({
        answer({ end }) {
          most = Math.max(most, ++now);
          const finish = () => {
            now--;
            end();
          };
          if (isOpen) setImmediate(finish);
          else ends.push(finish);
        },
      });
      const services = await Promise.all(
        [0, 1, 2].map((index) => start(agent, { run: false, limits: { perDestination: 4 }, peers: peersOf(index) })),
      );
      await Promise.all(Array.from({ length: 90 }, (_, n) => services[0]!.enqueue(mail([`b${n}@there.example`]))));
      for (const service of services) service.start();
      await until(() => now === 4);
      isOpen = true;
      for (const end of ends) end();
      await until(() => deliveries.length === 90 && now === 0);
      assert.equal(most, 4);
    });

    test("share the limit of messages per minute to a destination", async (t) => {
      const { start, clock } = await open(t);
      const { agent, deliveries } = controlledAgent({ answer: ({ end }) => setImmediate(end) });
      const services = await Promise.all(
        [0, 1, 2].map((index) => start(agent, { run: false, limits: { perMinute: 60 }, peers: peersOf(index) })),
      );
      await Promise.all(Array.from({ length: 90 }, (_, n) => services[0]!.enqueue(mail([`b${n}@there.example`]))));
      for (const service of services) service.start();
      await until(() => deliveries.length === 3);
      for (let seconds = 3; seconds <= 30; seconds += 3) {
        clock.advance(2900);
        await settleDown();
        assert.equal(deliveries.length, seconds);
        clock.advance(100);
        await until(() => deliveries.length === seconds + 3);
      }
    });

    test("detect an unreachable destination once, and probe it with only one message", async (t) => {
      const { start, clock } = await open(t);
      const { agent, deliveries } = controlledAgent({ answer: ({ end }) => setImmediate(end, "unreachable") });
      const events = createLocalEvents({ log: silentLog });
      const services = await Promise.all(
        [0, 1, 2].map((index) => start(agent, { run: false, events, peers: peersOf(index) })),
      );
      await Promise.all(Array.from({ length: 60 }, (_, n) => services[0]!.enqueue(mail([`b${n}@gone.example`]))));
      for (const service of services) service.start();
      const areAllPaused = () => services.every((service) => service.paused().length === 1);
      // Processes that paused it concurrently agree on one of them; the pauses of the others end five seconds later. On a
      // busy machine, until() advances the clock by some milliseconds, so that they also differ before the agreement.
      const haveAgreed = () => {
        const ends = services.map((service) => service.paused()[0]?.until.getTime() ?? 0);
        return ends.filter((end) => end < Math.min(...ends) + 1000).length === 1;
      };
      const noneUnderWay = () =>
        until(async () => (await services[0]!.list({ state: "delivering" })).items.length === 0);
      await until(areAllPaused);
      await until(haveAgreed);
      await noneUnderWay();
      const first = deliveries.length;
      // At least the threshold of three; at most three more from each process that were in progress.
      assert.ok(first >= 3 && first <= 12, `${first} messages were attempted before the pause`);
      clock.advance(61_000);
      await until(() => deliveries.length === first + 1);
      await noneUnderWay();
      await until(areAllPaused);
      clock.advance(30_000);
      await settleDown();
      assert.equal(deliveries.length, first + 1);
    });
  });
}
