import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import {
  assert as check,
  asyncProperty,
  array,
  constantFrom,
  integer,
  option,
  record,
  oneof,
  constant,
  type Arbitrary,
} from "fast-check";
import type { Clock } from "../../../kernel/index.ts";
import type { KvStore } from "./kv-store.ts";

type Step =
  | { do: "put"; key: string; value: string; ttl: number | null; metadata: string | null }
  | { do: "get"; key: string }
  | { do: "delete"; key: string }
  | { do: "wait"; seconds: number }
  | { do: "sweep" }
  | { do: "list"; prefix: string; limit: number };

type Model = Map<string, { value: string; expiresAt: number; metadata: string | undefined }>;

// Few keys, so that steps collide; some are prefixes of others; one is outside the BMP, where UTF-16 and UTF-8 sort
// differently.
const key = constantFrom("a", "a\u0000", "ab", "abc", "b", "b/", "b/x", "\uff5e", "\u{1f600}");

const step: Arbitrary<Step> = oneof(
  {
    weight: 5,
    arbitrary: record({
      do: constant("put" as const),
      key,
      value: constantFrom("", "one", "two"),
      ttl: option(integer({ min: 1, max: 4 }), { nil: null }),
      metadata: option(constantFrom("1", '{"a":"b"}'), { nil: null }),
    }),
  },
  { weight: 2, arbitrary: record({ do: constant("get" as const), key }) },
  { weight: 2, arbitrary: record({ do: constant("delete" as const), key }) },
  { weight: 2, arbitrary: record({ do: constant("wait" as const), seconds: integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: constant({ do: "sweep" as const }) },
  {
    weight: 3,
    arbitrary: record({
      do: constant("list" as const),
      prefix: constantFrom("", "a", "ab", "b", "b/", "zz", "\u{1f600}"),
      limit: integer({ min: 1, max: 4 }),
    }),
  },
);

/**
 * Checks that any sequence of steps has the same results as a Map with a clock; lists are read to the end through their
 * cursors.
 */
export async function checkKvModel({
  create,
  runs,
}: {
  create(): { kv: KvStore; clock: Clock & { advance(ms: number): void }; namespace: string };
  runs: number;
}): Promise<void> {
  await check(
    asyncProperty(array(step, { maxLength: 40 }), async (steps) => {
      const { kv, clock, namespace } = create();
      const model: Model = new Map();
      for (const step of steps) await take(step, { kv, clock, namespace, model });
    }),
    { numRuns: runs },
  );
}

async function take(
  step: Step,
  {
    kv,
    clock,
    namespace,
    model,
  }: { kv: KvStore; clock: Clock & { advance(ms: number): void }; namespace: string; model: Model },
) {
  const alive = (entry: { expiresAt: number } | undefined) => entry !== undefined && entry.expiresAt > clock.now();
  switch (step.do) {
    case "put": {
      const expiresAt = step.ttl === null ? null : clock.now() + step.ttl * 1000;
      await kv.put(namespace, step.key, Buffer.from(step.value), { expiresAt, metadata: step.metadata ?? undefined });
      return void model.set(step.key, {
        value: step.value,
        expiresAt: expiresAt ?? Infinity,
        metadata: step.metadata ?? undefined,
      });
    }
    case "get": {
      const entry = await kv.get(namespace, step.key);
      const expected = model.get(step.key);
      if (!alive(expected)) return assert.equal(entry, undefined);
      const value = entry!.value instanceof Uint8Array ? Buffer.from(entry!.value) : await buffer(entry!.value);
      return assert.deepEqual([value.toString(), entry!.metadata], [expected!.value, expected!.metadata]);
    }
    case "delete":
      await kv.delete(namespace, step.key);
      return void model.delete(step.key);
    case "wait":
      return clock.advance(step.seconds * 1000);
    case "sweep":
      return void (await kv.sweep());
    case "list": {
      const expected = [...model]
        .filter(([name, entry]) => name.startsWith(step.prefix) && alive(entry))
        .map(([name]) => name)
        .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      const listed: string[] = [];
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const page = await kv.list(namespace, { prefix: step.prefix, limit: step.limit, cursor });
        assert.ok(page.keys.length <= step.limit);
        if (page.cursor !== undefined) assert.equal(page.keys.length, step.limit);
        listed.push(...page.keys.map(({ name }) => name));
        cursor = page.cursor;
      }
      assert.deepEqual(listed, expected);
    }
  }
}
