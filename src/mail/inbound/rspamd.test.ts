import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { newSpool } from "../mail.testing.ts";
import type { Envelope } from "../messages/index.ts";
import { createRspamd } from "./rspamd.ts";

const ENVELOPE: Envelope = {
  from: "a@sender.example",
  to: ["b@here.example", "c@here.example"],
  helo: "client.example",
  ip: "192.0.2.1",
  smtputf8: false,
};

/** Starts a fake rspamd. */
async function rspamd(t: TestContext, answer: unknown, { status = 200, silent = false } = {}) {
  const requests: { url: string | undefined; headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat((await request.toArray()) as Buffer[]).toString("latin1");
    requests.push({ url: request.url, headers: request.headers, body });
    if (!silent)
      response
        .writeHead(status, { "Content-Type": "application/json" })
        .end(typeof answer === "string" ? answer : JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => (server.closeAllConnections(), server.close()));
  return {
    requests,
    filter: createRspamd({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      timeoutMs: silent ? 100 : 5000,
    }),
  };
}

const MESSAGE = Buffer.from("From: a@sender.example\r\nSubject: hi\r\n\r\nbody\r\n");

test("rspamd receives the envelope and the message", async (t) => {
  const { requests, filter } = await rspamd(t, { action: "no action", score: 0.5, required_score: 15 });
  const spool = await newSpool();
  assert.deepEqual(await filter.check(ENVELOPE, spool.fromMemory(MESSAGE)), { action: "accept" });
  assert.equal(requests[0]!.url, "/checkv2");
  assert.equal(requests[0]!.body, MESSAGE.toString());
  const { ip, helo, from, rcpt, "queue-id": id } = requests[0]!.headers;
  assert.deepEqual(
    [ip, helo, from, rcpt],
    ["192.0.2.1", "client.example", "a@sender.example", "b@here.example, c@here.example"],
  );
  assert.match(String(id), /^[0-9a-f]{32}$/);
});

test("streams a spooled message, and client input cannot inject a header", async (t) => {
  const { requests, filter } = await rspamd(t, { action: "no action" });
  const spool = await newSpool({ memoryBytes: 1024 });
  const large = Buffer.concat([MESSAGE, Buffer.alloc(300_000, `${"x".repeat(62)}\r\n`)]);
  const source = await spool.collect(
    (async function* () {
      yield large;
    })(),
  );
  assert.ok(source.file);
  await filter.check({ ...ENVELOPE, helo: "x\r\nIP: 10.0.0.1 ü" }, source);
  assert.equal(requests[0]!.body.length, large.length);
  assert.equal(requests[0]!.headers["helo"], "x??IP:?10.0.0.1??");
  await source.discard();
});

for (const [action, answer, verdict] of [
  ["reject", {}, { action: "refuse", reply: { code: 554, enhanced: "5.7.1", text: "Message is spam" } }],
  [
    "reject",
    { messages: { smtp_message: "Gtube\r\npattern" } },
    { action: "refuse", reply: { code: 554, enhanced: "5.7.1", text: "Gtube pattern" } },
  ],
  [
    "soft reject",
    {},
    {
      action: "refuse",
      reply: { code: 451, enhanced: "4.7.1", text: "Message temporarily rejected, try again later" },
    },
  ],
  ["greylist", {}, { action: "refuse", reply: { code: 451, enhanced: "4.7.1", text: "Greylisted, try again later" } }],
  [
    "add header",
    { score: 7.125, required_score: 15 },
    {
      action: "tag",
      fields: [
        { name: "X-Spam-Flag", value: "YES" },
        { name: "X-Spam-Score", value: "7.13 / 15.00" },
      ],
    },
  ],
  ["rewrite subject", {}, { action: "tag", fields: [{ name: "X-Spam-Flag", value: "YES" }] }],
  ["quarantine", {}, { action: "accept" }],
] as const) {
  test(`returns the action ${action} for ${JSON.stringify(answer)}`, async (t) => {
    const { filter } = await rspamd(t, { action, ...answer });
    const spool = await newSpool();
    assert.deepEqual(await filter.check(ENVELOPE, spool.fromMemory(MESSAGE)), verdict);
  });
}

test("throws for an unexpected status, invalid JSON, a timeout or a refused connection", async (t) => {
  const spool = await newSpool();
  const source = spool.fromMemory(MESSAGE);
  for (const { filter } of [
    await rspamd(t, { action: "no action" }, { status: 500 }),
    await rspamd(t, "<html>"),
    await rspamd(t, { score: 1 }),
    await rspamd(t, { action: "x".repeat(2 * 1024 * 1024) }),
    await rspamd(t, {}, { silent: true }),
    { filter: createRspamd({ url: "http://127.0.0.1:1" }) },
  ])
    await assert.rejects(filter.check(ENVELOPE, source));
});
