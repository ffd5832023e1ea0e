import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createCommandReader } from "./command-reader.ts";
import { openSession } from "./server-session.testing.ts";

/** Commands that may be pipelined (RFC 2920 3.1, RFC 3030 2). */
const pipelined = fc.constantFrom(
  "MAIL FROM:<a@b.test>\r\n",
  "MAIL FROM:<> BODY=8BITMIME RET=HDRS\r\n",
  "MAIL FROM:<x\r\n",
  "RCPT TO:<b@here.test>\r\n",
  "RCPT TO:<c@here.test> NOTIFY=NEVER\r\n",
  "RSET\r\n",
  "NOOP\r\n",
  "FOO\r\n",
  "BDAT 5\r\nQUIT\r",
  "BDAT 7 LAST\r\n.\r\nab\r\n",
  "BDAT 3 LAST\r\na\nb",
);
/** A group of commands, or DATA followed by its message, which is sent only after the reply to DATA. */
const group = fc.oneof(
  fc.array(pipelined, { maxLength: 6 }).map((commands) => [commands.join("")]),
  fc.tuple(pipelined, pipelined).map((commands) => [`${commands.join("")}DATA\r\n`, "hello\r\n..\r\n.\r\n"]),
  fc.constant(["EHLO x\r\n"]),
);
const dialogue = fc.array(group, { maxLength: 6 }).map((groups) => ["EHLO x\r\n", ...groups.flat()]);

/** How much of a message arrives before it is dropped depends on how the input is split. */
const acceptable = ({ content, stray, ...message }: ReturnType<typeof openSession>["messages"][number]) => ({
  ...message,
  stray,
  content: stray === undefined ? content : "",
});

test("the splitting of the input has no effect on replies and messages", () => {
  fc.assert(
    fc.property(dialogue, fc.array(fc.nat(), { maxLength: 30 }), (steps, cuts) => {
      const whole = openSession();
      const split = openSession();
      for (const step of steps) {
        const octets = Buffer.from(step, "latin1");
        const expected = whole.say(Buffer.from(octets));
        const edges = [0, ...cuts.map((cut) => cut % (octets.length + 1)).sort((a, b) => a - b), octets.length];
        let replies = "";
        for (let i = 0; i + 1 < edges.length; i++) replies += split.say(octets.subarray(edges[i], edges[i + 1]));
        assert.equal(replies, expected);
      }
      assert.deepEqual(split.messages.map(acceptable), whole.messages.map(acceptable));
    }),
    { numRuns: 1000 },
  );
});

test("pipelined commands get the same replies as single commands", () => {
  fc.assert(
    fc.property(fc.array(pipelined, { maxLength: 20 }), (commands) => {
      const [together, single] = [openSession(), openSession()];
      for (const { line } of [together, single]) line("EHLO x");
      assert.equal(together.say(commands.join("")), commands.map((command) => single.say(command)).join(""));
      assert.deepEqual(together.messages, single.messages);
    }),
    { numRuns: 500 },
  );
});

test("any input is processed without throwing, and each reply is well-formed", () => {
  const octets = fc.oneof(
    fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom("EHLO x\r\n", "DATA\r\n", ".\r\n", "AUTH PLAIN\r\n", "AUTH LOGIN\r\n", "STARTTLS\r\n", "\r\n")
      .map((text) => Buffer.from(text)),
    pipelined.map((text) => Buffer.from(text, "latin1")),
    fc.string({ maxLength: 30 }).map((text) => Buffer.from(`MAIL FROM:<${text}>\r\n`)),
    fc.string({ maxLength: 30 }).map((text) => Buffer.from(`RCPT TO:<a@b.test> ${text}\r\n`)),
  );
  fc.assert(
    fc.property(fc.array(octets, { maxLength: 25 }), fc.boolean(), (input, auth) => {
      const { say, messages } = openSession({ extensions: { auth } });
      for (const chunk of input)
        for (const line of say(chunk).split("\r\n").slice(0, -1)) assert.match(line, /^[2345]\d\d[ -][^\r\n]*$/);
      for (const { to, stray, content } of messages) {
        assert.ok(to.length > 0);
        if (stray === undefined) assert.doesNotMatch(content, /(?<!\r)\n|\r(?!\n)/);
      }
    }),
    { numRuns: 2000 },
  );
});

test("DATA is accepted only after an accepted recipient of the same transaction", () => {
  const command = fc.constantFrom(
    "EHLO x",
    "HELO x",
    "MAIL FROM:<a@b.test>",
    "MAIL FROM:<no@b.test>",
    "RCPT TO:<b@here.test>",
    "RCPT TO:<no@here.test>",
    "RSET",
    "NOOP",
    "STARTTLS",
  );
  fc.assert(
    fc.property(fc.array(command, { maxLength: 15 }), (commands) => {
      const { line, session } = openSession({
        decide: (event, session) => {
          const address = event.type === "recipient" ? event.address : session.currentTransaction()!.from;
          return address.startsWith("no") ? { code: 550, enhanced: "5.1.0", text: "no" } : undefined;
        },
      });
      let [greeted, mail, recipients, secure] = [false, false, 0, false];
      for (const text of commands) {
        line(text);
        const resets = /^(?:EHLO|HELO|RSET)/.test(text) || (text === "STARTTLS" && !secure);
        if (resets) [mail, recipients] = [false, 0];
        if (text === "STARTTLS" && !secure) {
          session.tlsEstablished("TLSv1.3 X");
          [greeted, secure] = [false, true];
        }
        if (/^(?:EHLO|HELO)/.test(text)) greeted = true;
        if (greeted && text === "MAIL FROM:<a@b.test>") mail = true;
        if (mail && text === "RCPT TO:<b@here.test>") recipients++;
      }
      assert.match(line("DATA"), mail && recipients > 0 ? /^354 / : /^503 /);
    }),
    { numRuns: 1000 },
  );
});

test("a command line ends only at CRLF, however the input is split", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\r\na]{0,20}$/), fc.array(fc.nat(), { maxLength: 20 }), (text, cuts) => {
      const lines: string[] = [];
      const reader = createCommandReader(5);
      let failed = false;
      const edges = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
      for (let i = 0; i + 1 < edges.length && !failed; i++) {
        reader.push(Buffer.from(text.slice(edges[i], edges[i + 1])));
        for (let read = reader.read(); read !== undefined && !failed; read = reader.read()) {
          if (read.ok) lines.push(read.line.toString());
          else failed = true;
          if (failed) break;
        }
      }
      const [good = ""] = /^(?:a{0,5}\r\n)*/.exec(text) ?? [];
      assert.deepEqual(lines, good.split("\r\n").slice(0, -1));
      assert.equal(failed, !/^a{0,5}\r?$/.test(text.slice(good.length)));
    }),
    { numRuns: 2000 },
  );
});
