import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { createLocalEvents } from "../../store/index.ts";
import { createHostOwners } from "./host-owners.ts";

function start(t: TestContext) {
  const clock = createManualClock(0);
  const events = createLocalEvents({ log: silentLog });
  const zones = new Map([["shop.example", "a"]]);
  let reads = 0;
  let isBroken = false;
  let gate = Promise.resolve();
  const owners = createHostOwners({
    zones: {
      async findEnclosing(host) {
        reads++;
        if (isBroken) throw new Error("the database is unavailable");
        const [name, account] =
          [...zones]
            .filter(([each]) => host === each || host.endsWith(`.${each}`))
            .sort(([one], [other]) => other.length - one.length)[0] ?? [];
        await gate;
        return name === undefined ? undefined : { id: name, name, account: account! };
      },
    },
    events,
    zoneDeletedTopic: "zone-deleted",
    clock,
  });
  t.after(async () => {
    owners.close();
    await events.close();
  });
  return {
    clock,
    events,
    zones,
    owners,
    reads: () => reads,
    /** Holds reads open until the returned function is called. */
    slowDown() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    breakDatabase: () => void (isBroken = true),
  };
}

test("the closest zone that contains a host determines its owner", async (t) => {
  const { owners, zones, clock, reads } = start(t);
  assert.equal(await owners.find("www.shop.example"), "a");
  assert.equal(owners.find("www.shop.example"), "a");
  assert.equal(reads(), 1);
  zones.set("www.shop.example", "b");
  clock.advance(5000);
  assert.equal(await owners.find("www.shop.example"), "b");
  assert.equal(await owners.find("other.example"), undefined);
});

test("a deleted zone has no owner as soon as its event arrives, even if a read began earlier", async (t) => {
  const { owners, zones, events, slowDown } = start(t);
  assert.equal(await owners.find("shop.example"), "a");
  const finishReads = slowDown();
  const slowRead = owners.find("www.shop.example");
  zones.delete("shop.example");
  const heard = new Promise<void>((resolve) => void events.subscribe("zone-deleted", () => resolve()));
  events.publish("zone-deleted", "shop.example");
  await heard;
  finishReads();
  await slowRead;
  assert.equal(await owners.find("shop.example"), undefined);
  assert.equal(await owners.find("www.shop.example"), undefined);
});

test("a known owner stays known while the database is unavailable", async (t) => {
  const { owners, clock, breakDatabase } = start(t);
  assert.equal(await owners.find("shop.example"), "a");
  breakDatabase();
  clock.advance(60_000);
  assert.equal(await owners.find("shop.example"), "a");
  await assert.rejects(async () => owners.find("www.shop.example"), /unavailable/);
});
