import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock, UserError } from "../kernel/index.ts";
import { createLocalLimits } from "../kernel/rate-limits.ts";
import { createFailureLimiter, createRateLimiter } from "./rate-limit.ts";

function limiter(requests: number, seconds = 60) {
  const clock = createManualClock(0);
  const count = createRateLimiter({ requests, seconds }, createLocalLimits(clock));
  /** Returns "ok", or the seconds to wait. */
  const ask = (token = "a") => {
    try {
      void count(token);
      return "ok";
    } catch (err) {
      assert.ok(err instanceof UserError);
      return err.details["retryAfter"];
    }
  };
  return { clock, ask };
}

test("allows exactly the configured number of requests per token per window", () => {
  const { ask } = limiter(3);
  assert.deepEqual([ask(), ask(), ask(), ask()], ["ok", "ok", "ok", 60]);
  assert.equal(ask("another token"), "ok");
});

test("reports the seconds left in the window, and starts the next window at zero", () => {
  const { clock, ask } = limiter(1);
  ask();
  clock.advance(59_999);
  assert.equal(ask(), 1);
  clock.advance(1);
  assert.deepEqual([ask(), ask()], ["ok", 60]);
});

test("a limit of zero disables rate limiting", () => {
  const { ask } = limiter(0);
  for (let n = 0; n < 100; n++) assert.equal(ask(), "ok");
});

test("blocks a network after too many failed attempts, suggests a fix, and still accepts a known token", () => {
  const clock = createManualClock(0);
  const limits = createFailureLimiter({ requests: 2, seconds: 60 }, createLocalLimits(clock));
  void limits.failed("192.0.2.1");
  void limits.check("192.0.2.1", () => false);
  void limits.failed("192.0.2.1");
  clock.advance(15_000);
  void limits.check("192.0.2.1", () => true);
  void limits.check("192.0.2.2", () => false);
  assert.throws(
    () => limits.check("192.0.2.1", () => false),
    (err: UserError) =>
      err.kind === "tooManyFailures" && err.fix!.startsWith("Check the token, and try again in 45 seconds."),
  );
});
