import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import {
  clock,
  ids,
  log,
  memoryTrace,
  memoryTransport,
  newSpool,
  runtimeOf,
  summarizeResults,
} from "./mail.testing.ts";
import { readMessage, type Envelope, type MailRoute, type DeliveryResult } from "./messages/index.ts";
import { createReceiver } from "./receive.ts";

const envelope = (to: string[], more: Partial<Envelope> = {}): Envelope => ({
  from: "a@sender.example",
  to,
  helo: "x",
  ip: "127.0.0.1",
  smtputf8: false,
  ...more,
});
const MESSAGE = "Received: from x by y; today\r\nMessage-ID: <1@sender.example>\r\nSubject: hi\r\n\r\nbody\r\n";

interface Setup {
  handlers?: Parameters<typeof runtimeOf>[0];
  routes?: Record<string, MailRoute>;
  answer?: (rcpt: string) => DeliveryResult;
}

async function setUp({ handlers = {}, routes = {}, answer }: Setup = {}) {
  const spool = await newSpool({ memoryBytes: 1000 });
  const trace = memoryTrace();
  const transport = memoryTransport(answer);
  const receiver = createReceiver({
    runtime: runtimeOf(handlers),
    route: (rcpt) => routes[rcpt] ?? { kind: "worker", script: "w" },
    transport,
    spool,
    trace,
    clock,
    ids,
    log,
  });
  const receive = async (to: string[], message = MESSAGE, more: Partial<Envelope> = {}) =>
    summarizeResults(
      await receiver.receive(envelope(to, more), await spool.collect(Readable.from([Buffer.from(message)]))),
    );
  return { spool, trace, transport, receiver, receive };
}

test("a worker sees the envelope, the header fields, the size and the raw message", async () => {
  let seen: unknown;
  const { receive } = await setUp({
    handlers: {
      w: ({ from, to, rawSize, headers, raw, canBeForwarded }) =>
        void (seen = { from, to, rawSize, headers, raw: Buffer.from(raw() as Uint8Array).toString(), canBeForwarded }),
    },
  });
  assert.deepEqual(await receive(["b@here.example"]), ["ok"]);
  assert.deepEqual(seen, {
    from: "a@sender.example",
    to: "b@here.example",
    rawSize: MESSAGE.length,
    raw: MESSAGE,
    canBeForwarded: true,
    headers: [
      ["Received", "from x by y; today"],
      ["Message-ID", "<1@sender.example>"],
      ["Subject", "hi"],
    ],
  });
});

test("setReject() is final and reduces its reason to one line", async () => {
  const { receive } = await setUp({
    handlers: { w: (_mail, _actions, reject) => reject("no\r\n250 thanks\0, grüße") },
  });
  assert.deepEqual(await receive(["b@here.example"]), ["555 5.7.1 no 250 thanks , gr??e"]);
  assert.deepEqual(await receive(["b@here.example"], MESSAGE, { smtputf8: true }), ["555 5.7.1 no 250 thanks , grüße"]);
});

test("defers the message if a handler throws or is stopped", async () => {
  const { receive } = await setUp({
    handlers: {
      w: (_mail, _actions, reject) => {
        reject("never said");
        throw new Error("secret");
      },
    },
  });
  assert.deepEqual(await receive(["b@here.example"]), [
    "451 4.3.0 The worker for this address failed, try again later",
  ]);
  for (const outcome of ["exceededCpu", "exceededMemory", "exceededWallTime", "canceled"] as const) {
    const { spool, trace, transport } = await setUp();
    const receiver = createReceiver({
      runtime: { email: async () => ({ outcome, ended: Promise.resolve() }) },
      route: () => ({ kind: "worker", script: "w" }),
      transport,
      spool,
      trace,
      clock,
      ids,
      log,
    });
    const [settled] = await receiver.receive(envelope(["b@here.example"]), spool.fromMemory(Buffer.from(MESSAGE)));
    assert.ok(!settled!.ok && settled!.temporary, outcome);
  }
});

test("reports a runtime failure as a temporary error without details", async () => {
  const { spool, trace, transport } = await setUp();
  const receiver = createReceiver({
    runtime: { email: () => Promise.reject(new Error("secret")) },
    route: () => ({ kind: "worker", script: "w" }),
    transport,
    spool,
    trace,
    clock,
    ids,
    log,
  });
  assert.deepEqual(
    summarizeResults(await receiver.receive(envelope(["b@here.example"]), spool.fromMemory(Buffer.from(MESSAGE)))),
    ["451 4.3.0 Message processing failed, try again later"],
  );
});

