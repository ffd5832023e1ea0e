import assert from "node:assert/strict";
import { test } from "node:test";
import { createTranscript, type TranscriptLine } from "./transcript.ts";

const texts = (lines: readonly TranscriptLine[]) => lines.map(({ by, text }) => `${by}: ${text}`);

test("records commands and replies, and the recipient of each", () => {
  const transcript = createTranscript();
  transcript.server("220 mx ESMTP\r\n");
  transcript.client("EHLO there");
  transcript.server("250-mx\r\n250 SIZE 10\r\n");
  transcript.note("TLSv1.3");
  transcript.client("MAIL FROM:<a@there>");
  transcript.server("250 2.1.0 Ok\r\n");
  transcript.client("RCPT TO:<b@here> NOTIFY=NEVER");
  transcript.server("550 5.1.1 No such user\r\n");
  transcript.client("DATA");
  assert.deepEqual(texts(transcript.lines()), [
    "S: 220 mx ESMTP",
    "C: EHLO there",
    "S: 250-mx",
    "S: 250 SIZE 10",
    "*: TLSv1.3",
    "C: MAIL FROM:<a@there>",
    "S: 250 2.1.0 Ok",
    "C: RCPT TO:<b@here> NOTIFY=NEVER",
    "S: 550 5.1.1 No such user",
    "C: DATA",
  ]);
  assert.deepEqual(
    transcript.lines().map(({ rcpt }) => rcpt),
    [...Array.from({ length: 7 }, () => undefined), "b@here", "b@here", undefined],
  );
});

test("contains no secrets", () => {
  const transcript = createTranscript();
  transcript.client("AUTH PLAIN AHVzZXIAc2VjcmV0");
  transcript.client("auth LOGIN");
  transcript.client("c2VjcmV0");
  transcript.client("AUTH PLAIN:c2VjcmV0");
  transcript.client("AUTHc2VjcmV0");
  transcript.client("PASS c2VjcmV0");
  assert.deepEqual(texts(transcript.lines()), [
    "C: AUTH PLAIN (secret)",
    "C: auth LOGIN",
    "C: (not a command)",
    "C: AUTH PLAIN",
    "C: (not a command)",
    "C: (not a command)",
  ]);
});

test("contains only the last transaction of a connection", () => {
  const transcript = createTranscript();
  transcript.client("EHLO there");
  for (const name of ["one", "two", "three"]) {
    transcript.client(`MAIL FROM:<${name}@there>`);
    transcript.server("250 Ok\r\n");
  }
  assert.deepEqual(texts(transcript.lines()), [
    "C: EHLO there",
    "*: 2 earlier transactions of this connection",
    "C: MAIL FROM:<three@there>",
    "S: 250 Ok",
  ]);
});

test("limits the number of lines and their length", () => {
  const transcript = createTranscript();
  for (let n = 0; n < 100; n++) transcript.client("NOOP");
  transcript.client("MAIL FROM:<a@there>");
  for (let n = 0; n < 1000; n++) transcript.client(`RCPT TO:<${n}@here> ${"x".repeat(1000)}`);
  const lines = transcript.lines();
  assert.equal(lines.length, 40 + 40 + 1 + 40);
  assert.ok(lines.every(({ text }) => text.length <= 300));
  assert.deepEqual(
    [lines[80]!.text, lines[81]!.rcpt, lines.at(-1)!.rcpt],
    ["921 lines omitted", "960@here", "999@here"],
  );
});
