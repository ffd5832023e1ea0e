import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { createServer, type TestServer } from "reelpost/test";

const ADDRESS = "support@example.net";
/** The default of 5 seconds is too short on a busy machine. */
const WAIT = { timeout: 60_000 };
let server: TestServer;

before(async () => {
  server = await createServer();
});
afterEach(() => server.upstream.recover());
after(() => server.close());

const receive = (from: string, headers: Record<string, string> = {}) =>
  server.worker().email({ from, to: ADDRESS, subject: "Printer", text: "It is on fire.", headers });

test("forwards mail from a known sender and replies to it", async () => {
  const { id, outcome, forwards, replies } = await receive("ada@example.com");
  assert.equal(outcome, "ok");
  assert.deepEqual(
    forwards.map(({ recipient }) => recipient),
    ["team@example.net"],
  );
  assert.equal(replies.length, 1);
  const forwarded = await server.inbox.waitFor({ cause: id, to: "team@example.net" }, WAIT);
  assert.equal(forwarded.headers.find(({ name }) => name === "x-original-recipient")?.value, ADDRESS);
  const reply = await server.inbox.waitFor({ cause: id, to: "ada@example.com", kind: "replied" }, WAIT);
  assert.equal(reply.subject, "Re: Printer");
});

test("rejects mail from an unknown sender", async () => {
  const { rejectReason, forwards } = await receive("eve@example.org");
  assert.match(rejectReason ?? "", /known senders only/);
  assert.deepEqual(forwards, []);
});

test("does not reply to automated messages", async () => {
  const { forwards, replies } = await receive("robot@partner.example", { "Auto-Submitted": "auto-generated" });
  assert.equal(forwards.length, 1);
  assert.deepEqual(replies, []);
});

test("fails if the next hop defers the message, so that the sender's server delivers it again", async () => {
  await server.upstream.fail("451 4.7.1 Try again later", { to: "team@example.net" });
  const { outcome, exception } = await receive("ada@example.com");
  assert.equal(outcome, "exception");
  assert.match(exception?.message ?? "", /451/);
});

test("accepts the message if only the reply fails", async () => {
  await server.upstream.fail("550 5.1.1 No such user", { to: "ada@example.com" });
  const { outcome, forwards, replies, logs } = await receive("ada@example.com");
  assert.equal(outcome, "ok");
  assert.deepEqual([forwards.length, replies.length], [1, 0]);
  assert.ok(logs.some(({ level, message }) => level === "warn" && message.startsWith("no automatic answer")));
});
