import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { inTransaction, openSession } from "./server-session.testing.ts";

test("receives a message in chunks, in which dots have no special meaning", () => {
  const { say, messages, session } = inTransaction();
  assert.equal(say("BDAT 10\r\nSubject: x"), "250 2.0.0 10 octets received\r\n");
  assert.equal(session.isReceiving(), true);
  assert.equal(say("BDAT 9\r\n\r\n\r\n.\r\n.."), "250 2.0.0 9 octets received\r\n");
  assert.equal(say("BDAT 2 LAST\r\n\r\nNOOP\r\n"), "250 2.6.0 Message accepted\r\n250 2.0.0 OK\r\n");
  assert.equal(messages[0]!.content, "Subject: x\r\n\r\n.\r\n..\r\n");
  assert.equal(session.isReceiving(), false);
});

test("the last chunk may be empty, and so may the message", () => {
  const { say, messages } = inTransaction();
  assert.match(say("BDAT 3\r\nx\r\nBDAT 0 LAST\r\n"), /octets received\r\n250 2\.6\.0 /);
  assert.equal(messages[0]!.content, "x\r\n");
  const empty = inTransaction();
  assert.match(empty.say("BDAT 0 last\r\n"), /^250 2\.6\.0 /);
  assert.equal(empty.messages[0]!.content, "");
});

test("adds the line ending that DATA would require to the last line", () => {
  const { say, messages } = inTransaction();
  say("BDAT 1 LAST\r\nx");
  assert.equal(messages[0]!.content, "x\r\n");
});

test("detects bare CR and bare LF, even across chunks and at the end of the message", () => {
  for (const [chunks, stray] of [
    [["a\r", "\nb\r\n"], undefined],
    [["a\nb"], "LF"],
    [["a\r", "b"], "CR"],
    [["a", "\n"], "LF"],
    [["\n"], "LF"],
    [["a\r\r\n"], "CR"],
    [["a\r\n\n"], "LF"],
    [["a\r"], "CR"],
    [["a\r", ""], "CR"],
    [["a\r", "\n\r", "\n"], undefined],
  ] as const) {
    const { say, messages } = inTransaction();
    for (const chunk of chunks) say(`BDAT ${chunk.length}\r\n${chunk}`);
    say("BDAT 0 LAST\r\n");
    assert.equal(messages[0]!.stray, stray, JSON.stringify(chunks));
  }
});

test("finds the same bare CR and LF as a search of the whole message", () => {
  const text = fc.stringMatching(/^[\r\na]{0,12}$/);
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), (chunks) => {
      const { say, messages } = inTransaction();
      for (const chunk of chunks) say(`BDAT ${chunk.length}\r\n${chunk}`);
      say("BDAT 0 LAST\r\n");
      const bare = /(?<!\r)\n|\r(?!\n)/.test(chunks.join(""));
      assert.equal(messages[0]!.stray !== undefined, bare);
    }),
    { numRuns: 1000 },
  );
});

test("a message over the size limit is dropped and reported", () => {
  const { say, messages } = inTransaction({ maxSize: 10 });
  say(`BDAT 10\r\n${"x".repeat(10)}`);
  say("BDAT 5 LAST\r\nyyyyy");
  assert.equal(messages[0]!.oversized, true);
  assert.equal(messages[0]!.content, "x".repeat(10));
});

test("the chunk of a refused BDAT is discarded, and never processed as commands", () => {
  const { say, messages } = openSession();
  assert.equal(say("BDAT 6 LAST\r\nQUIT\r\nNOOP\r\n"), "503 5.5.1 Error: send HELO/EHLO first\r\n250 2.0.0 OK\r\n");
  say("EHLO x\r\n");
  say("MAIL FROM:<a@b.test>\r\n");
  assert.match(say("BDAT 6\r\nQUIT\r\nBDAT 0 LAST\r\nNOOP\r\n"), /^503 .*need RCPT.*\r\n503 .*\r\n250 2\.0\.0 OK\r\n$/);
  assert.equal(messages.length, 0);
});

test("a BDAT without a valid size ends the session, because the end of its chunk cannot be determined", () => {
  for (const command of ["BDAT", "BDAT x", "BDAT -1", "BDAT 1 FIRST", "BDAT 1 LAST x", "BDAT 9999999999999999"]) {
    const { line, events } = inTransaction();
    assert.match(line(command), /^501 5\.5\.4 /, command);
    assert.equal(events.at(-1), "close");
  }
});

test("only BDAT, NOOP and commands that end the transaction are valid between chunks", () => {
  const { say, line, events } = inTransaction();
  say("BDAT 1\r\nx");
  assert.match(line("RCPT TO:<c@here.test>"), /^503 5\.5\.1 /);
  assert.match(line("DATA"), /^503 5\.5\.1 /);
  assert.match(line("NOOP"), /^250 /);
  assert.match(line("RSET"), /^250 /);
  assert.ok(events.includes("aborted"));
  assert.match(say("BDAT 1 LAST\r\ny"), /^503 5\.5\.1 /);
});

test("BDAT is unknown where CHUNKING is not announced", () => {
  assert.match(inTransaction({ extensions: { chunking: false } }).line("BDAT 1 LAST"), /^500 /);
});

test("a message in many chunks does not count as many commands without an accepted message", () => {
  const { say } = inTransaction({ limits: { commands: 5, errors: 3 }, maxSize: 10_000 });
  for (let i = 0; i < 100; i++) assert.match(say("BDAT 1\r\nx"), /^250 /);
  assert.match(say("BDAT 0 LAST\r\n"), /^250 2\.6\.0 /);
});
