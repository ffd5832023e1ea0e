import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock, silentLog as log, systemClock } from "../../kernel/index.ts";
import { createBlockLists } from "./block-lists.ts";

/** Returns a block list client. `answers` is keyed by "type name"; missing names do not exist. */
function blockLists(answers: Record<string, unknown[]>, lists = ["bl.example", "second.example"]) {
  const queries: string[] = [];
  const { find } = createBlockLists({
    lists,
    clock: systemClock,
    log,
    async resolver(name, type) {
      queries.push(`${type} ${name}`);
      const found = answers[`${type} ${name}`];
      if (found === undefined) throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
      return found;
    },
  });
  return { find, queries };
}

test("rejects a listed address with the list's own explanation", async () => {
  const { find, queries } = blockLists({
    "A 2.0.0.127.bl.example": ["127.0.0.4"],
    "TXT 2.0.0.127.bl.example": [["Listed, see ", "https://bl.example/query/127.0.0.2"]],
  });
  assert.deepEqual(await find("127.0.0.2"), {
    code: 554,
    enhanced: "5.7.1",
    text: "127.0.0.2 found on one or more RBLs (bl.example). Refer to https://bl.example/query/127.0.0.2",
  });
  assert.deepEqual(queries, ["A 2.0.0.127.bl.example", "A 2.0.0.127.second.example", "TXT 2.0.0.127.bl.example"]);
  assert.equal(await find("192.0.2.1"), undefined);
});

test("reports every list that contains the address, by name if the list gives no explanation", async () => {
  const { find } = blockLists({
    "A 2.0.0.127.bl.example": ["127.0.0.2"],
    "A 2.0.0.127.second.example": ["127.0.0.10", "127.0.0.11"],
  });
  assert.equal(
    (await find("127.0.0.2"))?.text,
    "127.0.0.2 found on one or more RBLs (bl.example, second.example). Refer to the operator of bl.example",
  );
});

test("RFC 5782 2.4: queries an IPv6 address nibble by nibble", async () => {
  const { find, queries } = blockLists({}, ["bl.example"]);
  await find("2001:db8:1:2:3:4:567:89ab");
  await find("2001:db8::1");
  await find("::1");
  assert.deepEqual(queries, [
    "A b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.8.b.d.0.1.0.0.2.bl.example",
    "A 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.bl.example",
    "A 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.bl.example",
  ]);
});

test("ignores responses that are not listings: outside 127/8, query refused, failure, timeout", async () => {
  const { find } = blockLists({
    "A 2.0.0.127.bl.example": ["198.51.100.7"],
    "A 2.0.0.127.second.example": ["127.255.255.254"],
  });
  assert.equal(await find("127.0.0.2"), undefined);

  const failing = createBlockLists({
    lists: ["bl.example"],
    clock: systemClock,
    log,
    resolver: () => Promise.reject(Object.assign(new Error("lame"), { code: "ESERVFAIL" })),
  });
  assert.equal(await failing.find("127.0.0.2"), undefined);

  const clock = createManualClock();
  const silent = createBlockLists({ lists: ["bl.example"], clock, log, resolver: () => new Promise(() => {}) });
  const found = silent.find("127.0.0.2");
  clock.advance(3000);
  assert.equal(await found, undefined);
});
