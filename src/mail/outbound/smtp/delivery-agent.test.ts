import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import {
  bodyOf,
  HANG,
  deliveryRequestOf,
  resolverOf,
  startScripted,
  startSink,
  type Script,
} from "../outbound.testing.ts";
import { NEVER, open, resultLines } from "./delivery-agent.testing.ts";

const phases: Record<string, { greeting?: string; script: Script }> = {
  greeting: { greeting: HANG, script: () => undefined },
  EHLO: { script: (command) => (command.startsWith("EHLO") ? HANG : undefined) },
  "an incomplete EHLO reply": { script: (command) => (command.startsWith("EHLO") ? "250-there" : undefined) },
  MAIL: { script: (command) => (command.startsWith("MAIL") ? HANG : undefined) },
  RCPT: { script: (command) => (command.startsWith("RCPT") ? HANG : undefined) },
  DATA: { script: (command) => (command === "DATA" ? HANG : undefined) },
  "the end of the message": { script: (command) => (command === "." ? HANG : undefined) },
};

test("delivers a message byte for byte, and returns the reply of the host that accepted it", async () => {
  const sink = await startSink();
  const { deliver } = open(sink);
  const text = "Subject: dots\r\n\r\n.\r\n..two\r\nplain\r\n";
  const attempt = await deliver("there.example", deliveryRequestOf(["b@there.example"], text), NEVER);
  assert.equal(attempt.results[0]!.outcome, "delivered");
  assert.equal(attempt.results[0]!.host, `mx.there.example [127.0.0.1]:${sink.port}`);
  assert.match(attempt.results[0]!.reply.text, /OK|queued/i);
  assert.deepEqual(
    sink.mails.map(({ from, to, raw }) => ({ from, to, raw })),
    [{ from: "a@sender.example", to: ["b@there.example"], raw: text }],
  );
});

test("returns a reply per recipient, with enhanced codes unchanged", async () => {
  const answers: Record<string, string> = {
    no: "550 5.1.1 no such user",
    later: "450 4.2.1 greylisted",
    full: "552 5.2.2 mailbox full",
    plain: "554 go away",
  };
  const sink = await startSink({ rcpt: (to) => answers[to.split("@")[0]!] });
  const { deliver } = open(sink);
  const attempt = await deliver(
    "there.example",
    deliveryRequestOf([
      "yes@there.example",
      "no@there.example",
      "later@there.example",
      "full@there.example",
      "plain@there.example",
    ]),
    NEVER,
  );
  const [first, ...rest] = resultLines(attempt);
  assert.match(first!, /^yes delivered 250 /);
  assert.deepEqual(rest, [
    "no permanent 550 5.1.1 no such user",
    "later temporary 450 4.2.1 greylisted",
    "full permanent 552 5.2.2 mailbox full",
    "plain permanent 554 5.0.0 go away",
  ]);
  assert.deepEqual(sink.mails[0]!.to, ["yes@there.example"]);
});

test("recipients rejected at RCPT keep their own reply if the message is rejected as well", async () => {
  const sink = await startSink({
    rcpt: (to) => (to.startsWith("no") ? "550 5.1.1 unknown" : undefined),
    data: () => "554 5.7.1 spam",
  });
  const { deliver } = open(sink);
  const attempt = await deliver("there.example", deliveryRequestOf(["yes@there.example", "no@there.example"]), NEVER);
  assert.deepEqual(resultLines(attempt), ["yes permanent 554 5.7.1 spam", "no permanent 550 5.1.1 unknown"]);
  const again = await deliver("there.example", deliveryRequestOf(["no@there.example"]), NEVER);
  assert.deepEqual(resultLines(again), ["no permanent 550 5.1.1 unknown"]);
  assert.equal(sink.connections, 1, "the connection is reused after a rejection");
});

