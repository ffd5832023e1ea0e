import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { providerRecord } from "../provider/change.ts";
import type { RecordResolver } from "./record-resolver.ts";
import { createRecordWatch, type ExpectedRecord } from "./watch.ts";

function start() {
  const clock = createManualClock(1_000_000);
  const there = new Map<string, string[] | Error>();
  const looks: string[] = [];
  const resolver: RecordResolver = {
    name: "test",
    async resolve(name, type) {
      looks.push(`${name} ${type}`);
      const found = there.get(`${name} ${type}`) ?? [];
      if (found instanceof Error) throw found;
      return found.map((content) =>
        type === "MX"
          ? providerRecord(name, "MX", { priority: 10, target: content }, 60)
          : providerRecord(name, "TXT", { strings: [content] }, 60),
      );
    },
  };
  const watch = createRecordWatch({ resolvers: [resolver], clock, log: silentLog });
  const settle = async () => {
    for (let round = 0; round < 20; round++) await nextRound();
  };
  return { clock, there, looks, watch, settle };
}

const MX: ExpectedRecord = { type: "MX", name: "a.example", content: "mx.us.example", priority: 10, ttl: 1 };
const SPF: ExpectedRecord = { type: "TXT", name: "a.example", content: "v=spf1 include:_spf.us.example ~all", ttl: 1 };
const DKIM: ExpectedRecord = { type: "TXT", name: "k._domainkey.a.example", content: "v=DKIM1; p=x", ttl: 1 };

test("reports missing records from memory after the first check, and checks again automatically", async () => {
  const { clock, there, looks, watch, settle } = start();
  assert.equal(await watch.missing("a.example", [MX, SPF]), undefined);
  await settle();
  assert.deepEqual(await watch.missing("a.example", [MX, SPF]), [MX, SPF]);
  assert.equal(looks.length, 2);
  there.set("a.example MX", ["mx.us.example"]);
  there.set("a.example TXT", ["v=spf1 include:_spf.us.example ip4:192.0.2.1 -all"]);
  clock.advance(60_000);
  await settle();
  assert.deepEqual(await watch.missing("a.example", [MX, SPF]), []);
  // Complete sets are checked less frequently.
  const before = looks.length;
  clock.advance(60_000);
  await settle();
  assert.equal(looks.length, before);
  watch.close();
});

test("keeps the previous result if a lookup fails", async () => {
  const { clock, there, watch, settle } = start();
  there.set("a.example MX", ["mx.us.example"]);
  await watch.missing("a.example", [MX, SPF]);
  await settle();
  assert.deepEqual(await watch.missing("a.example", [MX, SPF]), [SPF]);
  there.set("a.example MX", new Error("SERVFAIL"));
  there.set("a.example TXT", new Error("SERVFAIL"));
  clock.advance(60_000);
  await settle();
  assert.deepEqual(await watch.missing("a.example", [MX, SPF]), [SPF]);
  watch.close();
});

test("tracks two record sets of one name separately, and drops sets that are no longer queried", async () => {
  const { clock, looks, watch, settle } = start();
  await watch.missing("a.example", [MX]);
  await watch.missing("a.example", [DKIM]);
  await settle();
  assert.deepEqual([await watch.missing("a.example", [MX]), await watch.missing("a.example", [DKIM])], [[MX], [DKIM]]);
  for (let minute = 0; minute < 62; minute++) {
    clock.advance(60_000);
    await settle();
  }
  const before = looks.length;
  clock.advance(60_000);
  await settle();
  assert.equal(looks.length, before);
  assert.equal(await watch.missing("a.example", [MX]), undefined);
  watch.close();
});

test("a check on demand returns everything, including conflicts", async () => {
  const { there, watch } = start();
  there.set("a.example MX", ["mx.us.example", "mx.them.example"]);
  const { status, conflicts } = await watch.check("a.example", [MX]);
  assert.deepEqual([status, conflicts.map(({ kind }) => kind)], ["misconfigured", ["foreignMx"]]);
  watch.close();
});
