import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { onEveryDatabase, type TestEngine } from "../../../../test/support/databases.ts";
import { randomIds, silentLog, systemClock } from "../../../kernel/index.ts";
import { createJobs, createLocalEvents, jobsMigrations } from "../../../store/index.ts";
import { createZones } from "../../create.ts";
import { zonesMigrations } from "../../migrations.ts";
import type { Zone } from "../../types.ts";
import { ACCOUNT } from "../../zones.testing.ts";
import { dnsErrors } from "../provider/errors.ts";
import { recordKey, checkedChange, rejectForeign } from "../provider/change.ts";
import type { DnsProvider, ProviderRecord } from "../provider/port.ts";
import { knotd, startKnot } from "../provider/knot.testing.ts";
import { createRfc2136Provider } from "../provider/rfc2136.ts";
import { createPusher } from "./pusher.ts";

/** Returns an in-memory provider. `fails` is thrown before a change, `failsAfter` after it. */
function memoryProvider() {
  const records = new Map<string, ProviderRecord>();
  const state = {
    records,
    applied: 0,
    fails: undefined as Error | undefined,
    failsAfter: undefined as Error | undefined,
  };
  const provider: DnsProvider = {
    kind: "powerdns",
    async apply(zone, change) {
      if (state.fails !== undefined) throw state.fails;
      const checked = checkedChange(zone, change);
      rejectForeign(change.mustBeAbsent, [...records.values()], checked);
      for (const record of checked.remove) records.delete(recordKey(record));
      for (const record of checked.add) records.set(recordKey(record), record);
      state.applied++;
      if (state.failsAfter !== undefined) throw state.failsAfter;
    },
    current: async () => [],
  };
  return {
    state,
    provider,
    shown: () => [...records.values()].map(({ name, type, content }) => `${name} ${type} ${content}`).sort(),
  };
}

async function start(t: TestContext, engine: TestEngine, provider: DnsProvider) {
  const { db } = await engine.open(t, [...zonesMigrations, ...jobsMigrations]);
  const events = createLocalEvents({ log: silentLog });
  const parts = { db, events, clock: systemClock, ids: randomIds };
  const jobs = createJobs({ ...parts, log: silentLog });
  const zones = createZones({ ...parts, nameServers: ["ns1.reelpost.example"] });
  const open = () => createPusher({ ...parts, jobs, log: silentLog, provider, pollMs: 50 });
  let pusher = open();
  t.after(async () => {
    await pusher.close();
    zones.close();
    await events.close();
  });
  return {
    db,
    zones,
    status: (zone: Zone) => pusher.status(zone.id),
    async restart() {
      await pusher.close();
      pusher = open();
    },
    newZone: (name = "example.com") => zones.create({ account: ACCOUNT, name }),
    /** Waits for a condition: pushes run in the background. */
    async until(is: () => boolean | Promise<boolean>) {
      for (const deadline = Date.now() + 60_000; !(await is()); await sleep(25))
        assert.ok(Date.now() < deadline, "timed out after a minute");
    },
  };
}

const MX = (content: string, priority = 10) => ({ type: "MX", name: "@", content, priority });
const ROUTING = {
  owner: "email-routing",
  locked: true,
  records: [MX("mx1.us.example"), { type: "TXT", name: "@", content: "v=spf1 include:_spf.us.example ~all" }],
};