test("a rejected sender is the result for all recipients", async () => {
  const { deliver } = open(await startSink({ mail: () => "550 5.7.1 not you" }));
  assert.deepEqual(
    resultLines(await deliver("there.example", deliveryRequestOf(["b@there.example", "c@there.example"]), NEVER)),
    ["b permanent 550 5.7.1 not you", "c permanent 550 5.7.1 not you"],
  );
});

test("sends a hundred messages over one connection, then opens another", async () => {
  const sink = await startSink();
  const { deliver } = open(sink, { messagesPerConnection: 10 });
  for (let n = 0; n < 25; n++)
    assert.equal(
      (await deliver("there.example", deliveryRequestOf([`b${n}@there.example`]), NEVER)).results[0]!.outcome,
      "delivered",
    );
  assert.equal(sink.mails.length, 25);
  assert.equal(sink.connections, 3);
});

test("a dead idle connection does not count against its host", async () => {
  const script = await startScripted((command, socket) => {
    if (command === ".") setImmediate(() => socket.destroy());
  });
  const { deliver, breaker } = open(script);
  for (let n = 0; n < 3; n++) {
    assert.equal(
      (await deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER)).results[0]!.outcome,
      "delivered",
    );
    await new Promise((resolve) => void setImmediate(resolve));
  }
  assert.deepEqual(breaker.list(), []);
});

for (const [phase, { greeting, script }] of Object.entries(phases)) {
  test(`gives up in time on a host that hangs at ${phase}`, async () => {
    const host = await startScripted(script, greeting === undefined ? {} : { greeting });
    const short = 60;
    const { deliver } = open(host, {
      timeouts: { greetingMs: short, commandMs: short, blockMs: short, finalMs: short },
    });
    const attempt = await deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER);
    assert.match(resultLines(attempt)[0]!, /^b temporary 451 4\.4\.2 /);
    await new Promise((resolve) => void setImmediate(resolve));
  });
}

test("a host that reads slowly is abandoned only when it stops reading", async () => {
  let read = 0;
  const host = await startScripted((command, socket) => {
    if (command !== "DATA") return undefined;
    socket.on("data", (chunk) => {
      read += chunk.length;
      socket.pause();
      if (read < 4_000_000) setTimeout(() => socket.resume(), 1);
    });
    return undefined;
  });
  const { deliver } = open(host, { timeouts: { blockMs: 2000 } });
  const big = {
    ...deliveryRequestOf(["b@there.example"]),
    body: {
      ...bodyOf(""),
      size: 40_000_000,
      open: () =>
        Readable.from(
          Array.from({ length: 400 }, () => Buffer.alloc(100_000, "x")),
          { objectMode: false },
        ),
    },
  };
  const attempt = await deliver("there.example", big, NEVER);
  assert.equal(attempt.results[0]!.outcome, "temporary");
  assert.ok(read >= 4_000_000, `only ${read} octets were read`);
});

test("does not try another host if the connection is lost after the message, which may have arrived", async () => {
  const host = await startScripted((command, socket) => {
    if (command !== ".") return undefined;
    socket.destroy();
    return HANG;
  });
  const resolver = resolverOf({
    "there.example": {
      mx: [
        [10, "one.example"],
        [20, "two.example"],
      ],
    },
    "one.example": { a: ["127.0.0.1"] },
    "two.example": { a: ["127.0.0.1"] },
  });
  const { deliver } = open(host, { resolver });
  const attempt = await deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER);
  assert.match(
    resultLines(attempt)[0]!,
    /^b temporary 451 4\.4\.2 one\.example .*after the message was sent, before the reply/,
  );
  assert.deepEqual([host.connections, attempt.reached], [1, true]);
});

test("tries the next host if one is unavailable, and pauses it after repeated failures", async () => {
  const sink = await startSink({ address: "127.0.0.3" });
  const resolver = resolverOf({
    "there.example": {
      mx: [
        [10, "one.example"],
        [20, "two.example"],
      ],
    },
    "one.example": { a: ["127.0.0.2"] },
    "two.example": { a: ["127.0.0.3"] },
  });
  const { deliver, breaker, clock } = open(sink, { resolver });
  for (let n = 0; n < 4; n++)
    assert.equal(
      (await deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER)).results[0]!.outcome,
      "delivered",
    );
  assert.deepEqual(
    breaker.list().map(({ key }) => key),
    [`one.example [127.0.0.2]:${sink.port}`],
  );
  clock.advance(61_000);
  assert.deepEqual(breaker.list(), []);
});

