import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Invocation } from "../runtime/port.ts";
import { compileFilters, parseFilters } from "./filters.ts";
import { invocationOf, logOf } from "./tails.testing.ts";
import { traceOf } from "./trace.ts";

const request = (more: Partial<Extract<Invocation["event"], { kind: "fetch" }>> = {}): Partial<Invocation> => ({
  event: {
    kind: "fetch",
    method: "POST",
    url: "/a",
    headers: { host: "x.example", "x-word": "one two", authorization: "REDACTED", "cf-connecting-ip": "203.0.113.7" },
    status: 200,
    ...more,
  },
});
const passes = (filters: unknown, more: Partial<Invocation> = {}, random = 0.5) =>
  compileFilters(parseFilters(filters, "203.0.113.7"), () => random)(traceOf(invocationOf(more)));

const thrown = { outcome: "exception" as const, exception: { name: "TypeError", message: "no needle" } };
const CASES: [what: string, filters: unknown[], record: Partial<Invocation>, passes: boolean][] = [
  ["no filter", [], {}, true],
  ["an outcome in the list", [{ outcome: ["exception", "ok"] }], {}, true],
  ["an outcome that is not in the list", [{ outcome: ["exception"] }], {}, false],
  [
    "exceeded wall time, which clients call unknown",
    [{ outcome: ["exception", "exceededCpu", "exceededMemory", "unknown"] }],
    { outcome: "exceededWallTime" },
    true,
  ],
  ["a method, case-insensitive", [{ method: ["get", "post"] }], request(), true],
  ["another method", [{ method: ["GET"] }], request(), false],
  ["a method filter, for a message", [{ method: ["POST"] }], {}, false],
  ["a header that is present", [{ header: { key: "X-Word" } }], request(), true],
  ["a header that is absent", [{ header: { key: "X-Other" } }], request(), false],
  ["a header whose value contains the query", [{ header: { key: "X-WORD", query: "two" } }], request(), true],
  [
    "a header whose value does not contain the query",
    [{ header: { key: "x-word", query: "three" } }],
    request(),
    false,
  ],
  ["a header filter, for a message", [{ header: { key: "x-word" } }], {}, false],
  ["a property inherited from Object.prototype", [{ header: { key: "constructor" } }], request(), false],
  ["a secret header that is present", [{ header: { key: "Authorization" } }], request(), true],
  ["the client's own address", [{ client_ip: ["self"] }], request(), true],
  ["an address in the list", [{ client_ip: ["198.51.100.1", "203.0.113.7"] }], request(), true],
  [
    "an IPv4-mapped IPv6 address",
    [{ client_ip: ["203.0.113.7"] }],
    request({ headers: { "cf-connecting-ip": "::ffff:203.0.113.7" } }),
    true,
  ],
  ["another address", [{ client_ip: ["198.51.100.1"] }], request(), false],
  ["text in a log message", [{ query: "needle" }], { logs: logOf("hay", "a needle") }, true],
  ["text in a logged object", [{ query: "needle" }], { logs: logOf({ deep: ["needle"] }) }, true],
  ["text in an exception", [{ query: "TypeError: no needle" }], thrown, true],
  ["text that does not occur", [{ query: "needle" }], { logs: logOf("hay", null, 1) }, false],
  ["the same version", [{ scriptVersion: "v1" }], {}, true],
  ["another version", [{ scriptVersion: "v2" }], {}, false],
  ["two filters, one of which fails", [{ outcome: ["ok"] }, { scriptVersion: "v2" }], {}, false],
  ["two filters in one object, one of which fails", [{ outcome: ["ok"], scriptVersion: "v2" }], {}, false],
];
for (const [what, filters, record, expected] of CASES)
  test(`${what}: ${expected ? "passes" : "does not pass"}`, () => assert.equal(passes(filters, record), expected));

test("a sampling rate passes its share of the records that pass the other filters", () => {
  assert.equal(passes([{ sampling_rate: 0.4 }], {}, 0.39), true);
  assert.equal(passes([{ sampling_rate: 0.4 }], {}, 0.4), false);
  assert.equal(passes([{ sampling_rate: 1 }], {}, 1), true);
  assert.equal(passes([{ sampling_rate: 0.5 }, { sampling_rate: 0.5 }], {}, 0.25), false);
  let drawn = 0;
  const filter = compileFilters(
    parseFilters([{ sampling_rate: 0.5 }, { outcome: ["exception"] }], undefined),
    () => (drawn++, 0),
  );
  assert.equal(filter(traceOf(invocationOf())), false);
  assert.equal(drawn, 0);
});

const REFUSED: unknown[] = [
  {},
  "x",
  [1],
  [null],
  [[]],
  [{ unknown: 1 }],
  [{ outcome: "ok" }],
  [{ outcome: [] }],
  [{ outcome: [1] }],
  [{ sampling_rate: 0 }],
  [{ sampling_rate: 1.1 }],
  [{ sampling_rate: "1" }],
  [{ sampling_rate: NaN }],
  [{ header: "x" }],
  [{ header: {} }],
  [{ header: { key: "a", query: 1 } }],
  [{ client_ip: ["nobody"] }],
  [{ query: "" }],
  [{ query: "x".repeat(1001) }],
  [{ scriptVersion: 1 }],
  [{ method: Array(101).fill("GET") }],
  Array.from({ length: 21 }, () => ({ query: "x" })),
];
test("rejects invalid filters with a reason", () => {
  for (const filters of REFUSED)
    assert.throws(
      () => parseFilters(filters, "203.0.113.7"),
      (err: { code?: unknown; message: string }) =>
        err.code === 10001 && err.message.startsWith("Invalid tail filter: "),
      JSON.stringify(filters).slice(0, 100),
    );
  assert.throws(() => parseFilters([{ client_ip: ["self"] }], undefined), { code: 10001 });
});

test("any JSON is either accepted as filters or rejected; parsed filters parse to themselves", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.dictionary(
            fc.constantFrom("outcome", "method", "query", "header", "client_ip", "sampling_rate"),
            fc.jsonValue(),
          ),
        ),
      ),
      (given) => {
        try {
          const filters = parseFilters(given, "203.0.113.7");
          assert.deepEqual(parseFilters(JSON.parse(JSON.stringify(filters)), undefined), filters);
        } catch (err) {
          assert.equal((err as { code?: unknown }).code, 10001, String(err));
        }
      },
    ),
  );
});
