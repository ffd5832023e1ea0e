import assert from "node:assert/strict";
import { test } from "node:test";
import type { QueueOutcome } from "../runtime/port.ts";
import { decideBatch } from "./decide.ts";
import type { QueueMessageRow } from "./schema.ts";

const rowsOf = (...attempts: number[]) =>
  attempts.map((count, i) => ({ id: `m${i}`, attempts: count })) as unknown as QueueMessageRow[];
const outcomeOf = (fields: Partial<QueueOutcome>) =>
  ({ outcome: "ok", ackAll: false, acks: [], retries: [], ...fields }) as QueueOutcome;

test("an acknowledged message stays acknowledged if the handler fails or retries the batch", () => {
  for (const fields of [{ outcome: "exception" }, { retryAll: {} }] as const) {
    const { acknowledged, retried } = decideBatch(outcomeOf({ ...fields, acks: ["m0"] }), rowsOf(1, 1), {
      maxRetries: 3,
      retryDelay: undefined,
    });
    assert.deepEqual([acknowledged, [...retried]], [["m0"], [[0, ["m1"]]]]);
  }
});

test("a message is dead-lettered after its last retry, not before", () => {
  const { retried, deadLettered } = decideBatch(outcomeOf({ outcome: "exception" }), rowsOf(3, 4), {
    maxRetries: 3,
    retryDelay: undefined,
  });
  assert.deepEqual([[...retried], deadLettered.map(({ id }) => id)], [[[0, ["m0"]]], ["m1"]]);
});

test("the delay of a message takes precedence over that of the batch, which takes precedence over that of the consumer", () => {
  const options = { maxRetries: 3, retryDelay: 30 };
  const own = outcomeOf({ retryAll: { delaySeconds: 20 }, retries: [{ id: "m0", delaySeconds: 10 }, { id: "m1" }] });
  assert.deepEqual(
    [...decideBatch(own, rowsOf(1, 1, 1), options).retried],
    [
      [10, ["m0"]],
      [20, ["m1", "m2"]],
    ],
  );
  assert.deepEqual([...decideBatch(outcomeOf({ retryAll: {} }), rowsOf(1), options).retried], [[30, ["m0"]]]);
});