test("retries a host that rejects the session, except after the permanent codes 521 and 556", async () => {
  const busy = open(await startScripted(() => undefined, { greeting: "554 5.7.1 your address is listed" }));
  const attempt = await busy.deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER);
  assert.match(resultLines(attempt)[0]!, /^b temporary 451 4\.4\.0 .*answered: 554 5\.7\.1 your address is listed$/);
  assert.equal(attempt.reached, false);
  const never = open(await startScripted(() => undefined, { greeting: "521 5.3.2 this host takes no mail" }));
  assert.deepEqual(resultLines(await never.deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER)), [
    "b permanent 521 5.3.2 this host takes no mail",
  ]);
});

test("a 421 during the envelope is a temporary failure for all recipients", async () => {
  const { deliver } = open(
    await startScripted((command) => (command.startsWith("RCPT") ? "421 4.3.2 closing" : undefined)),
  );
  assert.deepEqual(resultLines(await deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER)), [
    "b temporary 421 4.3.2 closing",
  ]);
});

test("sends recipients beyond the limit of a host in the next transaction", async () => {
  let count = 0;
  const sink = await startSink({
    rcpt: () => (++count % 4 === 0 ? "452 4.5.3 too many recipients" : undefined),
    data: () => void (count = 0),
  });
  const { deliver } = open(sink);
  const everyone = Array.from({ length: 8 }, (_, n) => `b${n}@there.example`);
  const attempt = await deliver("there.example", deliveryRequestOf(everyone), NEVER);
  assert.ok(attempt.results.every(({ outcome }) => outcome === "delivered"));
  assert.deepEqual(sink.mails.flatMap(({ to }) => to).sort(), everyone);
});

// ---- ESMTP parameters

test("sends SIZE, 8BITMIME, SMTPUTF8 and the DSN parameters if they are supported", async () => {
  const sink = await startSink({ size: 1_000_000 });
  const { deliver } = open(sink);
  const body = { ...bodyOf("Subject: ü\r\n\r\nhi\r\n"), utf8Header: true };
  const to = [
    {
      rcpt: "b@there.example",
      notify: ["FAILURE" as const, "DELAY" as const],
      orcpt: "rfc822;first+who@there.example",
    },
    { rcpt: "c@there.example" },
  ];
  const attempt = await deliver(
    "there.example",
    { from: "a@sender.example", to, body, ret: "HDRS", envid: "id=1 2" },
    NEVER,
  );
  assert.ok(attempt.results.every(({ outcome }) => outcome === "delivered"));
  assert.equal(sink.mails.length, 2, "different parameters require separate transactions");
  const { args, rcptArgs } = sink.mails[0]!;
  assert.deepEqual(
    [args["SIZE"], args["BODY"], args["SMTPUTF8"], args["RET"], args["ENVID"]],
    [String(body.size), "8BITMIME", true, "HDRS", "id=1 2"],
  );
  assert.deepEqual(rcptArgs, [{ NOTIFY: "FAILURE,DELAY", ORCPT: "rfc822;first+who@there.example" }]);
  assert.deepEqual(
    sink.mails[1]!.rcptArgs.map((one) => one["NOTIFY"]),
    [undefined],
  );
});

