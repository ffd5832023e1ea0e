import assert from "node:assert/strict";
import { test } from "node:test";
import { inTransaction, openSession } from "./server-session.testing.ts";

test("EHLO lists the extensions and HELO does not, and both require a name", () => {
  const { line } = openSession();
  assert.equal(
    line("EHLO client.test"),
    [
      "250-mx.test greets [192.0.2.1]",
      "250-PIPELINING",
      "250-8BITMIME",
      "250-SMTPUTF8",
      "250-ENHANCEDSTATUSCODES",
      "250-DSN",
      "250-CHUNKING",
      "250-STARTTLS",
      "250 SIZE 1000\r\n",
    ].join("\r\n"),
  );
  assert.equal(line("helo client.test"), "250 mx.test greets [192.0.2.1]\r\n");
  for (const command of ["EHLO", "HELO a b", "EHLO \u0001"]) assert.match(line(command), /^501 /, command);
});

test("replies to commands without a transaction", () => {
  const { line } = openSession();
  for (const [command, reply] of [
    ["NOOP ignored", "250 2.0.0 OK"],
    ["RSET", "250 2.0.0 Flushed"],
    ["HELP", "214 2.0.0 See https://tools.ietf.org/html/rfc5321 for details"],
    ["VRFY somebody", "252 2.1.5 Try to send something. No promises though"],
    ["VRFY", "501 5.5.4 Error: Syntax: VRFY address"],
    ["EXPN list", "500 5.5.2 Error: command not recognized"],
    ["AUTH PLAIN", "500 5.5.2 Error: command not recognized"],
    ["constructor", "500 5.5.2 Error: command not recognized"],
    ["QUIT", "221 2.0.0 Bye"],
  ] as const)
    assert.equal(line(command), `${reply}\r\n`);
});

test("QUIT ends the session, and commands after it get no reply", () => {
  const { say, events } = openSession();
  assert.equal(say("QUIT\r\nNOOP\r\n"), "221 2.0.0 Bye\r\n");
  assert.equal(say("NOOP\r\n"), "");
  assert.deepEqual(events, ["reply", "close"]);
});

test("rejects commands out of order with 503", () => {
  const { line } = openSession();
  for (const command of ["MAIL FROM:<a@b.test>", "RCPT TO:<a@b.test>", "DATA"])
    assert.match(line(command), /^503 5\.5\.1 Error: send HELO/, command);
  line("EHLO x");
  assert.match(line("RCPT TO:<a@b.test>"), /^503 5\.5\.1 Error: need MAIL/);
  line("MAIL FROM:<a@b.test>");
  assert.match(line("MAIL FROM:<a@b.test>"), /^503 5\.5\.1 Error: nested MAIL/);
  assert.match(line("DATA"), /^503 5\.5\.1 Error: need RCPT/);
});

test("DATA receives a message, removes dot stuffing, and ends the transaction", () => {
  const { line, say, messages, session } = inTransaction();
  assert.equal(line("DATA"), "354 End data with <CR><LF>.<CR><LF>\r\n");
  assert.equal(session.awaitedInput(), "data");
  assert.equal(say("Subject: x\r\n\r\n..dot\r\n.\r\n"), "250 2.6.0 Message accepted\r\n");
  assert.deepEqual(messages, [
    {
      from: "a@b.test",
      to: ["b@here.test"],
      content: "Subject: x\r\n\r\n.dot\r\n",
      stray: undefined,
      oversized: false,
    },
  ]);
  assert.equal(session.currentTransaction(), undefined);
  assert.match(line("DATA"), /^503 /);
});

test("drops content beyond the size limit and reports it at the end", () => {
  const { line, say, messages } = inTransaction({ maxSize: 10 });
  line("DATA");
  say("12345678\r\n");
  say("more\r\n.\r\n");
  assert.equal(messages[0]!.oversized, true);
  assert.equal(messages[0]!.content, "12345678\r\n");
});

