import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { rawClient } from "../mail.testing.ts";
import { conversation, openGreetedClient, listen } from "./listening.testing.ts";

/** Tests the replies that a client must await (RFC 2920 3.1), the order of commands, and incomplete commands. */

for (const [name, burst] of Object.entries({
  "a burst sent with netcat":
    "EHLO x\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<b@here.example>\r\nDATA\r\nx\r\n.\r\nQUIT\r\n",
  "HELO with a pipelined command": "HELO x\r\nMAIL FROM:<a@b.example>\r\n",
})) {
  test(`${name} cannot deliver a message`, async (t) => {
    const { port, taken } = await listen(t);
    for (const early of [true, false]) {
      const client = await rawClient(port);
      // Data that a client sends before the greeting may be processed before or after the greeting is sent.
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
  const client = await openGreetedClient(port);
  client.send(
    "MAIL FROM:<a@b.example>\r\nRCPT TO:<b@here.example>\r\nDATA\r\nSubject: x\r\n\r\nMAIL FROM:<evil@x.example>\r\n.\r\n",
  );
  assert.match(await client.reply(), /^250 2\.1\.0 /);
  assert.match(await client.reply(), /^250 2\.1\.5 /);
  assert.match(await client.reply(), /^554 5\.5\.0 .*synchronization/);
  assert.equal(await client.rest(), "");
  assert.equal(taken.length, 0);
});

test("rejects commands out of order, which have no effect", async (t) => {
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
  // EHLO implies RSET (RFC 5321 4.1.4).
  await say("EHLO again.example");
  assert.match(await say("DATA"), /^503 5\.5\.1 /);
  assert.equal(taken.length, 0);
});

test("a command without its line ending is ignored when the client disconnects", async (t) => {
  const checked: string[] = [];
  const { port, listener } = await listen(t, { checkRecipient: async (rcpt) => void checked.push(rcpt) });
  const client = await openGreetedClient(port);
  await client.say("MAIL FROM:<a@b.example>\r\n");
  await client.say("RCPT TO:<whole@here.example>\r\n");
  client.socket.end("RCPT TO:<half@here.example>");
  await client.rest();
  while (listener.connections > 0) await tick();
  assert.deepEqual(checked, ["whole@here.example"]);
});