test("rejects, before sending it, a message that the host cannot accept", async () => {
  const sink = await startSink({ size: 1000, hideSMTPUTF8: true });
  const { deliver } = open(sink);
  assert.match(
    resultLines(await deliver("there.example", deliveryRequestOf(["b@there.example"], "x".repeat(2000)), NEVER))[0]!,
    /^b permanent 552 5\.3\.4 .* accepts at most 1000 bytes, the message has 2000$/,
  );
  const mixed = await deliver("there.example", deliveryRequestOf(["bü@there.example", "c@there.example"]), NEVER);
  assert.deepEqual(
    mixed.results.map(({ outcome, reply }) => `${outcome} ${reply.enhanced}`.replace(/ [02.]+$/, "")),
    ["permanent 5.6.7", "delivered"],
  );
  assert.match(
    resultLines(
      await deliver(
        "there.example",
        deliveryRequestOf(["c@there.example"], undefined, { from: "ü@sender.example" }),
        NEVER,
      ),
    )[0]!,
    /permanent 550 5\.6\.7/,
  );
});

test("sends the null sender unchanged", async () => {
  const sink = await startSink();
  await open(sink).deliver("there.example", deliveryRequestOf(["b@there.example"], undefined, { from: "" }), NEVER);
  assert.equal(sink.mails[0]!.from, "");
});

// ---- local domains

test("sends mail for a local domain to the local listener, or by its MX records, which would cause a loop for other domains", async () => {
  const sink = await startSink();
  const resolver = resolverOf({
    "mine.example": { mx: [[10, "out.example"]] },
    "stranger.example": { mx: [[10, "out.example"]] },
    "out.example": { a: ["127.0.0.1"] },
  });
  const isMine = (domain: string) => domain === "mine.example";
  const near = open(
    { port: 1 },
    {
      resolver,
      localHop: async (domain) => (isMine(domain) ? { host: "127.0.0.1", port: sink.port, tls: "none" } : undefined),
      daneFor: () => assert.fail("DANE was looked up for a local hop"),
      mayConnect: () => false,
    },
  );
  assert.equal(
    (await near.deliver("mine.example", deliveryRequestOf(["b@mine.example"]), NEVER)).results[0]!.outcome,
    "delivered",
  );
  const far = open(sink, { resolver, localHop: async (domain) => (isMine(domain) ? "by-mx" : undefined) });
  assert.equal(
    (await far.deliver("mine.example", deliveryRequestOf(["b@mine.example"]), NEVER)).results[0]!.outcome,
    "delivered",
  );
  assert.match(
    resultLines(await far.deliver("stranger.example", deliveryRequestOf(["b@stranger.example"]), NEVER))[0]!,
    /^b permanent 554 5\.4\.6/,
  );
});

// ---- aborts

test("an aborted attempt reports the abort and leaves no connection open", async () => {
  const hung = new AbortController();
  const host = await startScripted((command) => {
    if (command !== "DATA") return undefined;
    setImmediate(() => hung.abort());
    return HANG;
  });
  const { deliver, breaker } = open(host);
  const attempt = await deliver("there.example", deliveryRequestOf(["b@there.example"]), hung.signal);
  assert.deepEqual([attempt.interrupted, attempt.results[0]!.outcome], [true, "temporary"]);
  while (host.open.size > 0) await new Promise((resolve) => void setImmediate(resolve));
  assert.deepEqual(breaker.list(), []);
});

test("never terminates a message with a dot if it cannot be read to its end", async () => {
  const sink = await startSink();
  async function* half() {
    yield Buffer.from("Subject: x\r\n\r\nhalf");
    throw new Error("disk gone");
  }
  const { deliver } = open(sink);
  const attempt = await deliver(
    "there.example",
    {
      ...deliveryRequestOf(["b@there.example"]),
      body: { size: 20, eightBit: false, utf8Header: false, open: () => Readable.from(half(), { objectMode: false }) },
    },
    NEVER,
  );
  assert.match(resultLines(attempt)[0]!, /^b temporary 451 4\.3\.0 .*disk gone/);
  assert.equal(
    (await deliver("there.example", deliveryRequestOf(["b@there.example"]), NEVER)).results[0]!.outcome,
    "delivered",
  );
  assert.deepEqual(
    sink.mails.map(({ raw }) => raw),
    ["Subject: x\r\n\r\nhello\r\n"],
  );
});