test("a rejected sender or recipient is not added to the transaction", () => {
  const unknown = { code: 550, enhanced: "5.1.1", text: "No such user" };
  const { line, session } = inTransaction({
    decide: (event) => (event.type === "recipient" && event.address.startsWith("no") ? unknown : undefined),
  });
  assert.equal(line("RCPT TO:<no@here.test>"), "550 5.1.1 No such user\r\n");
  assert.deepEqual([...session.currentTransaction()!.recipients.keys()], ["b@here.test"]);
  const rejecting = openSession({ decide: () => ({ code: 451, enhanced: "4.7.1", text: "later" }) });
  rejecting.line("EHLO x");
  assert.equal(rejecting.line("MAIL FROM:<a@b.test>"), "451 4.7.1 later\r\n");
  assert.equal(rejecting.session.currentTransaction(), undefined);
});

test("a repeated recipient counts once, in any letter case", () => {
  const { line, session } = inTransaction();
  line("RCPT TO:<B@HERE.test> NOTIFY=NEVER");
  for (const rcpt of ["c", "d", "e", "f"]) line(`RCPT TO:<${rcpt}@here.test>`);
  assert.match(line("RCPT TO:<g@here.test>"), /^452 4\.5\.3 /);
  assert.match(line("RCPT TO:<c@here.test>"), /^250 /);
  assert.deepEqual(
    [...session.currentTransaction()!.recipients.values()],
    [
      { address: "B@here.test", dsn: { notify: ["NEVER"] } },
      { address: "c@here.test", dsn: {} },
      { address: "d@here.test", dsn: {} },
    ],
  );
});

for (const command of ["RSET", "EHLO again.test", "HELO again.test"])
  test(`${command} ends the transaction`, () => {
    const { line, session } = inTransaction();
    assert.match(line(command), /^250/);
    assert.equal(session.currentTransaction(), undefined);
    assert.match(line("DATA"), /^503 /);
  });

test("STARTTLS discards plaintext after it and resets the session state", () => {
  const { say, line, events, session } = inTransaction();
  assert.equal(say("STARTTLS\r\nMAIL FROM:<evil@x.test>\r\n"), "220 2.0.0 Ready to start TLS\r\n");
  assert.equal(events.at(-1), "starttls");
  assert.equal(session.awaitedInput(), "nothing");
  assert.equal(say("NOOP\r\n"), "");
  session.tlsEstablished("TLSv1.3 X");
  assert.match(line("MAIL FROM:<a@b.test>"), /^503 5\.5\.1 Error: send HELO/);
  assert.doesNotMatch(line("EHLO x"), /STARTTLS/);
  assert.equal(session.protocolName(), "ESMTPS");
  assert.equal(session.currentTransaction(), undefined);
  assert.match(line("STARTTLS"), /^503 5\.5\.1 Error: TLS already active/);
});

test("STARTTLS is unknown where it is not offered, and accepts no argument", () => {
  assert.match(openSession({ extensions: { starttls: false } }).line("STARTTLS"), /^500 /);
  assert.match(openSession().line("STARTTLS now"), /^501 /);
});

const encoded = (text: string) => Buffer.from(text).toString("base64");

test("supports AUTH PLAIN and LOGIN, with and without an initial response", () => {
  for (const lines of [
    [`AUTH PLAIN ${encoded("\0user\0secret")}`],
    ["AUTH PLAIN", encoded("user\0\0secret")],
    ["AUTH LOGIN", encoded("user"), encoded("secret")],
    [`auth login ${encoded("user")}`, encoded("secret")],
  ]) {
    const seen: unknown[] = [];
    const { line } = openSession({
      extensions: { auth: true },
      decide: (event) => void (event.type === "credentials" && seen.push(event.credentials)),
    });
    assert.match(line("EHLO x"), /^250-AUTH PLAIN LOGIN\r$/m);
    assert.match(line("MAIL FROM:<a@b.test>"), /^530 5\.7\.0 /);
    let reply = "";
    for (const text of lines) {
      assert.match(reply, /^(?:334 .*\r\n)?$/);
      reply = line(text);
    }
    assert.equal(reply, "235 2.7.0 Authentication successful\r\n");
    assert.deepEqual(seen, [{ username: "user", password: "secret" }]);
    assert.doesNotMatch(line("EHLO x"), /AUTH/);
    assert.match(line("AUTH PLAIN"), /^503 /);
    assert.match(line("MAIL FROM:<a@b.test>"), /^250 /);
  }
});

