import assert from "node:assert/strict";
import { test } from "node:test";
import { resolverOf } from "../outbound.testing.ts";
import { findNextHops, type RouteOptions } from "./next-hops.ts";

const zone = {
  "many.example": {
    mx: [
      [20, "c.example."],
      [10, "B.example"],
      [10, "a.example"],
      [30, "nowhere.example"],
    ] as [number, string][],
  },
  "a.example": { a: ["192.0.2.1"], aaaa: ["2001:db8::1"] },
  "b.example": { a: ["192.0.2.2", "192.0.2.3"] },
  "c.example": { aaaa: ["2001:db8::3"] },
  "plain.example": { a: ["192.0.2.9"] },
  "null.example": { mx: [[0, "."]] as [number, string][], a: ["192.0.2.9"] },
  "empty.example": {},
  "broken.example": { fail: "ESERVFAIL" },
  "lame.example": { mx: [[10, "broken.example"]] as [number, string][] },
  "gone.example": { mx: [[10, "nowhere.example"]] as [number, string][] },
  "numbers.example": { mx: [[10, "192.0.2.7"]] as [number, string][] },
  "ours.example": {
    mx: [
      [10, "us.example"],
      [10, "a.example"],
      [20, "b.example"],
    ] as [number, string][],
  },
  "backed.example": {
    mx: [
      [10, "a.example"],
      [20, "us.example"],
      [20, "b.example"],
      [30, "c.example"],
    ] as [number, string][],
  },
};

const route = async (domain: string, more: Partial<RouteOptions> = {}) => {
  const routed = await findNextHops(domain, {
    resolver: resolverOf(zone),
    port: 25,
    families: [4, 6],
    ownNames: new Set(["us.example"]),
    mayConnect: () => true,
    random: () => 0,
    ...more,
  });
  return routed.ok
    ? routed.hops.map(({ host, address }) => `${host}/${address}`)
    : `${routed.permanent ? "permanent" : "temporary"} ${routed.reply.code} ${routed.reply.enhanced}`;
};

for (const [domain, expected] of Object.entries({
  "many.example": [
    "b.example/192.0.2.2",
    "b.example/192.0.2.3",
    "a.example/192.0.2.1",
    "a.example/2001:db8::1",
    "c.example/2001:db8::3",
  ],
  "plain.example": ["plain.example/192.0.2.9"],
  "null.example": "permanent 556 5.1.10",
  "empty.example": "permanent 550 5.4.4",
  "nowhere.example": "permanent 550 5.1.2",
  "broken.example": "temporary 451 4.4.3",
  "lame.example": "temporary 451 4.4.3",
  "gone.example": "permanent 550 5.4.4",
  "numbers.example": ["192.0.2.7/192.0.2.7"],
  "ours.example": "permanent 554 5.4.6",
  "backed.example": ["a.example/192.0.2.1", "a.example/2001:db8::1"],
  "[192.0.2.5]": ["192.0.2.5/192.0.2.5"],
  "[IPv6:2001:db8::5]": ["2001:db8::5/2001:db8::5"],
  "[nonsense]": "permanent 550 5.1.2",
})) {
  test(`mail to ${domain} goes to ${String(expected)}`, async () => assert.deepEqual(await route(domain), expected));
}

test("randomizes only hosts of equal preference", async () => {
  let next = 1;
  const reversed = await route("many.example", { random: () => (next -= 0.1) });
  assert.deepEqual([reversed[0], reversed.at(-1)], ["a.example/192.0.2.1", "c.example/2001:db8::3"]);
});

test("the order of address families is configurable, and one can be omitted", async () => {
  assert.deepEqual(await route("a.example", { families: [6, 4] }), ["a.example/2001:db8::1", "a.example/192.0.2.1"]);
  assert.deepEqual(await route("a.example", { families: [4] }), ["a.example/192.0.2.1"]);
});

test("ignores addresses to which mail may not be sent", async () => {
  assert.deepEqual(await route("many.example", { mayConnect: (address) => address === "192.0.2.1" }), [
    "a.example/192.0.2.1",
  ]);
  assert.equal(await route("plain.example", { mayConnect: () => false }), "permanent 550 5.4.4");
});
