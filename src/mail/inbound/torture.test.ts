import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import * as fc from "fast-check";
import { createTransport } from "nodemailer";
import { clock, ids, rawClient, upToData, type RawClient } from "../mail.testing.ts";
import { createSpool, type SmtpReply } from "../messages/index.ts";
import { listen, withoutReceived, type Listening } from "./listening.testing.ts";

async function greeted(port: number, hello = "EHLO client.example"): Promise<RawClient> {
  const client = await rawClient(port);
  await client.reply();
  await client.say(`${hello}\r\n`);
  return client;
}

async function conversation(t: TestContext, options?: Listening) {
  const world = await listen(t, options);
  const client = await greeted(world.port);
  t.after(() => client.socket.destroy());
  return { ...world, client, say: (line: string) => client.say(`${line}\r\n`) };
}

// ---- replies that must be awaited (RFC 2920 3.1)

for (const [name, burst] of Object.entries({
  "a burst sent with netcat":
    "EHLO x\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<b@here.example>\r\nDATA\r\nx\r\n.\r\nQUIT\r\n",
  "HELO with a pipelined command": "HELO x\r\nMAIL FROM:<a@b.example>\r\n",
})) {
  test(`${name} cannot deliver a message`, async (t) => {
    const { port, taken } = await listen(t);
    for (const early of [true, false]) {
      const client = await rawClient(port);
      // A client that speaks first may be processed before or after the greeting is sent.
      if (!early) await client.reply();
      client.send(burst);
      const rest = await client.rest();
      assert.match(rest, /(?:^|\n)(?:421|554 5\.5\.0) /);
      assert.doesNotMatch(rest, /^250/m);
    }
    assert.equal(taken.length, 0);
  });
}

test("a message that does not wait for 354 is rejected, and its lines are not executed as commands", async (t) => {
  const { port, taken } = await listen(t);
  const client = await greeted(port);
  client.send(
    "MAIL FROM:<a@b.example>\r\nRCPT TO:<b@here.example>\r\nDATA\r\nSubject: x\r\n\r\nMAIL FROM:<evil@x.example>\r\n.\r\n",
  );
  assert.match(await client.reply(), /^250 2\.1\.0 /);
  assert.match(await client.reply(), /^250 2\.1\.5 /);
  assert.match(await client.reply(), /^554 5\.5\.0 .*synchronization/);
  assert.equal(await client.rest(), "");
  assert.equal(taken.length, 0);
});

// ---- parameters

test("allowed and disallowed parameters of MAIL and RCPT", async (t) => {
  const { say } = await conversation(t, { limits: { patience: 100, errors: 100 } });
  for (const [params, code] of [
    ["SIZE=100 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=QQ314159", "250 2.1.0"],
    ["REQUIRETLS", "555 5.5.4"],
    ["X-OTHER=1", "555 5.5.4"],
    ["AUTH=<>", "555 5.5.4"],
    ["=", "555 5.5.4"],
    ["SIZE=x", "501 5."],
    ["SIZE=10 SIZE=20", "501 5."],
    ["SIZE=99999999999999999999", "552 5.3.4"],
    ["BODY=BINARYMIME", "501 5."],
    ["SMTPUTF8=1", "501 5."],
    ["RET=ALL", "501 5.5.4"],
    ["ENVID=a+b", "501 5."],
    [`ENVID=${"x".repeat(101)}`, "501 5.5.4"],
    ["RET=FULL RET=HDRS", "501 5.5.4"],
  ]) {
    const answer = await say(`MAIL FROM:<a@b.example> ${params}`);
    assert.ok(answer.startsWith(code!), `${params}: ${answer}`);
    await say("RSET");
  }
  await say("MAIL FROM:<a@b.example>");
  for (const [params, code] of [
    ["NOTIFY=SUCCESS,DELAY ORCPT=rfc822;x@y.example", "250 2.1.5"],
    ["NOTIFY=NEVER,FAILURE", "501 5.5.4"],
    ["NOTIFY=SOMETIMES", "501 5.5.4"],
    ["ORCPT=x", "501 5.5.4"],
    ["SIZE=1", "555 5.5.4"],
  ]) {
    const answer = await say(`RCPT TO:<b@here.example> ${params}`);
    assert.ok(answer.startsWith(code!), `${params}: ${answer}`);
  }
});