describe("records on an external server", () => {
  onEveryDatabase((engine) => {
    test("follow every change by users and components, and the deletion of the zone", async (t) => {
      const { state, provider, shown } = memoryProvider();
      const { zones, newZone, until, status } = await start(t, engine, provider);
      const zone = await newZone();
      const www = await zones.records.create(zone, { type: "A", name: "www", content: "192.0.2.1" });
      await until(async () => (await status(zone)).done);
      assert.deepEqual(shown(), ["www.example.com A 192.0.2.1"]);
      await zones.records.managed.set(zone, ROUTING);
      await zones.records.update(zone, www.id, { content: "192.0.2.2" });
      await until(async () => (await status(zone)).done);
      assert.deepEqual(shown(), [
        "example.com MX mx1.us.example",
        'example.com TXT "v=spf1 include:_spf.us.example ~all"',
        "www.example.com A 192.0.2.2",
      ]);
      await zones.records.managed.remove(zone, "email-routing");
      await until(async () => (await status(zone)).done);
      assert.deepEqual(shown(), ["www.example.com A 192.0.2.2"]);
      await zones.delete(zone.id);
      await until(() => state.records.size === 0);
    });

    test("are pushed by one job at a time, without delaying other zones", async (t) => {
      const { provider } = memoryProvider();
      const begun = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      let [inside, most] = [0, 0];
      const slow: DnsProvider = {
        ...provider,
        async apply(about, ...rest) {
          if (about.name === "other.example") return provider.apply(about, ...rest);
          most = Math.max(most, ++inside);
          begun.resolve();
          await goOn.promise;
          await provider.apply(about, ...rest).finally(() => inside--);
        },
      };
      const { zones, newZone, until, status } = await start(t, engine, slow);
      const [zone, other] = [await newZone(), await newZone("other.example")];
      await zones.records.managed.set(zone, ROUTING);
      await begun.promise;
      await zones.records.create(zone, { type: "A", name: "www", content: "192.0.2.1" });
      await zones.records.create(other, { type: "A", name: "www", content: "192.0.2.1" });
      await until(async () => (await status(other)).done);
      goOn.resolve();
      await until(async () => (await status(zone)).done);
      assert.equal(most, 1);
    });

    test("are not added to a foreign MX or SPF set, which is reported as a conflict until it is removed, while other records are pushed", async (t) => {
      const { state, provider, shown } = memoryProvider();
      const theirs: ProviderRecord = {
        name: "example.com",
        type: "MX",
        content: "mail.theirs.example",
        priority: 5,
        ttl: 300,
      };
      state.records.set(recordKey(theirs), theirs);
      const { zones, newZone, until, status } = await start(t, engine, provider);
      const zone = await newZone();
      await zones.records.create(zone, { type: "A", name: "www", content: "192.0.2.1" });
      await zones.records.managed.set(zone, ROUTING);
      await until(async () => (await status(zone)).problems.length > 0 && state.records.size === 2);
      assert.deepEqual(shown(), ["example.com MX mail.theirs.example", "www.example.com A 192.0.2.1"]);
      const { problems, done } = await status(zone);
      assert.deepEqual(
        [done, problems.map(({ owner, code }) => `${owner} ${code}`)],
        [false, ["email-routing foreignRecords"]],
      );
      assert.match(problems[0]!.message, /other MX records: 5 mail\.theirs\.example/);
      state.records.delete(recordKey(theirs));
      await zones.records.create(zone, { type: "A", name: "www2", content: "192.0.2.1" });
      await until(async () => (await status(zone)).done);
      assert.equal(state.records.size, 4);
      // A second managed MX record does not conflict with the first.
      await zones.records.managed.set(zone, { ...ROUTING, records: [...ROUTING.records, MX("mx2.us.example", 20)] });
      await until(async () => (await status(zone)).done);
      assert.equal(state.records.size, 5);
    });

    test("arrive even if the external server and this program were down", async (t) => {
      const { state, provider, shown } = memoryProvider();
      state.fails = dnsErrors.unreachable({ server: "x", reason: "gone" });
      const { zones, newZone, until, status, restart } = await start(t, engine, provider);
      const zone = await newZone();
      await zones.records.create(zone, { type: "A", name: "www", content: "192.0.2.1" });
      await until(async () => (await status(zone)).problems.some(({ code }) => code === "unreachable"));
      state.fails = undefined;
      await restart();
      await until(async () => (await status(zone)).done);
      assert.deepEqual(shown(), ["www.example.com A 192.0.2.1"]);
    });

    test("are stored before they are pushed, so that a crash leaves no unknown records behind", async (t) => {
      const { state, provider, shown } = memoryProvider();
      // The change was applied, but the response was lost.
      state.failsAfter = dnsErrors.unreachable({ server: "x", reason: "gone" });
      const { zones, newZone, until, status } = await start(t, engine, provider);
      const zone = await newZone();
      const record = await zones.records.create(zone, { type: "A", name: "www", content: "192.0.2.1" });
      await until(() => state.records.size === 1);
      await zones.records.delete(zone, record.id);
      state.failsAfter = undefined;
      await until(async () => (await status(zone)).done);
      assert.deepEqual(shown(), []);
    });

    test("of a large zone are pushed in steps", async (t) => {
      const { state, provider } = memoryProvider();
      const { zones, newZone, until, status } = await start(t, engine, provider);
      const zone = await newZone();
      await zones.records.import(
        zone,
        Array.from({ length: 950 }, (_, index) => `h${index} 300 A 192.0.2.${index % 250}\n`).join(""),
      );
      await until(async () => (await status(zone)).done);
      assert.equal(state.records.size, 950);
      assert.equal(state.applied >= 10 && state.applied < 40, true, `${state.applied} steps`);
    });

    test(
      "become visible on Knot, which serves them, and are removed again",
      { skip: knotd === undefined && process.env["REQUIRE_ALL"] !== "1" && "Knot is not installed" },
      async (t) => {
        const knot = await startKnot({ "example.com": "old MX 5 mail.theirs.example.\n" });
        t.after(() => knot.stop());
        const provider = createRfc2136Provider({ server: knot, key: knot.key, clock: systemClock });
        const { zones, newZone, until, status } = await start(t, engine, provider);
        const zone = await newZone();
        await zones.records.managed.set(zone, ROUTING);
        await zones.records.create(zone, { type: "A", name: "www", content: "192.0.2.1" });
        await until(async () => (await status(zone)).done);
        const there = () =>
          provider.current(zone, [
            { name: "example.com", type: "MX" },
            { name: "example.com", type: "TXT" },
            { name: "www.example.com", type: "A" },
          ]);
        assert.deepEqual((await there()).map(({ content }) => content).sort(), [
          '"v=spf1 include:_spf.us.example ~all"',
          "192.0.2.1",
          "mx1.us.example",
        ]);
        await zones.records.managed.set(zone, {
          ...ROUTING,
          owner: "email-routing/old",
          records: [{ ...MX("mx1.us.example"), name: "old" }],
        });
        await until(async () => (await status(zone)).problems.length === 1);
        assert.deepEqual(
          (await status(zone)).problems.map(({ code, owner }) => `${owner} ${code}`),
          ["email-routing/old foreignRecords"],
        );
        await zones.delete(zone.id);
        await until(async () => (await there()).length === 0);
      },
    );
  });
});
