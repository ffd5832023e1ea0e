import assert from "node:assert/strict";
import { test } from "node:test";
import { deleteInBatches } from "./batches.ts";

test("deletes until a batch is incomplete, and lets other work run in between", async () => {
  let left = 1200;
  const steps: string[] = [];
  const sweep = deleteInBatches(async (limit) => {
    const deleted = Math.min(limit, left);
    left -= deleted;
    steps.push(`deleted ${deleted}`);
    setImmediate(() => steps.push("other work"));
    return deleted;
  });
  assert.equal(await sweep, 1200);
  assert.deepEqual(steps, ["deleted 500", "other work", "deleted 500", "other work", "deleted 200"]);
});
