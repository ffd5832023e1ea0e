import assert from "node:assert/strict";
import { test } from "node:test";
import { once } from "node:events";
import { connect as connectTls } from "node:tls";
import { setImmediate as tick } from "node:timers/promises";
import { createTransport } from "nodemailer";
import { clock, ids, log, newSpool, rawClient, runUntilData } from "../mail.testing.ts";
import type { DeliveryResult } from "../messages/index.ts";
import { createSmtpListener } from "./listener.ts";
import { listen, testCertificates, withoutReceived } from "./listening.testing.ts";

test("a third-party client delivers a message, which gets a Received field and is otherwise unchanged", async (t) => {
  const { port, taken } = await listen(t);
  const client = createTransport({ host: "127.0.0.1", port, name: "client.example" });
  const info = await client.sendMail({
    envelope: { from: "a@sender.example", to: "b@here.example" },
    raw: "From: a@sender.example\r\nSubject: hi\r\n\r\n.dot\r\nbody\r\n",
  });
  client.close();
  assert.match(info.response, /^250 2\.6\.0 Message accepted/);
  assert.deepEqual(taken[0]!.envelope, {
    from: "a@sender.example",
    to: ["b@here.example"],
    helo: "client.example",
    ip: "127.0.0.1",
    smtputf8: false,
  });
  assert.match(
    taken[0]!.raw,
    /^Received: from client\.example \(\[127\.0\.0\.1\]\)\r\n\tby mx\.test with ESMTP id [0-9a-f]{32}\r\n\tfor <b@here\.example>;\r\n\tMon, 5 Jan 2026 07:08:09 \+0000\r\nFrom:/,
  );
  assert.equal(withoutReceived(taken[0]!.raw), "From: a@sender.example\r\nSubject: hi\r\n\r\n.dot\r\nbody\r\n");
});

test("EHLO announces only supported extensions", async (t) => {
  const { port } = await listen(t);
  const client = await rawClient(port);
  assert.equal(await client.reply(), "220 mx.test ESMTP");
  assert.deepEqual((await client.say("EHLO client.example\r\n")).split("\r\n"), [
    "250-mx.test greets [127.0.0.1]",
    "250-PIPELINING",
    "250-8BITMIME",
    "250-SMTPUTF8",
    "250-ENHANCEDSTATUSCODES",
    "250-DSN",
    "250-CHUNKING",
    "250 SIZE 26214400",
  ]);
  for (const command of ["STARTTLS", "AUTH PLAIN AGEAYg==", "WIZ", "XCLIENT NAME=x", "BDAT 0 LAST"])
    assert.match(await client.say(`${command}\r\n`), /^5\d\d 5\./, command);
  assert.match(await client.say("VRFY b\r\n"), /^252 2\./);
  assert.match(await client.say("MAIL FROM:<a@b.example> SIZE=26214401\r\n"), /^552 5\.3\.4 /);
  assert.match(await client.say("MAIL FROM:<a@b.example> BODY=BINARYMIME\r\n"), /^501 5\./);
  assert.match(await client.say("QUIT\r\n"), /^221 2\./);
});

test("the greeting is sent without delay", async (t) => {
  const { port } = await listen(t);
  const waits: number[] = [];
  for (let i = 0; i < 10; i++) {
    const started = performance.now();
    const client = await rawClient(port);
    await client.reply();
    waits.push(performance.now() - started);
    client.socket.destroy();
  }
  assert.ok(Math.min(...waits) < 90, `${Math.min(...waits)} ms`);
});

// Sequences that look like the end of data (CVE-2023-51764 and similar): they must never end a message.
const LOOK_ALIKES: Record<string, [wire: string, refused: boolean]> = {
  "LF . LF": ["\n.\n", true],
  "LF . CRLF": ["\n.\r\n", true],
  "CRLF . LF": ["\r\n.\n", true],
  "CR . CRLF": ["\r.\r\n", true],
  "CR . CR": ["\r.\r", true],
  "CRLF . CR": ["\r\n.\r", true],
  "CRLF . CR CRLF": ["\r\n.\r\r\n", true],
  "LF . CR": ["\n.\r", true],
  "bare LF": ["x\nx", true],
  "bare CR": ["x\rx", true],
  "CRLF NUL . CRLF": ["\r\n\0.\r\n", false],
  "CRLF . NUL CRLF": ["\r\n.\0\r\n", false],
  "stuffed dot": ["\r\n..\r\n", false],
};