test("the envelope contains the DSN parameters, keyed by recipient", async (t) => {
  const { say, taken } = await conversation(t);
  await say("MAIL FROM:<a@b.example> RET=FULL ENVID=QQ+2B1");
  for (const rcpt of [
    "<one@here.example> NOTIFY=NEVER",
    "<TWO@bücher.example> NOTIFY=success,failure ORCPT=rfc822;first+2Btag@x.example",
    "<three@here.example>",
  ]) {
    await say(`RCPT TO:${rcpt.replace("bücher", "xn--bcher-kva")}`);
  }
  await say("DATA");
  await say("x\r\n.");
  assert.deepEqual(taken[0]!.envelope.dsn, {
    ret: "FULL",
    envid: "QQ+1",
    to: {
      "one@here.example": { notify: ["NEVER"] },
      "TWO@xn--bcher-kva.example": { notify: ["SUCCESS", "FAILURE"], orcpt: "rfc822;first+tag@x.example" },
    },
  });
  // The next transaction starts without parameters.
  await say("MAIL FROM:<a@b.example>");
  await say("RCPT TO:<one@here.example>");
  await say("DATA");
  await say("x\r\n.");
  assert.equal(taken[1]!.envelope.dsn, undefined);
});

test("RFC 6531: a non-ASCII address needs SMTPUTF8, and must be UTF-8", async (t) => {
  const { say, client } = await conversation(t);
  assert.match(await say("MAIL FROM:<jürgen@b.example>"), /^553 5\.6\.7 /);
  assert.match(await say("MAIL FROM:<a@b.example>"), /^250 /);
  assert.match(await say("RCPT TO:<jürgen@here.example>"), /^553 5\.6\.7 /);
  assert.match(await say("RSET"), /^250 /);
  assert.match(
    await client.say(Buffer.from("MAIL FROM:<j\xfcrgen@b.example> SMTPUTF8\r\n", "latin1")),
    /^501 5\.5\.2 /,
  );
  assert.match(await say("MAIL FROM:<jürgen@b.example> SMTPUTF8"), /^250 /);
  assert.match(await say("RCPT TO:<jürgen@here.example>"), /^250 /);
});

for (const path of [
  "a@b.example",
  "<a@b.example",
  "a@b.example>",
  "<a b@c.example>",
  "<a@b.example>x",
  "<@>",
  "<a@>",
  "<@b.example>",
  "<a@@b.example>",
  "<a..b@c.example>",
  "<.a@b.example>",
  "<a@b..example>",
  "<a@[999.0.2.1]>",
  "<a@[IPv6:zz]>",
  "<a@b.example\0>",
  "<a\x7f@b.example>",
  `<${"a".repeat(300)}@b.example>`,
  "<<a@b.example>>",
  "<a@b.example> <c@d.example>",
  "",
]) {
  test(`invalid path: ${JSON.stringify(path.slice(0, 40))}`, async (t) => {
    const { say } = await conversation(t);
    assert.match(await say(`MAIL FROM:${path}`), /^5\d\d 5\./);
    assert.match(await say("MAIL FROM:<a@b.example>"), /^250 /);
    assert.match(await say(`RCPT TO:${path}`), /^5\d\d 5\./);
    assert.match(await say("DATA"), /^503 5\.5\.1 /);
  });
}

