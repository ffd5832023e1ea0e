import assert from "node:assert/strict";
import { test } from "node:test";
import { WEBHOOK_ATTEMPTS, webhookRetryDelay } from "./attempt.ts";

test("retries a delivery ten times within a day: first after seconds, to cover restarts, and later after hours, to cover outages", () => {
  const minutes = Array.from({ length: 10 }, (_, i) => webhookRetryDelay(i + 1) / 60_000);
  assert.deepEqual(
    minutes.map((value) => Number(value.toFixed(3))),
    [0.083, 0.5, 2, 10, 30, 60, 120, 240, 360, 600],
  );
  assert.equal(WEBHOOK_ATTEMPTS, 11);
  assert.equal(webhookRetryDelay(50), 600 * 60_000);
});