for (const [name, [lookAlike, refused]] of Object.entries(LOOK_ALIKES)) {
  for (const manner of ["whole", "byte by byte"]) {
    test(`smuggling: ${name}, ${manner}`, async (t) => {
      const { port, taken, spoolFiles } = await listen(t);
      const client = await runUntilData(port);
      const smuggled = "MAIL FROM:<evil@x.example>\r\nRCPT TO:<b@here.example>\r\nDATA\r\nsmuggled\r\n";
      const wire = Buffer.from(`Subject: x\r\n\r\nbody${lookAlike}${smuggled}\r\n.\r\n`, "latin1");
      if (manner === "whole") client.send(wire);
      else
        for (const byte of wire) {
          client.send(Buffer.from([byte]));
          await tick();
        }
      assert.match(
        await client.reply(),
        refused ? /^550 5\.6\.11 Bare (CR|LF) in message: lines must end with CR LF$/ : /^250 2\.6\.0 /,
      );
      // One reply per message: the next reply is for the next command.
      assert.match(await client.say("NOOP\r\n"), /^250 2\.0\.0 /);
      assert.equal(taken.length, refused ? 0 : 1);
      if (!refused) assert.ok(taken[0]!.raw.includes("smuggled"), "everything is content");
      assert.deepEqual(await spoolFiles(), []);
      client.socket.destroy();
    });
  }
}

test("a bare CR or LF in commands ends the session before any of them is executed", async (t) => {
  const { port } = await listen(t);
  for (const bytes of ["MAIL FROM:<a@b.example>\nRCPT TO:<b@here.example>\r\n", "NOOP\rNOOP\r\n"]) {
    const client = await rawClient(port);
    await client.reply();
    await client.say("EHLO x\r\n");
    assert.equal(await client.say(bytes), "500 5.5.2 Error: bare CR or LF received, commands must end with CR LF");
    assert.equal(await client.rest(), "");
    client.socket.destroy();
  }
});

test("replies to pipelined commands in order, including those after a message", async (t) => {
  const { port, taken } = await listen(t);
  const client = await rawClient(port);
  await client.reply();
  await client.say("EHLO x\r\n");
  assert.match(
    await client.say(
      "MAIL FROM:<a@sender.example>\r\nRCPT TO:<b@here.example>\r\nRCPT TO:<c@here.example>\r\nDATA\r\n",
    ),
    /^250 2\.1\.0/,
  );
  assert.match(await client.reply(), /^250 2\.1\.5/);
  assert.match(await client.reply(), /^250 2\.1\.5/);
  assert.match(await client.reply(), /^354/);
  client.send("A: 1\r\n\r\n1\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<b@here.example>\r\nDATA\r\n");
  assert.match(await client.reply(), /^250 2\.6\.0/);
  assert.match(await client.reply(), /^250 2\.1\.0/);
  assert.match(await client.reply(), /^250 2\.1\.5/);
  assert.match(await client.reply(), /^354/);
  assert.match(await client.say(".\r\nQUIT\r\n"), /^250 2\.6\.0/);
  assert.match(await client.reply(), /^221/);
  assert.deepEqual(
    taken.map(({ envelope }) => [envelope.from, envelope.to]),
    [
      ["a@sender.example", ["b@here.example", "c@here.example"]],
      ["", ["b@here.example"]],
    ],
  );
  assert.doesNotMatch(taken[0]!.raw, /for </, "recipients are not disclosed to each other");
  assert.equal(withoutReceived(taken[1]!.raw), "", "an empty message is accepted");
});

test("discards a message over the limit, rejects it at its end, and continues the session", async (t) => {
  const { port, taken, spoolFiles, spooledBytes } = await listen(t, { limits: { messageBytes: 1024 * 1024 } });
  const client = await runUntilData(port);
  const line = Buffer.from(`${"x".repeat(98)}\r\n`);
  const block = Buffer.concat(Array.from({ length: 1000 }, () => line));
  for (let i = 0; i < 30; i++) {
    if (!client.socket.write(block)) await new Promise((resolve) => client.socket.once("drain", resolve));
  }
  assert.equal(
    await client.say(".\r\n"),
    "552 5.3.4 Email message size is bigger than the production size limit of 1MiB.",
  );
  assert.match(await client.say("NOOP\r\n"), /^250/);
  assert.equal(taken.length, 0);
  assert.deepEqual(await spoolFiles(), []);
  assert.ok(spooledBytes() <= 1024 * 1024, "most of the 3 MB was never written to disk");
  client.socket.destroy();
});