test("accepts the null sender, a source route, an address literal, postmaster without a domain", async (t) => {
  const { say, taken } = await conversation(t);
  assert.match(await say("MAIL FROM:<>"), /^250 /);
  for (const rcpt of ["<@relay.example,@other.example:b@here.example>", "<b@[192.0.2.1]>", "<Postmaster>"])
    assert.match(await say(`RCPT TO:${rcpt}`), /^250 /, rcpt);
  assert.match(await say("RCPT TO:<>"), /^501 5\./);
  await say("DATA");
  await say("x\r\n.");
  assert.equal(taken[0]!.envelope.from, "");
  assert.deepEqual(taken[0]!.envelope.to, ["b@here.example", "b@[192.0.2.1]", "Postmaster"]);
});

// ---- RFC 2034: enhanced status codes

test("every reply except those to the greeting and EHLO has an enhanced code", async (t) => {
  const { port } = await listen(t, { limits: { patience: 100, errors: 100 } });
  const answers: string[] = [];
  for (const lines of [
    [
      "NOOP",
      "RSET",
      "VRFY x",
      "HELP",
      "EXPN x",
      "FOO",
      "RCPT TO:<b@here.example>",
      "DATA",
      "MAIL FROM:x",
      "STARTTLS",
      "AUTH PLAIN",
      "BDAT 1 LAST",
      "VRFY",
      "TURN",
      "ETRN x",
    ],
    [
      "MAIL FROM:<a@b.example>",
      "MAIL FROM:<a@b.example>",
      "RCPT TO:<b@here.example>",
      "RCPT TO:x",
      "DATA",
      "x\r\n.",
      "QUIT",
    ],
    ["GET / HTTP/1.1"],
    ["x".repeat(5000)],
  ]) {
    const client = await greeted(port);
    for (const line of lines) answers.push(await client.say(`${line}\r\n`));
    client.socket.destroy();
  }
  for (const answer of answers.filter((line) => !line.startsWith("354")))
    assert.match(answer, /^([245])\d\d \1\.\d{1,3}\.\d{1,3} \S/, answer);
});

test("commands out of order are rejected and have no effect", async (t) => {
  const { port } = await listen(t);
  const client = await rawClient(port);
  await client.reply();
  for (const line of ["MAIL FROM:<a@b.example>", "RCPT TO:<b@here.example>", "DATA"])
    assert.match(await client.say(`${line}\r\n`), /^503 5\.5\.1 /);
  client.socket.destroy();
  const { say, taken } = await conversation(t);
  await say("MAIL FROM:<a@b.example>");
  assert.match(await say("DATA"), /^503 5\.5\.1 /);
  await say("RCPT TO:<b@here.example>");
  // EHLO includes RSET (RFC 5321 4.1.4).
  await say("EHLO again.example");
  assert.match(await say("DATA"), /^503 5\.5\.1 /);
  assert.equal(taken.length, 0);
});

// ---- length limits

test("a line of a message may be long, a command may not", async (t) => {
  const { port, taken } = await listen(t);
  const client = await upToData(port);
  const body = `Subject: x\r\n\r\n${"y".repeat(998)}\r\n${"z".repeat(100_000)}\r\n`;
  assert.match(await client.say(`${body}.\r\n`), /^250 /);
  assert.equal(withoutReceived(taken[0]!.raw), body);
  client.socket.destroy();
  for (const command of [`MAIL FROM:<${"a".repeat(5000)}@b.example>\r\n`, "x".repeat(100_000)]) {
    const other = await greeted(port);
    assert.equal(await other.say(command), "500 5.5.2 Error: command line too long");
    assert.equal(await other.rest(), "");
  }
});

test("a command without its line end is ignored when the client disconnects", async (t) => {
  const checked: string[] = [];
  const { port, listener } = await listen(t, { checkRecipient: async (rcpt) => void checked.push(rcpt) });
  const client = await greeted(port);
  await client.say("MAIL FROM:<a@b.example>\r\n");
  await client.say("RCPT TO:<whole@here.example>\r\n");
  client.socket.end("RCPT TO:<half@here.example>");
  await client.rest();
  while (listener.connections > 0) await tick();
  assert.deepEqual(checked, ["whole@here.example"]);
});

// ---- error limits

