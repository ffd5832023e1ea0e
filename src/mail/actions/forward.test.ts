import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { UserError } from "../../kernel/index.ts";
import { ids, memoryTransport, newSpool } from "../mail.testing.ts";
import { readMessage, type DeliveryResult } from "../messages/index.ts";
import { createForward, type ForwardRules } from "./forward.ts";

const MESSAGE = Buffer.from("From: a@sender.example\r\nSubject: \xff\xfe hi\r\n\r\nbody\0\xff\r\n", "latin1");

async function setUp({
  rules = {},
  answer,
  from = "a@sender.example",
  bytes = MESSAGE,
}: { rules?: ForwardRules; answer?: (rcpt: string) => DeliveryResult; from?: string; bytes?: Buffer } = {}) {
  const spool = await newSpool({ memoryBytes: 1000 });
  const transport = memoryTransport(answer);
  const message = readMessage(await spool.collect(Readable.from([bytes])));
  const forward = createForward({
    live: { id: "1", message, from, to: "b@here.example", script: "w" },
    transport,
    ids,
    rules,
  });
  return { forward, transport };
}

const withCode = (message: string, code: string) => (err: unknown) => {
  assert.ok(err instanceof UserError);
  assert.deepEqual([err.message, err.code], [message, code]);
  return true;
};

test("forwards the message byte for byte, with X- headers on top and the sender unchanged", async () => {
  const { forward, transport } = await setUp();
  const { messageId } = await forward("x@there.example", [
    ["X-One", "1"],
    ["x-two", "grün"],
  ]);
  assert.match(messageId, /^<[A-Za-z0-9]{36}@sender\.example>$/);
  const [mail] = transport.sent;
  assert.deepEqual(
    { cause: mail!.cause, from: mail!.from, to: mail!.to, script: mail!.script, inbound: mail!.inbound?.id },
    { cause: "forward", from: "a@sender.example", to: ["x@there.example"], script: "w", inbound: "1" },
  );
  assert.match(mail!.inbound!.source!, /^[0-9a-f]{32}$/);
  assert.equal(mail!.raw, `X-One: 1\r\nx-two: =?UTF-8?Q?gr=C3=BCn?=\r\n${MESSAGE.toString("latin1")}`);
});

test("forwards a spooled message from its file", async () => {
  const bytes = Buffer.concat([MESSAGE, Buffer.alloc(5000, "z")]);
  const { forward, transport } = await setUp({ bytes });
  await Promise.all([forward("x@there.example", []), forward("y@there.example", [["X-A", "1"]])]);
  assert.equal(transport.sent.find(({ to }) => to[0] === "x@there.example")!.raw, bytes.toString("latin1"));
  assert.equal(
    transport.sent.find(({ to }) => to[0] === "y@there.example")!.raw,
    `X-A: 1\r\n${bytes.toString("latin1")}`,
  );
});

test("keeps the null sender and generates the Message-ID in the receiving domain", async () => {
  const { forward, transport } = await setUp({ from: "" });
  assert.match((await forward("x@there.example", [])).messageId, /@here\.example>$/);
  assert.equal(transport.sent[0]!.from, "");
});

test("destination address is invalid", async () => {
  const { forward, transport } = await setUp();
  for (const bad of [
    "",
    "x",
    "x@",
    "@there.example",
    "X <x@there.example>",
    "x@there.example, y@there.example",
    "x@there.example\r\nRCPT TO:<y@there.example>",
    " x@there.example",
  ]) {
    await assert.rejects(forward(bad, []), withCode("destination address is invalid", "E_VALIDATION_ERROR"), bad);
  }
  assert.equal(transport.sent.length, 0);
});

test("destination address not verified", async () => {
  const { forward } = await setUp({ rules: { isVerified: async (address) => address === "x@there.example" } });
  await forward("x@there.example", []);
  await assert.rejects(
    forward("y@there.example", []),
    withCode("destination address not verified", "E_RECIPIENT_NOT_ALLOWED"),
  );
});

test("rejects a second forward to the same address, even in a different notation or from a concurrent call", async () => {
  const { forward, transport } = await setUp();
  const results = await Promise.allSettled([forward("x@there.example", []), forward("X@THERE.example", [])]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected"],
  );
  await assert.rejects(
    forward('"x"@there.example', []),
    withCode("message already forwarded to this destination", "E_VALIDATION_ERROR"),
  );
  assert.equal(transport.sent.length, 1);
});

test("cannot forward email to same worker", async () => {
  const { forward } = await setUp({
    rules: { routesToWorker: (address, script) => address === "alias@here.example" && script === "w" },
  });
  for (const own of ["b@here.example", "B@Here.Example", "alias@here.example"])
    await assert.rejects(forward(own, []), withCode("cannot forward email to same worker", "E_VALIDATION_ERROR"));
});

test("reports the next hop's rejection reply, and allows another attempt", async () => {
  let temporary = true;
  const { forward } = await setUp({
    answer: (rcpt) => ({
      rcpt,
      ok: false,
      temporary,
      reply: temporary
        ? { code: 451, enhanced: "4.7.1", text: "later" }
        : { code: 550, enhanced: "5.1.1", text: "nobody" },
    }),
  });
  await assert.rejects(
    forward("x@there.example", []),
    withCode("could not send email: Unknown error: transient error (451): 4.7.1 later", "E_DELIVERY_FAILED"),
  );
  temporary = false;
  await assert.rejects(
    forward("x@there.example", []),
    withCode("could not send email: Unknown error: permanent error (550): 5.1.1 nobody", "E_DELIVERY_FAILED"),
  );
});

test("accepts only X- headers, and nothing that could inject another header", async () => {
  const { forward, transport } = await setUp();
  await assert.rejects(
    forward("x@there.example", [["Subject", "x"]]),
    withCode("only X-* headers can be added to a forwarded message, not 'Subject'", "E_HEADER_NOT_ALLOWED"),
  );
  await assert.rejects(forward("x@there.example", [["X-", "x"]]), { code: "E_HEADER_NOT_ALLOWED" });
  for (const value of ["a\r\nBcc: y@there.example", "a\nb", "a\rb", "a\0b"])
    await assert.rejects(
      forward("x@there.example", [["X-A", value]]),
      withCode("Header 'X-A' must not contain control characters.", "E_HEADER_VALUE_INVALID"),
    );
  for (const name of ["X-A: b\r\nBcc", "X-A B", "X-Ü"])
    await assert.rejects(forward("x@there.example", [[name, "1"]]), { code: "E_HEADER_NAME_INVALID" });
  await assert.rejects(forward("x@there.example", [["X-A", "a".repeat(2049)]]), { code: "E_HEADER_VALUE_TOO_LONG" });
  await assert.rejects(
    forward(
      "x@there.example",
      Array.from({ length: 20 }, (_, i) => [`X-${i}`, "a".repeat(1000)] as [string, string]),
    ),
    { code: "E_HEADERS_TOO_LARGE" },
  );
  assert.equal(transport.sent.length, 0);
  // No line beyond 998 octets (RFC 5322 2.1.1).
  await forward("x@there.example", [
    ["X-A", "a".repeat(2000)],
    ["X-B", "word ".repeat(300)],
  ]);
  assert.ok(transport.sent[0]!.raw.split("\r\n").every((line) => line.length <= 998));
});

test("limits a message to a hundred destinations", async () => {
  const { forward } = await setUp();
  for (let i = 0; i < 100; i++) await forward(`x${i}@there.example`, []);
  await assert.rejects(forward("one@more.example", []), { code: "E_TOO_MANY_RECIPIENTS" });
});