test("by default rejects a message of 26 MiB and accepts one of 25 MiB", async (t) => {
  const { port, taken } = await listen(t);
  const client = createTransport({ host: "127.0.0.1", port });
  t.after(() => client.close());
  const message = (bytes: number) =>
    Buffer.concat([Buffer.from(`A: ${"1".repeat(57)}\r\n\r\n`), Buffer.alloc(bytes - 64, `${"y".repeat(62)}\r\n`)]);
  const envelope = { from: "a@sender.example", to: "b@here.example" };
  await assert.rejects(client.sendMail({ envelope, raw: message(26 * 1024 * 1024) }), { responseCode: 552 });
  await client.sendMail({ envelope, raw: message(26_214_400) });
  assert.equal(withoutReceived(taken[0]!.raw).length, 26_214_400);
});

test("recipients over the limit get 452 4.5.3, and the first ones are accepted", async (t) => {
  const { port, taken } = await listen(t, { limits: { recipients: 3 } });
  const client = await rawClient(port);
  await client.reply();
  await client.say("EHLO x\r\n");
  await client.say("MAIL FROM:<a@sender.example>\r\n");
  const replies: string[] = [];
  for (let i = 0; i < 5; i++) replies.push((await client.say(`RCPT TO:<r${i}@here.example>\r\n`)).slice(0, 9));
  assert.deepEqual(replies, ["250 2.1.5", "250 2.1.5", "250 2.1.5", "452 4.5.3", "452 4.5.3"]);
  await client.say("DATA\r\n");
  await client.say("x\r\n.\r\n");
  assert.equal(taken[0]!.envelope.to.length, 3);
  client.socket.destroy();
});

test("connections over the limit are rejected with 421", async (t) => {
  const { port } = await listen(t, { limits: { connections: 2 } });
  const clients = [await rawClient(port), await rawClient(port)];
  for (const client of clients) assert.match(await client.reply(), /^220/);
  const third = await rawClient(port);
  assert.match(await third.reply(), /^421 /);
  assert.equal(await third.rest(), "");
  for (const client of [...clients, third]) client.socket.destroy();
});

test("disconnects a client that is too slow with a command or a message", async (t) => {
  const { port } = await listen(t, { limits: { commandMs: 150 } });
  const { port: dataPort, taken } = await listen(t, { limits: { dataMs: 150 } });
  const dripping = await runUntilData(dataPort);
  const idle = await rawClient(port);
  assert.match(await idle.reply(), /^220/);
  const timer = setInterval(() => {
    for (const { socket } of [idle, dripping]) if (socket.writable) socket.write("x");
  }, 20);
  t.after(() => clearInterval(timer));
  assert.match(await idle.reply(), /^421 4\.4\.2 /);
  assert.match(await dripping.reply(), /^421 4\.4\.2 /);
  await Promise.all([idle.rest(), dripping.rest()]);
  assert.equal(taken.length, 0);
});

test("the client's timeouts do not apply to a slow handler", async (t) => {
  const { port } = await listen(t, {
    limits: { commandMs: 1000, dataMs: 1000 },
    settle: (envelope) =>
      new Promise((resolve) => setTimeout(() => resolve([{ rcpt: envelope.to[0]!, ok: true }]), 2500)),
  });
  const client = await runUntilData(port);
  assert.match(await client.say("x\r\n.\r\n"), /^250 /);
  client.socket.destroy();
});

test("a connection dropped in DATA leaves no message and no file", async (t) => {
  let settled = 0;
  const { port, taken, spoolFiles, listener } = await listen(t, { settle: () => (settled++, []) });
  const client = await runUntilData(port);
  client.socket.write(Buffer.alloc(600 * 1024, `${"z".repeat(62)}\r\n`));
  // The spool creates its file after the first 256 KiB.
  while ((await spoolFiles()).length === 0) await tick();
  client.socket.destroy();
  await listener.close();
  while ((await spoolFiles()).length > 0) await tick();
  assert.equal(taken.length + settled, 0);
});