test("a client with errors is delayed, then disconnected; an accepted message resets the count", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { port } = await listen(t, { limits: { patience: 3, errors: 6, tarpitMs: 250 } });
  const client = await greeted(port);
  /** Because the clock is stopped, a delayed reply is never sent. */
  const say = (line: string) => client.say(`${line}\r\n`);
  /** Minimum delay before the reply, in milliseconds. */
  const waited = async (line: string) => {
    const state = { answer: undefined as string | undefined };
    const saying = say(line).then((answer) => (state.answer = answer));
    let ms = 0;
    for (; state.answer === undefined; ms++) {
      t.mock.timers.tick(1);
      await tick();
    }
    return { answer: await saying, ms };
  };
  for (let i = 0; i < 3; i++) assert.match(await say("FOO"), /^500 /);
  const held = await waited("FOO");
  assert.match(held.answer, /^500 /);
  assert.ok(held.ms >= 250, `${held.ms} ms`);
  for (const line of ["MAIL FROM:<a@b.example>", "RCPT TO:<b@here.example>", "DATA"]) await waited(line);
  assert.match((await waited("x\r\n.")).answer, /^250 /);
  assert.match(await say("NOOP"), /^250 /);
  for (let i = 0; i < 6; i++) assert.match((await waited("FOO")).answer, /^500 /);
  assert.match((await waited("NOOP")).answer, /^421 4\.7\.0 Error: too many errors/);
  assert.equal(await client.rest(), "");
});

test("endless commands without a message end the session; rejected messages do not", async (t) => {
  const { port, listener } = await listen(t, {
    limits: { patience: 5, errors: 10, commands: 50, tarpitMs: 1 },
    settle: ({ to }) =>
      to.map((rcpt) => ({ rcpt, ok: false, temporary: false, reply: { code: 555, enhanced: "5.7.1", text: "no" } })),
  });
  const idle = await greeted(port);
  idle.send("NOOP\r\n".repeat(200));
  const rest = await idle.rest();
  assert.match(rest, /421 4\.7\.0 Error: too many errors, closing connection\r\n$/);
  assert.ok(rest.split("250 2.0.0").length < 80);
  const client = await upToData(port);
  for (let i = 0; i < 9; i++) {
    assert.match(await client.say("x\r\n.\r\n"), /^555 5\.7\.1 no/);
    await client.say("MAIL FROM:<a@b.example>\r\n");
    await client.say("RCPT TO:<b@here.example>\r\n");
    await client.say("DATA\r\n");
  }
  assert.match(await client.say("x\r\n.\r\n"), /^555 /);
  client.socket.destroy();
  await listener.close();
});

test("guessing recipients is slowed down", async (t) => {
  const refused: string[] = [];
  const unknown: SmtpReply = { code: 550, enhanced: "5.1.1", text: "No such recipient" };
  const { port, taken } = await listen(t, {
    limits: { patience: 3, errors: 6, tarpitMs: 1 },
    checkRecipient: async (rcpt, { from, to }) => (
      assert.deepEqual([from, to], ["a@b.example", []]),
      rcpt.startsWith("guess") ? unknown : undefined
    ),
    onRefused: ({ from, to }, { code }, stage) => void refused.push(`${stage} ${from} ${to.join()} ${code}`),
  });
  const client = await greeted(port);
  await client.say("MAIL FROM:<a@b.example>\r\n");
  for (let i = 0; i < 6; i++)
    assert.equal(await client.say(`RCPT TO:<guess${i}@here.example>\r\n`), "550 5.1.1 No such recipient");
  assert.match(await client.say("RCPT TO:<guess6@here.example>\r\n"), /^421 4\.7\.0 /);
  assert.equal(taken.length, 0);
  assert.deepEqual(refused.slice(0, 2), [
    "rcpt a@b.example guess0@here.example 550",
    "rcpt a@b.example guess1@here.example 550",
  ]);
});

