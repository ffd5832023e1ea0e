import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "./metrics.ts";

test("two servers in one process have separate metrics", async () => {
  const [one, two] = [createMetrics({ processMetrics: false }), createMetrics({ processMetrics: false })];
  const mails = one.counter("reelpost_mails_total", "Messages", ["outcome"]);
  two.counter("reelpost_mails_total", "Messages", ["outcome"]);
  mails.inc({ outcome: "ok" }, 2);
  one.gauge("reelpost_processes", "Processes").set(3);
  one.histogram("reelpost_email_seconds", "Time").observe(0.02);
  const { contentType, body } = await one.render();
  assert.match(contentType, /^text\/plain/);
  assert.match(body, /^reelpost_mails_total\{outcome="ok"\} 2$/m);
  assert.match(body, /^reelpost_processes 3$/m);
  assert.match(body, /^reelpost_email_seconds_bucket\{le="0.025"\} 1$/m);
  assert.doesNotMatch((await two.render()).body, /outcome="ok"/);
  one.close();
  assert.equal((await one.render()).body.trim(), "");
});

test("includes process metrics if enabled", async () => {
  const metrics = createMetrics();
  assert.match((await metrics.render()).body, /^process_resident_memory_bytes \d+$/m);
  metrics.close();
});