test("limits the header section: accepts 10,000 fields, and rejects a megabyte without an end", async (t) => {
  const { port, taken, spooledBytes } = await listen(t);
  const client = await runUntilData(port);
  assert.match(await client.say(`${"X-A: 1\r\n".repeat(10_000)}\r\nbody\r\n.\r\n`), /^250 /);
  await client.say("MAIL FROM:<a@sender.example>\r\n");
  await client.say("RCPT TO:<b@here.example>\r\n");
  await client.say("DATA\r\n");
  const before = spooledBytes();
  client.send(`X: ${`${"a".repeat(70)}\r\n `.repeat(16_000)}\r\n`);
  const answer = client.reply();
  while (spooledBytes() < before + 1024 * 1024) await tick();
  // The limit has been exceeded, but the rejection waits for the end of the message; another client can send a whole
  // message meanwhile.
  const other = await runUntilData(port);
  assert.match(await other.say("x\r\n.\r\n"), /^250 /);
  other.socket.destroy();
  assert.equal(await Promise.race([answer, Promise.resolve("not yet")]), "not yet");
  client.send(".\r\n");
  assert.equal(await answer, "554 5.6.0 could not parse email: the header section is larger than 1048576 bytes");
  assert.match(await client.say("NOOP\r\n"), /^250 /);
  assert.equal(taken.length, 2);
  client.socket.destroy();
});

test("uses at most a megabyte of memory for a megabyte of dots", async (t) => {
  const { port, taken } = await listen(t);
  const client = await runUntilData(port);
  const started = performance.now();
  client.send(`\r\n${"..\r\n".repeat(1024 * 1024)}`);
  assert.match(await client.say(".\r\n"), /^250 /);
  assert.ok(performance.now() - started < 30_000);
  assert.equal(withoutReceived(taken[0]!.raw).length, 2 + 3 * 1024 * 1024);
  client.socket.destroy();
});

test("accepts addresses in any script: local parts as UTF-8, domains as A-labels", async (t) => {
  const { port, taken } = await listen(t);
  const client = await rawClient(port);
  await client.reply();
  await client.say("EHLO x\r\n");
  assert.match(await client.say("MAIL FROM:<jürgen@bücher.example> SMTPUTF8 BODY=8BITMIME\r\n"), /^250/);
  assert.match(await client.say("RCPT TO:<用户@xn--fsqu00a.example>\r\n"), /^250/);
  await client.say("DATA\r\n");
  assert.match(await client.say("Subject: grün\r\n\r\nüber\r\n.\r\n"), /^250/);
  assert.deepEqual(taken[0]!.envelope, {
    from: "jürgen@xn--bcher-kva.example",
    to: ["用户@xn--fsqu00a.example"],
    helo: "x",
    ip: "127.0.0.1",
    smtputf8: true,
  });
  assert.match(taken[0]!.raw, /with UTF8SMTP id/);
  client.socket.destroy();
});

test("STARTTLS drops plaintext pipelined after it, and the same rules apply inside TLS", async (t) => {
  const { port, taken } = await listen(t, { tls: testCertificates() });
  const client = createTransport({
    host: "127.0.0.1",
    port,
    name: "client.example",
    requireTLS: true,
    tls: { rejectUnauthorized: false },
  });
  await client.sendMail({ envelope: { from: "a@sender.example", to: "b@here.example" }, raw: "A: 1\r\n\r\nbody\r\n" });
  client.close();
  assert.match(taken[0]!.raw, /with ESMTPS id/);
  assert.match(taken[0]!.envelope.tls!, /^TLSv1\.[23] /);

  const plain = await rawClient(port);
  await plain.reply();
  await plain.say("EHLO x\r\n");
  assert.match(await plain.say("STARTTLS\r\nMAIL FROM:<evil@x.example>\r\n"), /^220 /);
  const secure = connectTls({ socket: plain.socket, rejectUnauthorized: false });
  await once(secure, "secureConnect");
  secure.write("EHLO x\r\n");
  const [ehlo] = await once(secure, "data");
  assert.match(String(ehlo), /^250-mx\.test/);
  assert.doesNotMatch(String(ehlo), /STARTTLS/);
  secure.write("RCPT TO:<b@here.example>\r\n");
  assert.match(String((await once(secure, "data"))[0]), /^503 /, "no transaction was injected before STARTTLS");
  secure.write("NOOP\n");
  assert.match(String((await once(secure, "data"))[0]), /^500 5\.5\.2 /);
  secure.destroy();
});