test("a forward route relays the message, a drop route accepts it, and no route rejects it", async () => {
  const { receive, transport, trace } = await setUp({
    routes: {
      "f@here.example": { kind: "forward", to: ["x@there.example", "y@there.example"] },
      "d@here.example": { kind: "drop" },
      "n@here.example": { kind: "none" },
    },
    answer: (rcpt) =>
      rcpt === "y@there.example"
        ? { rcpt, ok: false, temporary: true, reply: { code: 450, enhanced: "4.2.0", text: "full" } }
        : { rcpt, ok: true },
  });
  assert.deepEqual(await receive(["f@here.example", "d@here.example", "n@here.example"]), [
    "450 4.2.0 full",
    "ok",
    "550 5.1.1 No such recipient: n@here.example",
  ]);
  assert.deepEqual(
    transport.sent.map(({ cause, from, to, raw }) => ({ cause, from, to, raw })),
    [{ cause: "forward", from: "a@sender.example", to: ["x@there.example", "y@there.example"], raw: MESSAGE }],
  );
  assert.deepEqual(trace.events.map(({ step, rcpt }) => `${step} ${rcpt ?? ""}`.trim()).sort(), [
    "deferred f@here.example",
    "dropped d@here.example",
    "matched d@here.example",
    "matched f@here.example",
    "matched n@here.example",
    "received",
    "rejected n@here.example",
  ]);
});

test("dispatches the message separately for every recipient, each with its own id", async () => {
  const seen: string[] = [];
  const { receive } = await setUp({ handlers: { w: ({ id, to }) => void seen.push(`${to} ${id}`) } });
  const to = Array.from({ length: 25 }, (_, i) => `r${i}@here.example`);
  assert.deepEqual(
    await receive(to),
    to.map(() => "ok"),
  );
  assert.equal(new Set(seen.map((one) => one.split(" ")[1])).size, 25);
});

test("rejects a message with more than 100 hops as a loop", async () => {
  const { receive } = await setUp({ handlers: { w: () => {} } });
  const passed = (hops: number) => `Received: ours\r\n${"Received: x\r\n".repeat(hops)}\r\nbody`;
  assert.deepEqual(await receive(["b@here.example"], passed(100)), ["ok"]);
  assert.deepEqual(await receive(["b@here.example"], passed(101)), [
    "554 5.4.6 Mail loop detected: message passed through 101 servers",
  ]);
});

test("rejects a header section beyond its limits, but accepts malformed mail", async () => {
  const { receive } = await setUp({ handlers: { w: () => {} } });
  assert.match(
    (await receive(["b@here.example"], "X: 1\r\n".repeat(10_100)))[0]!,
    /^554 5\.6\.0 could not parse email: the header section has more than \d+ fields$/,
  );
  for (const message of [
    "",
    "\r\n",
    "no header at all",
    "\0\0\0",
    "Content-Type: multipart/mixed; boundary=x\r\n\r\n--y\r\n",
    "Content-Type: text/plain; charset=klingon\r\n\r\n\xff\xfe",
    "From: <<<>>>@@\r\nTo: ,,,;;\r\nMessage-ID: <\r\n\r\n",
  ]) {
    assert.deepEqual(await receive(["b@here.example"], message), ["ok"], JSON.stringify(message));
  }
});

test("the spool file exists until waitUntil() work has ended", async () => {
  const { spool, trace, transport } = await setUp();
  const ended = Promise.withResolvers<void>();
  const receiver = createReceiver({
    runtime: { email: async () => ({ outcome: "ok", ended: ended.promise }) },
    route: () => ({ kind: "worker", script: "w" }),
    transport,
    spool,
    trace,
    clock,
    ids,
    log,
  });
  const source = await spool.collect(Readable.from([Buffer.from(`${MESSAGE}${"x".repeat(2000)}`)]));
  await receiver.receive(envelope(["b@here.example"]), source);
  for (let i = 0; i < 50; i++) assert.equal((await spool.files()).length, 1);
  ended.resolve();
  while ((await spool.files()).length > 0) await new Promise((resolve) => setImmediate(resolve));
});

test("dispatch() reports all actions of a worker, in order", async () => {
  const { spool, receiver, transport } = await setUp({
    handlers: {
      async w({ from, to, headers }, actions, reject) {
        await actions.forward("x@there.example", [["x-a", "1"]]);
        const id = headers.find(([name]) => name === "Message-ID")![1];
        const reply = `From: ${to}\r\nMessage-ID: <r@here.example>\r\nIn-Reply-To: ${id}\r\n\r\nthanks`;
        await actions.reply({ from: to, to: from, raw: Readable.from([Buffer.from(reply)]) });
        reject("but no");
      },
    },
  });
  const message = readMessage(spool.fromMemory(Buffer.from(MESSAGE)));
  const handled = await receiver.dispatch({
    script: "w",
    from: "a@sender.example",
    to: "b@here.example",
    message,
    keepReplies: true,
  });
  const [forward, reply] = transport.sent;
  const timestamp = "2026-01-05T07:08:09.000Z";
  assert.equal(handled.outcome, "ok");
  assert.equal(handled.rejectReason, "but no");
  assert.deepEqual(handled.forwards, [
    { recipient: "x@there.example", headers: [["x-a", "1"]], messageId: forward!.messageId },
  ]);
  assert.deepEqual(
    handled.replies.map((one) => ({ ...one, raw: one.raw!.toString() })),
    [{ messageId: reply!.messageId, sender: "b@here.example", raw: reply!.raw }],
  );
  assert.deepEqual(handled.events, [
    { type: "received", timestamp },
    { type: "forward", timestamp, messageId: forward!.messageId },
    { type: "reply", timestamp, messageId: reply!.messageId },
    { type: "reject", timestamp },
  ]);
  assert.equal(forward!.inbound?.id, message.source.id);
});
