import assert from "node:assert/strict";
import { test } from "node:test";
import { renewalTime, retryDelayMs } from "./renewal.ts";

const HOUR = 3_600_000;

test("a certificate is renewed after two thirds of its lifetime, whether that is 90 days or six", () => {
  assert.equal(renewalTime({ notBefore: 0, notAfter: 90 * 24 * HOUR }), 60 * 24 * HOUR);
  assert.equal(renewalTime({ notBefore: 24 * HOUR, notAfter: 7 * 24 * HOUR }), 5 * 24 * HOUR);
});

test("retry delays grow, at most four attempts are made in the first hour, and no delay exceeds six hours", () => {
  const times = [0];
  for (let failures = 1; failures < 60; failures++) times.push(times.at(-1)! + retryDelayMs(failures));
  for (const at of times) assert.ok(times.filter((other) => other >= at && other < at + HOUR).length < 5);
  assert.equal(retryDelayMs(1000), 6 * HOUR);
  assert.equal(retryDelayMs(1, 24 * HOUR), 24 * HOUR);
});
