import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { clock, runUntilData } from "../mail.testing.ts";
import type { SmtpReply } from "../messages/index.ts";
import { openGreetedClient, listen, withoutReceived } from "./listening.testing.ts";

/** Tests the limits on line lengths, errors, commands and messages. */

test("accepts long lines in a message, but not long commands", async (t) => {
  const { port, taken } = await listen(t);
  const client = await runUntilData(port);
  const body = `Subject: x\r\n\r\n${"y".repeat(998)}\r\n${"z".repeat(100_000)}\r\n`;
  assert.match(await client.say(`${body}.\r\n`), /^250 /);
  assert.equal(withoutReceived(taken[0]!.raw), body);
  client.socket.destroy();
  for (const command of [`MAIL FROM:<${"a".repeat(5000)}@b.example>\r\n`, "x".repeat(100_000)]) {
    const other = await openGreetedClient(port);
    assert.equal(await other.say(command), "500 5.5.2 Error: command line too long");
    assert.equal(await other.rest(), "");
  }
});

test("delays and then disconnects a client that makes errors, and resets its count when a message is accepted", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { port } = await listen(t, { limits: { errorsBeforeDelay: 3, errors: 6, tarpitMs: 250 } });
  const client = await openGreetedClient(port);
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

test("too many commands without a message end the session, but rejected messages do not", async (t) => {
  const { port, listener } = await listen(t, {
    limits: { errorsBeforeDelay: 5, errors: 10, commands: 50, tarpitMs: 1 },
    settle: ({ to }) =>
      to.map((rcpt) => ({ rcpt, ok: false, temporary: false, reply: { code: 555, enhanced: "5.7.1", text: "no" } })),
  });
  const idle = await openGreetedClient(port);
  idle.send("NOOP\r\n".repeat(200));
  const rest = await idle.rest();
  assert.match(rest, /421 4\.7\.0 Error: too many errors, closing connection\r\n$/);
  assert.ok(rest.split("250 2.0.0").length < 80);
  const client = await runUntilData(port);
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

test("slows down a client that guesses recipients", async (t) => {
  const refused: string[] = [];
  const unknown: SmtpReply = { code: 550, enhanced: "5.1.1", text: "No such recipient" };
  const { port, taken } = await listen(t, {
    limits: { errorsBeforeDelay: 3, errors: 6, tarpitMs: 1 },
    checkRecipient: async (rcpt, { from, to }) => (
      assert.deepEqual([from, to], ["a@b.example", []]),
      rcpt.startsWith("guess") ? unknown : undefined
    ),
    onRejected: ({ from, to }, { code }, stage) => void refused.push(`${stage} ${from} ${to.join()} ${code}`),
  });
  const client = await openGreetedClient(port);
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

test("defers messages over the limit per minute, whichever connection they use", async (t) => {
  const { port, taken } = await listen(t, { limits: { messagesPerMinute: 3 } });
  for (let i = 0; i < 5; i++) {
    const client = await openGreetedClient(port);
    const answer = await client.say("MAIL FROM:<a@b.example>\r\n");
    assert.match(answer, i < 3 ? /^250 / : /^451 4\.7\.1 Too many messages from your network/);
    client.socket.destroy();
  }
  clock.advance(20_000);
  assert.match(await (await openGreetedClient(port)).say("MAIL FROM:<a@b.example>\r\n"), /^250 /);
  assert.equal(taken.length, 0);
});