test("AUTH rejects unknown mechanisms, invalid base64 and control characters, and can be cancelled by the client", () => {
  const { line } = openSession({ extensions: { auth: true }, tls: "TLSv1.3 X" });
  assert.match(line("AUTH PLAIN"), /^503 5\.5\.1 Error: send HELO/);
  line("EHLO x");
  assert.match(line("AUTH CRAM-MD5"), /^504 /);
  for (const response of ["!", encoded("a"), encoded("\0a\r\nb\0c")])
    assert.match(line(`AUTH PLAIN ${response}`), /^501 5\.5\.2 /);
  assert.match(line("AUTH PLAIN a b"), /^501 5\.5\.4 /);
  assert.match(line("AUTH LOGIN"), /^334 /);
  assert.match(line("*"), /^501 5\.5\.4 Authentication aborted/);
});

test("a failed AUTH leaves the session unauthenticated", () => {
  const invalid = { code: 535, enhanced: "5.7.8", text: "invalid" };
  const { line } = openSession({ extensions: { auth: true }, decide: () => invalid });
  line("EHLO x");
  assert.equal(line(`AUTH PLAIN ${encoded("\0a\0b")}`), "535 5.7.8 invalid\r\n");
  assert.match(line("MAIL FROM:<a@b.test>"), /^530 /);
});

test("ends the session after too many unauthenticated commands", () => {
  const { line } = openSession({ extensions: { auth: true } });
  for (let i = 0; i < 9; i++) assert.match(line("NOOP"), /^250 /);
  assert.match(line("NOOP"), /^421 4\.7\.0 /);
});

test("a decision with a 421 reply ends the session", () => {
  const { line, events } = inTransaction({
    decide: ({ type }) => (type === "recipient" ? { code: 421, enhanced: "4.7.0", text: "go" } : undefined),
  });
  assert.equal(events.at(-1), "close");
  assert.equal(line("NOOP"), "");
});

test("terminate() sends a final reply and aborts the message", () => {
  const { say, session, run, events } = inTransaction();
  say("DATA\r\n");
  say("half");
  session.terminate({ code: 421, enhanced: "4.3.2", text: "Server shutting down" });
  run();
  assert.deepEqual(events.slice(-3), ["reply", "aborted", "close"]);
});

test("delays a client that makes errors, then ends the session, and resets the count when a message is accepted", () => {
  const { line, say, events } = openSession({ limits: { errorsBeforeDelay: 2, errors: 4 } });
  for (let i = 0; i < 2; i++) line("FOO");
  assert.ok(!events.includes("delay"));
  for (let i = 0; i < 2; i++) line("FOO");
  assert.equal(events.filter((type) => type === "delay").length, 2);
  assert.match(line("NOOP"), /^421 4\.7\.0 Error: too many errors/);
  const accepted = inTransaction({ limits: { errorsBeforeDelay: 2, errors: 4 } });
  for (let i = 0; i < 3; i++) accepted.line("FOO");
  accepted.line("DATA");
  accepted.line(".");
  accepted.events.length = 0;
  accepted.line("FOO");
  assert.deepEqual(accepted.events, ["reply"]);
  assert.equal(say("NOOP\r\n"), "");
});

test("ends the session of a browser, of a client that does not wait for 354, and of one that sends overlong lines or a bare CR or LF", () => {
  for (const [octets, reply] of [
    ["GET / HTTP/1.1\r\n", /^421 4\.7\.0 HTTP/],
    ["EHLO x\r\nNOOP\r\n", /^554 5\.5\.0 .*synchronization/],
    [`${"x".repeat(101)}\r\n`, /^500 5\.5\.2 Error: command line too long/],
    ["x".repeat(101), /^500 5\.5\.2 Error: command line too long/],
    ["NOOP\nNOOP\r\n", /^500 5\.5\.2 Error: bare CR or LF received/],
    ["NOOP\rNOOP\r\n", /^500 5\.5\.2 Error: bare CR or LF received/],
  ] as const) {
    const { say, events } = openSession();
    assert.match(say(octets), reply);
    assert.equal(events.at(-1), "close");
  }
  assert.match(openSession().say(`NOOP ${"x".repeat(95)}\r\n`), /^250 /);
});