test("the single reply for several recipients reflects every result", async (t) => {
  const rejected = { code: 555, enhanced: "5.7.1", text: "no thanks" };
  const later = { code: 451, enhanced: "4.3.0", text: "later" };
  const { port } = await listen(t, {
    settle: (envelope) =>
      envelope.to.map((rcpt): DeliveryResult => {
        if (rcpt.startsWith("ok")) return { rcpt, ok: true };
        return rcpt.startsWith("no")
          ? { rcpt, ok: false, temporary: false, reply: rejected }
          : { rcpt, ok: false, temporary: true, reply: later };
      }),
  });
  for (const [to, expected] of [
    [["ok@x.example", "ok2@x.example"], "250 2.6.0 Message accepted"],
    [["no@x.example"], "555 5.7.1 no thanks"],
    [["no@x.example", "no2@x.example"], "555 5.7.1 no thanks (<no@x.example> <no2@x.example>)"],
    [["ok@x.example", "no@x.example"], "555 5.7.1 no thanks (<no@x.example>; the other recipients received it)"],
    [
      ["ok@x.example", "no@x.example", "later@x.example"],
      "451 4.3.0 later (<later@x.example>; the other recipients received it)",
    ],
  ] as const) {
    const client = await runUntilData(port, { to: [...to] });
    assert.equal(await client.say("x\r\n.\r\n"), expected);
    client.socket.destroy();
  }
});

test("returns the next hop's reply text as ASCII unless the client uses SMTPUTF8", async (t) => {
  const { port } = await listen(t, {
    settle: ({ to }) =>
      to.map((rcpt) => ({
        rcpt,
        ok: false,
        temporary: false,
        reply: { code: 550, enhanced: "5.1.1", text: "größer \u{1f600} no" },
      })),
  });
  for (const [mail, said] of [
    ["MAIL FROM:<a@sender.example>", "gr??er ? no"],
    ["MAIL FROM:<a@sender.example> SMTPUTF8", "größer \u{1f600} no"],
  ]) {
    const client = await rawClient(port);
    await client.reply();
    for (const command of ["EHLO x", mail!, "RCPT TO:<b@here.example>", "DATA"]) await client.say(`${command}\r\n`);
    // The test client returns raw bytes.
    assert.equal(
      Buffer.from(await client.say("Subject: x\r\n\r\nx\r\n.\r\n"), "latin1").toString(),
      `550 5.1.1 ${said}`,
    );
    client.socket.destroy();
  }
});

test("reports an internal error as a temporary failure without internal details", async (t) => {
  const { port } = await listen(t, { settle: () => Promise.reject(new Error("secret detail")) });
  const client = await runUntilData(port);
  assert.equal(await client.say("x\r\n.\r\n"), "451 4.3.0 Message processing failed, try again later");
  client.socket.destroy();
});

test("close() replies to messages in progress, disconnects idle clients immediately, and accepts no new clients", async (t) => {
  const began = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<DeliveryResult[]>();
  const { port, listener } = await listen(t, { settle: () => (began.resolve(), answer.promise) });
  const [idle, busy] = [await rawClient(port), await runUntilData(port)];
  await idle.reply();
  busy.send("x\r\n.\r\n");
  await began.promise;
  const closed = listener.close();
  assert.match(await idle.reply(), /^421 4\.3\.2 /);
  answer.resolve([{ rcpt: "b@here.example", ok: true }]);
  assert.match(await busy.reply(), /^250 /);
  assert.match(await busy.reply(), /^421 4\.3\.2 /);
  await closed;
  assert.equal(await (await rawClient(port)).reply(), "(closed)");
});

test("reports a port in use with a clear error", async (t) => {
  const { port } = await listen(t);
  const spool = await newSpool();
  await assert.rejects(
    createSmtpListener({ host: "127.0.0.1", port, receive: async () => [], spool, clock, ids, log }),
    (err: Error) => {
      assert.match(err.message, new RegExp(`port ${port} on 127\\.0\\.0\\.1 is in use by another program`));
      return true;
    },
  );
});
