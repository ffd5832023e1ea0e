import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { inspectSpf, type SpfTree } from "./inspect.ts";

const lookup =
  (table: Record<string, string[] | string>) =>
  async (name: string): Promise<string[][]> => {
    const found = table[name];
    if (typeof found === "string" || found === undefined)
      throw Object.assign(new Error("no"), { code: found ?? "ENOTFOUND" });
    return found.map((text) => [text]);
  };
const shape = ({ terms }: SpfTree): unknown[] =>
  terms.map(({ type, value, result, lookups, nested }) => [
    type,
    value,
    result,
    lookups,
    ...(nested ? [shape(nested)] : []),
  ]);
const codes = async (record: string, table: Record<string, string[] | string> = {}) =>
  (await inspectSpf("a.example", record, lookup(table))).problems.map(({ code, domain }) => `${code} ${domain}`);

test("parses a record with everything it includes", async () => {
  const found = await inspectSpf(
    "a.example",
    "v=spf1 ip4:192.0.2.0/24 -ip6:2001:db8::1 a mx/24 ~mx:b.example exists:%{i}.x.example include:c.example ?ptr exp=why.example -all",
    lookup({
      "c.example": ["other", "v=spf1 ip4:192.0.2.9 redirect=d.example"],
      "d.example": ["v=spf1 A:e.example ~all"],
    }),
  );
  assert.deepEqual(shape(found), [
    ["IP4", "192.0.2.0/24", "pass", 0],
    ["IP6", "-2001:db8::1", "fail", 0],
    ["A", "a", "pass", 1],
    ["MX", "mx/24", "pass", 1],
    ["MX", "~mx:b.example", "soft_fail", 1],
    ["EXISTS", "exists:%{i}.x.example", "pass", 1],
    [
      "INCLUDE",
      "include:c.example",
      "pass",
      1,
      [
        ["IP4", "192.0.2.9", "pass", 0],
        [
          "REDIRECT",
          "redirect=d.example",
          "pass",
          1,
          [
            ["A", "A:e.example", "pass", 1],
            ["ALL", "~all", "soft_fail", 0],
          ],
        ],
      ],
    ],
    ["PTR", "?ptr", "neutral", 1],
    ["ALL", "-all", "fail", 0],
  ]);
  assert.deepEqual([found.lookups, found.problems], [8, []]);
});

test("reports problems at any depth", async () => {
  assert.deepEqual(await codes("v=spf1 include:none.example -all"), ["spf_not_found none.example"]);
  assert.deepEqual(await codes("v=spf1 include:slow.example", { "slow.example": "ETIMEOUT" }), [
    "lookup_failed slow.example",
  ]);
  assert.deepEqual(await codes("v=spf1 include:two.example", { "two.example": ["v=spf1 -all", "v=spf1 ~all"] }), [
    "invalid_spf two.example",
  ]);
  assert.deepEqual(await codes("v=spf1 include:a.example"), ["loop_detected a.example"]);
  assert.deepEqual(await codes("v=spf1 include:b.example", { "b.example": ["v=spf1 redirect=a.example"] }), [
    "loop_detected a.example",
  ]);
  assert.deepEqual(
    await codes("v=spf1 ip4:1.2.3 ip4:1.2.3.4/33 ip6:1.2.3.4 include: all:x foo a:%{i}.x.example"),
    Array.from({ length: 6 }, () => "invalid_mechanism a.example"),
  );
  assert.deepEqual(await codes("v=spf2 -all"), ["invalid_spf a.example"]);
  assert.deepEqual(await codes("v=spf1 include:x..example include:local"), [
    "invalid_domain x..example",
    "invalid_domain local",
  ]);
  const table = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`n${index}.example`, ["v=spf1 -all"]]));
  assert.deepEqual(
    await codes(
      `v=spf1 ${Object.keys(table)
        .map((name) => `include:${name}`)
        .join(" ")}`,
      table,
    ),
    ["max_lookups a.example"],
  );
});

test("terminates for records that include each other in a loop", async () => {
  let lookupCount = 0;
  const found = await inspectSpf("a.example", "v=spf1 include:0.example", async (name) => {
    lookupCount++;
    return [[`v=spf1 include:x${name} include:y${name}`]];
  });
  assert.ok(lookupCount <= 40);
  assert.ok(found.problems.some(({ code }) => code === "resource_limit_exceeded"));
});

test("inspects any record without throwing", () =>
  fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 200 }), fc.string({ maxLength: 100 }), async (record, answer) => {
      await inspectSpf("a.example", `v=spf1 include:b.example ${record}`, async () => [[`v=spf1 ${answer}`]]);
    }),
    { numRuns: 300 },
  ));