test("if a recipient check fails, the recipient is deferred, even if the rejection cannot be logged", async (t) => {
  const { say } = await conversation(t, {
    checkRecipient: () => Promise.reject(new Error("secret detail")),
    onRefused: () => {
      throw new Error("the log is full");
    },
  });
  await say("MAIL FROM:<a@b.example>");
  assert.equal(await say("RCPT TO:<b@here.example>"), "451 4.3.0 Message processing failed, try again later");
});

test("messages over the limit per minute are deferred, regardless of the connection they use", async (t) => {
  const { port, taken } = await listen(t, { limits: { messagesPerMinute: 3 } });
  for (let i = 0; i < 5; i++) {
    const client = await greeted(port);
    const answer = await client.say("MAIL FROM:<a@b.example>\r\n");
    assert.match(answer, i < 3 ? /^250 / : /^451 4\.7\.1 Too many messages from your network/);
    client.socket.destroy();
  }
  clock.advance(20_000);
  assert.match(await (await greeted(port)).say("MAIL FROM:<a@b.example>\r\n"), /^250 /);
  assert.equal(taken.length, 0);
});

// ---- block lists and filters

test("a client on a block list may write only to postmaster", async (t) => {
  const listed: SmtpReply = {
    code: 554,
    enhanced: "5.7.1",
    text: "127.0.0.1 found on one or more RBLs (bl.example). Refer to https://bl.example/",
  };
  const { say, taken } = await conversation(t, {
    blockLists: { find: async (ip) => (assert.equal(ip, "127.0.0.1"), listed) },
  });
  await say("MAIL FROM:<a@b.example>");
  assert.equal(
    await say("RCPT TO:<b@here.example>"),
    "554 5.7.1 127.0.0.1 found on one or more RBLs (bl.example). Refer to https://bl.example/",
  );
  for (const rcpt of ["Postmaster", "postmaster@here.example"]) assert.match(await say(`RCPT TO:<${rcpt}>`), /^250 /);
  await say("DATA");
  assert.match(await say("x\r\n."), /^250 /);
  assert.equal(taken[0]!.envelope.to.length, 2);
});

test("a content filter can reject, defer, or set protected header fields; if it fails, mail is accepted", async (t) => {
  const refused: string[] = [];
  const { port, taken, spoolFiles } = await listen(t, {
    onRefused: (_, { code }, stage) => void refused.push(`${stage} ${code}`),
    filter: {
      async check({ from }) {
        if (from.startsWith("spam"))
          return { action: "refuse", reply: { code: 554, enhanced: "5.7.1", text: "Message is spam" } };
        if (from.startsWith("grey"))
          return { action: "refuse", reply: { code: 451, enhanced: "4.7.1", text: "Greylisted, try again later" } };
        if (from.startsWith("tag")) return { action: "tag", fields: [{ name: "X-Spam-Flag", value: "YES" }] };
        if (from.startsWith("broken")) throw new Error("the filter is down");
        return { action: "accept" };
      },
    },
  });
  // Large enough to be in a file during the check.
  const message = `Subject: x\r\nX-SPAM-Flag: NO\r\n folded\r\nTo: y\r\n\r\n${"body\r\n".repeat(60_000)}`;
  const answers: string[] = [];
  for (const from of ["spam@b.example", "grey@b.example", "tag@b.example", "broken@b.example", "fine@b.example"]) {
    const client = await upToData(port, { from });
    answers.push((await client.say(`${message}.\r\n`)).slice(0, 9));
    client.socket.destroy();
  }
  assert.deepEqual(answers, ["554 5.7.1", "451 4.7.1", "250 2.6.0", "250 2.6.0", "250 2.6.0"]);
  assert.deepEqual(refused, ["data 554", "data 451"]);
  assert.match(taken[0]!.raw, /^X-Spam-Flag: YES\r\nReceived: [^]*\r\nSubject: x\r\nTo: y\r\n\r\n(?:body\r\n){60000}$/);
  assert.equal(withoutReceived(taken[1]!.raw), message);
  assert.deepEqual(await spoolFiles(), []);
});

// ---- storage

