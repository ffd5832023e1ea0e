import assert from "node:assert/strict";
import { test } from "node:test";
import { createRequestLimiter } from "./limiter.ts";

test("halves the number of concurrent requests when asked to slow down, and raises it again after successful requests", async () => {
  let now = 0;
  const limiter = createRequestLimiter(8, () => now);
  limiter.slowDown();
  assert.equal(limiter.limit, 4);
  // Requests that were sent at the same time are rejected, too.
  limiter.slowDown();
  assert.equal(limiter.limit, 4);
  for (let count = 0; count < 5; count++) {
    now += 1000;
    limiter.slowDown();
  }
  assert.equal(limiter.limit, 1);
  for (let count = 0; count < 100; count++) limiter.succeeded();
  assert.equal(limiter.limit, 8);
});

test("starts waiting requests in order, up to the limit", async () => {
  const limiter = createRequestLimiter(2);
  const started: number[] = [];
  const requests = Array.from({ length: 5 }, async (_, n) => {
    await limiter.acquire(60_000);
    started.push(n);
  });
  await Promise.all(requests.slice(0, 2));
  assert.deepEqual(started, [0, 1]);
  for (let count = 0; count < 3; count++) limiter.release();
  await Promise.all(requests);
  assert.deepEqual(started, [0, 1, 2, 3, 4]);
});

test("rejects a request that waits too long, without occupying a slot", async () => {
  const limiter = createRequestLimiter(1);
  await limiter.acquire(1000);
  await assert.rejects(limiter.acquire(1), /1 requests are in progress/);
  const waiting = limiter.acquire(60_000);
  limiter.release();
  await waiting;
});
