import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_SMTP_LIMITS } from "./inbound/index.ts";
import { DEFAULT_TIMEOUTS } from "./outbound/index.ts";

const MINUTE = 60_000;

test("client timeouts are those of RFC 5321 4.5.3.2, because an early retry creates a duplicate", () => {
  assert.deepEqual(DEFAULT_TIMEOUTS, {
    connectMs: 30_000,
    greetingMs: 5 * MINUTE,
    commandMs: 5 * MINUTE,
    blockMs: 3 * MINUTE,
    finalMs: 10 * MINUTE,
    transactionMs: 60 * MINUTE,
  });
});

test("the server waits five minutes for a command (RFC 5321 4.5.3.2.7) and accepts 100 recipients (4.5.3.1.8) and 25 MiB", () => {
  const { commandMs, dataMs, recipients, messageBytes } = DEFAULT_SMTP_LIMITS;
  assert.deepEqual(
    { commandMs, dataMs, recipients, messageBytes },
    { commandMs: 5 * MINUTE, dataMs: 15 * MINUTE, recipients: 100, messageBytes: 26_214_400 },
  );
});
