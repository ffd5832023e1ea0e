import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { rawClient } from "../mail.testing.ts";
import { listen, withoutReceived, type Listening } from "./listening.testing.ts";

/** Resolves with a client that has sent RCPT. */
async function inTransaction(t: TestContext, options?: Listening) {
  const listening = await listen(t, options);
  const client = await rawClient(listening.port);
  t.after(() => client.socket.destroy());
  await client.reply();
  assert.match(await client.say("EHLO client.example\r\n"), /^250-CHUNKING\r$/m);
  await client.say("MAIL FROM:<a@b.example>\r\n");
  await client.say("RCPT TO:<b@here.example>\r\n");
  return { ...listening, client };
}

test("receives a message in pipelined chunks, followed by another transaction", async (t) => {
  const { client, taken } = await inTransaction(t);
  client.send("BDAT 14\r\nSubject: x\r\n\r\nBDAT 9 LAST\r\n.\r\nbody\r\nMAIL FROM:<>\r\n");
  assert.equal(await client.reply(), "250 2.0.0 14 octets received");
  assert.equal(await client.reply(), "250 2.6.0 Message accepted");
  assert.equal(await client.reply(), "250 2.1.0 Accepted");
  assert.equal(withoutReceived(taken[0]!.raw), "Subject: x\r\n\r\n.\r\nbody\r\n");
});

test("rejects a bare CR or LF in a chunk, in every known form of SMTP smuggling", async (t) => {
  for (const lookAlike of ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r\n", "\r\n.\r", "x\rx"]) {
    const { client, taken, spoolFiles } = await inTransaction(t);
    const content = `Subject: x\r\n\r\nbody${lookAlike}MAIL FROM:<evil@x.example>\r\n`;
    assert.match(await client.say(`BDAT ${content.length} LAST\r\n${content}`), /^550 5\.6\.11 Bare (?:CR|LF)/);
    assert.match(await client.say("NOOP\r\n"), /^250 2\.0\.0 /);
    assert.equal(taken.length, 0);
    assert.deepEqual(await spoolFiles(), []);
  }
});

test("rejects a message over the size limit after its last chunk", async (t) => {
  const { client, taken, spooledBytes } = await inTransaction(t, { limits: { messageBytes: 1000 } });
  for (let i = 0; i < 10; i++)
    assert.match(await client.say(`BDAT 200\r\n${"x".repeat(198)}\r\n`), /^250 2\.0\.0 200 octets received/);
  assert.match(await client.say("BDAT 0 LAST\r\n"), /^552 5\.3\.4 /);
  assert.equal(taken.length, 0);
  assert.ok(spooledBytes() <= 1000);
});

test("RSET between chunks discards the message", async (t) => {
  const { client, taken, spoolFiles } = await inTransaction(t);
  const block = `${"y".repeat(62)}\r\n`.repeat(8192);
  await client.say(`BDAT ${block.length}\r\n${block}`);
  assert.match(await client.say("RSET\r\n"), /^250 /);
  while ((await spoolFiles()).length > 0) await tick();
  assert.match(await client.say("BDAT 1 LAST\r\nx"), /^503 /);
  assert.match(await client.say("NOOP\r\n"), /^250 /);
  assert.equal(taken.length, 0);
});

test("applies the deadline of one message to all of its chunks, whatever the client sends in between", async (t) => {
  const { client, taken } = await inTransaction(t, { limits: { dataMs: 1000 } });
  const timer = setInterval(() => client.socket.writable && client.socket.write("BDAT 1\r\nx"), 20);
  t.after(() => clearInterval(timer));
  assert.match(await client.rest(), /\r\n421 4\.4\.2 Error: too slow, closing connection\r\n$/);
  assert.equal(taken.length, 0);
});

test("writes the replies to a group of pipelined commands in one packet", async (t) => {
  // Without waiting, the client would read the replies together regardless of how they were written.
  const checkRecipient = async () => {
    for (let i = 0; i < 3; i++) await tick();
    return undefined;
  };
  const { port } = await listen(t, { checkRecipient });
  const client = await rawClient(port);
  t.after(() => client.socket.destroy());
  await client.reply();
  await client.say("EHLO client.example\r\n");
  const packets: string[] = [];
  client.socket.on("data", (text: string) => packets.push(text));
  client.send("MAIL FROM:<a@b.example>\r\nRCPT TO:<b@here.example>\r\nRCPT TO:<c@here.example>\r\nRSET\r\n");
  for (let i = 0; i < 4; i++) await client.reply();
  assert.equal(packets.length, 1);
});

test("does not delay earlier replies during a slow decision (RFC 5321 4.5.3.2)", async (t) => {
  const decision = Promise.withResolvers<undefined>();
  const { port } = await listen(t, { checkRecipient: () => decision.promise });
  const client = await rawClient(port);
  t.after(() => client.socket.destroy());
  await client.reply();
  await client.say("EHLO client.example\r\n");
  client.send("MAIL FROM:<a@b.example>\r\nRCPT TO:<b@here.example>\r\nRSET\r\n");
  assert.match(await client.reply(), /^250 2\.1\.0 /);
  decision.resolve(undefined);
  assert.match(await client.reply(), /^250 2\.1\.5 /);
  assert.match(await client.reply(), /^250 2\.0\.0 Flushed/);
});
