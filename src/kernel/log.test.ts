import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { createLog } from "./log.ts";

test("escapes control characters in a log line without losing text", () => {
  const destination = new PassThrough();
  const text = "a\u001b[31m\u0085\u009b31m\u007f\u2028\ud83d\ude00\u00e9";
  createLog({ destination }).info({ from: text }, text);
  const line = String(destination.read());
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(line.trimEnd(), /[\u0000-\u001f\u007f-\u009f\u2028]/);
  const { from, msg } = JSON.parse(line) as { from: string; msg: string };
  assert.deepEqual([from, msg], [text, text]);
});
