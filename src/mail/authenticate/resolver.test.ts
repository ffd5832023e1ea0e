import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../kernel/index.ts";
import { boundedResolver, DEFAULT_LOOKUP_LIMITS, type Resolver } from "./resolver.ts";
import { tableResolver } from "./suites.testing.ts";

const code = (wanted: string) => (err: unknown) => (err as { code?: string }).code === wanted;
const never: Resolver = () => new Promise(() => {});

test("sends each query once, regardless of case", async () => {
  const table = tableResolver({ "a.example A": ["192.0.2.1"] });
  const resolver = boundedResolver(table, createManualClock(), DEFAULT_LOOKUP_LIMITS);
  assert.deepEqual(await Promise.all([resolver("a.example", "A"), resolver("A.Example", "A")]), [
    ["192.0.2.1"],
    ["192.0.2.1"],
  ]);
  await assert.rejects(resolver("b.example", "A"), code("ENOTFOUND"));
  await assert.rejects(resolver("b.example", "A"), code("ENOTFOUND"));
  assert.equal(table.queries.length, 2);
});

test("treats a missing response as a timeout, per query and in total", async () => {
  const clock = createManualClock();
  const resolver = boundedResolver(never, clock, { lookups: 10, lookupMs: 5000, totalMs: 8000 });
  const first = resolver("a.example", "A");
  clock.advance(5000);
  await assert.rejects(first, code("ETIMEOUT"));
  const second = resolver("b.example", "A");
  clock.advance(3000);
  await assert.rejects(second, code("ETIMEOUT"));
  await assert.rejects(resolver("c.example", "A"), code("ETIMEOUT"));
  assert.equal(resolver.queryCount, 2);
});

test("sends no queries for invalid DNS names or beyond the limit", async () => {
  const table = tableResolver({ "a.example A": ["192.0.2.1"] });
  const resolver = boundedResolver(table, createManualClock(), { ...DEFAULT_LOOKUP_LIMITS, lookups: 1 });
  for (const name of ["", ".", "a..example", `${"x".repeat(64)}.example`, "a.".repeat(130)])
    await assert.rejects(resolver(name, "TXT"), code("ENOTFOUND"), name);
  assert.deepEqual(await resolver("a.example.", "A"), ["192.0.2.1"]);
  await assert.rejects(resolver("b.example", "A"), code("ETIMEOUT"));
  assert.equal(table.queries.length, 1);
});

test("treats a resolver that throws synchronously as failed", async () => {
  const resolver = boundedResolver(
    () => {
      throw new Error("broken");
    },
    createManualClock(),
    DEFAULT_LOOKUP_LIMITS,
  );
  await assert.rejects(resolver("a.example", "A"), { message: "A a.example: EFAILED", cause: new Error("broken") });
});

test("an error names the query but not the resolvers", async () => {
  const silent = async () => {
    throw Object.assign(new Error("TXT a.example: 10.0.0.53:53: recvmsg ECONNREFUSED"), { code: "ESERVFAIL" });
  };
  await assert.rejects(boundedResolver(silent, createManualClock(), DEFAULT_LOOKUP_LIMITS)("a.example", "TXT"), {
    message: "TXT a.example: ESERVFAIL",
    code: "ESERVFAIL",
  });
});
