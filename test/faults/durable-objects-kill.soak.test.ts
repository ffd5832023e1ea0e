import assert from "node:assert/strict";
import { test } from "node:test";
import { killRepeatedly } from "./durable-objects/kills.ts";

test("20 kills (kill -9) of workerd and the server during Durable Object writes lose no acknowledged write", async (t) => {
  const figures = await killRepeatedly(t, { rounds: 20, perRound: 200 });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual([figures.rounds, figures.lost, figures.duplicated], [20, 0, 0], JSON.stringify(figures));
  assert.ok(figures.acknowledged >= 4000);
});