test("a full disk: 452, never 250; small mail is still accepted, and large mail again after space is freed", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-spool-full-"));
  const mounted =
    process.platform === "linux" && spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]).status === 0;
  t.after(() => {
    if (mounted) spawnSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const disk = createSpool({ dir: join(folder, "spool"), ids });
  let full = true;
  const noSpace = () => Promise.reject(Object.assign(new Error("no space left on device"), { code: "ENOSPC" }));
  if (!mounted) t.diagnostic("cannot mount a small disk here: the test simulates the error");
  const spool = mounted
    ? disk
    : { ...disk, collect: (...args: Parameters<typeof disk.collect>) => (full ? noSpace() : disk.collect(...args)) };
  const { port, taken } = await listen(t, { spool });
  const client = createTransport({ host: "127.0.0.1", port });
  t.after(() => client.close());
  const send = (bytes: number) =>
    client.sendMail({
      envelope: { from: "a@b.example", to: "b@here.example" },
      raw: Buffer.concat([Buffer.from("A: 1\r\n\r\n"), Buffer.alloc(bytes, `${"y".repeat(62)}\r\n`)]),
    });
  const ballast = join(folder, "ballast");
  if (mounted) writeFileSync(ballast, Buffer.alloc(1_000_000));
  for (let i = 0; i < 3; i++)
    await assert.rejects(send(4_000_000), {
      response: "452 4.3.1 Insufficient storage, try again later",
    });
  assert.equal(taken.length, 0);
  if (mounted) {
    await send(10_000);
    rmSync(ballast);
    assert.equal(statfsSync(folder).bfree, statfsSync(folder).blocks, "no files of rejected messages remain");
  }
  full = false;
  await send(1_000_000);
  assert.equal(taken.length, mounted ? 2 : 1);
});

// ---- random sessions

test("no session can crash the server, get more than one reply per line, or deliver a message that was not sent", async (t) => {
  const { port, taken, listener } = await listen(t, { limits: { patience: 1000, errors: 1000 } });
  const line = fc.constantFrom(
    "EHLO x\r\n",
    "HELO x\r\n",
    "MAIL FROM:<a@b.example>\r\n",
    "MAIL FROM:<> RET=HDRS\r\n",
    "RCPT TO:<b@here.example>\r\n",
    "RCPT TO:<c@here.example> NOTIFY=NEVER\r\n",
    "DATA\r\n",
    ".\r\n",
    "\r\n",
    "RSET\r\n",
    "NOOP\r\n",
    "QUIT\r\n",
    "AUTH PLAIN\r\n",
    "BDAT 5 LAST\r\n",
    "hello\r\n",
    "\n.\n",
    "\r.\r",
    "\0",
    "..\r\n",
    "STARTTLS\r\n",
    "VRFY\r\n",
    "mail from:<a@b.example>size=1\r\n",
  );
  const piece = fc.oneof(
    { weight: 5, arbitrary: line.map((text) => Buffer.from(text, "latin1")) },
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 25 }), fc.boolean(), async (pieces, oneByOne) => {
      const client = await greeted(port);
      for (const bytes of pieces) {
        client.send(bytes);
        if (oneByOne) await tick();
      }
      client.socket.end();
      const rest = await client.rest();
      for (const answer of rest.split("\r\n").slice(0, -1)) assert.match(answer, /^[2345]\d\d[ -]/);
      assert.ok(rest.split("\r\n").length <= Buffer.concat(pieces).toString("latin1").split("\n").length * 7 + 1);
    }),
    { numRuns: 150 },
  );
  for (const { envelope, raw } of taken) {
    assert.ok(envelope.to.length > 0);
    assert.doesNotMatch(withoutReceived(raw), /[^\r]\n|\r(?!\n)/);
  }
  while (listener.connections > 0) await tick();
  const before = taken.length;
  const good = await upToData(port);
  assert.match(await good.say("x\r\n.\r\n"), /^250 /);
  good.socket.destroy();
  assert.equal(taken.length, before + 1);
});
