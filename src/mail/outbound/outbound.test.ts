import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createManualClock, randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { createLocalEvents, migrate, openSqlite } from "../../store/index.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";
import { createSigner } from "../authenticate/index.ts";
import { createDowngrade } from "../downgrade/index.ts";
import type { Outbound, TraceEvent } from "../messages/index.ts";
import { createOutbound, type OutboundLimits, type OutboundOptions } from "./outbound.ts";
import { HANG, resolverOf, startScripted, startSink, type Sink } from "./outbound.testing.ts";
import { outboundMigrations } from "./migrations.ts";

/** Tests the complete outbound service, from a message to a real next hop, including failures of either. */

const MINUTE = 60_000;
const resolver = resolverOf({
  "there.example": { mx: [[10, "mx.there.example"]] },
  "mx.there.example": { a: ["127.0.0.1"] },
  "else.example": { a: ["127.0.0.1"] },
  "null.example": { mx: [[0, "."]] },
});

async function open(
  t: TestContext,
  sink: Pick<Sink, "port">,
  { limits, ...more }: Partial<OutboundOptions> & { limits?: Partial<OutboundLimits> } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-outbound-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, outboundMigrations);
  const clock = createManualClock(Date.UTC(2026, 0, 1));
  const trace: TraceEvent[] = [];
  const failed: string[] = [];
  const service = createOutbound({
    db,
    objects: await openWriteOnceObjects({ folder: join(folder, "objects") }),
    clock,
    ids: randomIds,
    log: silentLog,
    name: "out.example",
    resolver,
    port: sink.port,
    trace: (event) => void trace.push(event),
    ...more,
    ...(limits && { limits }),
  });
  service.onFailed(({ recipients }) => void failed.push(...recipients.map(({ rcpt }) => rcpt)));
  t.after(async () => {
    await service.stop({ graceMs: 0 });
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  service.start();
  return {
    service,
    clock,
    trace,
    failed,
    steps: () => trace.map(({ step, rcpt }) => `${step} ${rcpt!.split("@")[0]}`),
  };
}

const mail = (to: string[], more: Partial<Outbound> = {}): Outbound => ({
  messageId: randomIds.messageId("here.example"),
  cause: "send",
  from: "a@here.example",
  to,
  raw: () => Buffer.from("Subject: x\r\n\r\nhello\r\n"),
  ...more,
});

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > 60_000) throw new Error(`timed out waiting for ${condition}`);
    await new Promise((resolve) => void setTimeout(resolve, 1));
  }
}

test("a message to a next hop that defers for an hour arrives exactly once", async (t) => {
  let later = true;
  const sink = await startSink({ rcpt: () => (later ? "450 4.7.1 greylisted, come back" : undefined) });
  const { service, clock, trace } = await open(t, sink);
  const { id } = await service.enqueue(mail(["b@there.example"]));
  for (const minutes of [2, 6, 17, 70]) {
    const tries = trace.length;
    await until(() => trace.length > tries || trace.at(-1)!.step === "deferred");
    await until(async () => (await service.get(id!))!.recipients[0]!.state === "deferred");
    assert.equal((await service.get(id!))!.recipients[0]!.reply!.text, "greylisted, come back");
    if (minutes === 70) later = false;
    clock.advance(minutes * MINUTE);
    await until(() => trace.length > tries);
  }
  await until(async () => (await service.get(id!))!.recipients[0]!.state === "delivered");
  assert.equal(sink.mails.length, 1);
  const { detail } = trace.at(-1)!;
  assert.deepEqual(
    [trace.at(-1)!.step, detail["code"], detail["host"]],
    ["delivered", 250, `mx.there.example [127.0.0.1]:${sink.port}`],
  );
});

test("each recipient of a message gets its own result", async (t) => {
  const answers: Record<string, string> = { no: "550 5.1.1 no such user", later: "451 4.3.0 later" };
  const sink = await startSink({ rcpt: (to) => answers[to.split("@")[0]!] });
  const { service, failed, steps } = await open(t, sink);
  const { id } = await service.enqueue(
    mail([
      "yes@there.example",
      "no@there.example",
      "later@there.example",
      "no-domain@nowhere.example",
      "none@null.example",
      "plain@else.example",
    ]),
  );
  await until(async () =>
    (await service.get(id!))!.recipients.every(({ state }) => !["queued", "delivering"].includes(state)),
  );
  const states = Object.fromEntries(
    (await service.get(id!))!.recipients.map(({ rcpt, state, reply }) => [
      rcpt.split("@")[0],
      `${state} ${reply!.enhanced}`,
    ]),
  );
  assert.match(states["yes"]!, /^delivered/);
  assert.match(states["plain"]!, /^delivered/);
  assert.deepEqual(
    [states["no"], states["later"], states["no-domain"], states["none"]],
    ["failed 5.1.1", "deferred 4.3.0", "failed 5.1.2", "failed 5.1.10"],
  );
  await until(() => failed.length === 3);
  assert.deepEqual(failed.sort(), ["no-domain@nowhere.example", "no@there.example", "none@null.example"]);
  assert.deepEqual(
    steps()
      .filter((step) => !step.startsWith("queued"))
      .sort(),
    ["bounced no", "bounced no-domain", "bounced none", "deferred later", "delivered plain", "delivered yes"],
  );
});

test("only a lost reply causes a second copy", async (t) => {
  let drop = true;
  const kept: number[] = [];
  const host = await startScripted((command, socket) => {
    if (command !== ".") return undefined;
    kept.push(1);
    if (!drop) return undefined;
    drop = false;
    socket.destroy();
    return HANG;
  });
  const { service, clock } = await open(t, host);
  const { id } = await service.enqueue(mail(["b@there.example"]));
  await until(async () => (await service.get(id!))!.recipients[0]!.state === "deferred");
  assert.match(
    (await service.get(id!))!.recipients[0]!.reply!.text,
    /lost after the message was sent, before the reply/,
  );
  clock.advance(2 * MINUTE);
  await until(async () => (await service.get(id!))!.recipients[0]!.state === "delivered");
  assert.equal(kept.length, 2);
});

test("a destination that hangs at its greeting does not delay other destinations", async (t) => {
  const hung = await startScripted(() => undefined, { greeting: HANG, address: "127.0.0.2" });
  const sink = await startSink({ address: "127.0.0.3", listenPort: hung.port });
  const names = resolverOf({ "slow.example": { a: ["127.0.0.2"] }, "quick.example": { a: ["127.0.0.3"] } });
  const { service } = await open(t, { port: hung.port }, { resolver: names, limits: { maxConcurrent: 6 } });
  await Promise.all(Array.from({ length: 30 }, (_, n) => service.enqueue(mail([`b${n}@slow.example`]))));
  await Promise.all(Array.from({ length: 30 }, (_, n) => service.enqueue(mail([`b${n}@quick.example`]))));
  await until(() => sink.mails.length === 30);
  assert.ok(hung.connections <= 2);
});

test("large messages are sent unchanged, both from the queue and when relayed", async (t) => {
  const sink = await startSink();
  const { service } = await open(t, sink);
  const pieces = Array.from({ length: 40 }, (_, n) => Buffer.from(`${"ü".repeat(40)} line ${n}\r\n`.repeat(1000)));
  const raw = () => Readable.from([Buffer.from("Subject: large\r\n\r\n"), ...pieces], { objectMode: false });
  const whole = Buffer.concat([Buffer.from("Subject: large\r\n\r\n"), ...pieces]).toString("latin1");
  const { id } = await service.enqueue(mail(["b@there.example"], { raw }));
  assert.equal((await service.get(id!))!.message.size, whole.length);
  assert.deepEqual(await service.relay.deliver(mail(["c@there.example"], { raw })), [
    { rcpt: "c@there.example", ok: true },
  ]);
  await until(() => sink.mails.length === 2);
  assert.ok(sink.mails.every((one) => one.raw === whole && one.args["BODY"] === "8BITMIME"));
});

test("the queue and the relay downgrade the header of an account's mail, but not of a forward, for a server without SMTPUTF8", async (t) => {
  const sink = await startSink({ hide8BITMIME: true, hideSMTPUTF8: true });
  const { service, failed } = await open(t, sink, {
    downgrade: createDowngrade({ signer: createSigner({ clock: systemClock }), findKey: async () => undefined }),
  });
  const raw = () => Buffer.from("From: a@here.example\r\nSubject: Grüße\r\n\r\nhällo\r\n");
  const { id } = await service.enqueue(mail(["sent@there.example"], { raw }));
  await until(async () => (await service.get(id!))!.recipients[0]!.state === "delivered");
  const forward = await service.enqueue(mail(["forwarded@there.example"], { raw, cause: "forward" }));
  await until(() => failed.length > 0);
  assert.equal((await service.get(forward.id!))!.recipients[0]!.reply!.enhanced, "5.6.7");
  const settled = await Promise.all(
    (["reply", "forward"] as const).map((cause) =>
      service.relay.deliver(mail([`${cause}@there.example`], { raw, cause })),
    ),
  );
  assert.deepEqual(
    settled.flat().map((one) => (one.ok ? "ok" : one.reply.enhanced)),
    ["ok", "5.6.7"],
  );
  assert.deepEqual(
    sink.mails.map(({ to }) => to[0]),
    ["sent@there.example", "reply@there.example"],
  );
  for (const { raw: got } of sink.mails)
    assert.match(
      got,
      /^From: a@here\.example\r\nSubject: =\?UTF-8\?Q\?Gr=C3=BC=C3=9Fe\?=\r\n[^]*\r\n\r\nh=C3=A4llo\r\n$/,
    );
});

test("runners of other processes are notified of new mail immediately", async (t) => {
  const sink = await startSink();
  const events = createLocalEvents({ log: silentLog });
  // Only the event can wake the runner, because its clock does not advance.
  const { service } = await open(t, sink, { events });
  const woken: string[] = [];
  events.subscribe("mail.outbound", (id) => void woken.push(id));
  await service.enqueue(mail(["b@there.example"]));
  await until(() => sink.mails.length === 1 && woken.length === 1);
  assert.deepEqual(woken, ["there.example"]);
});

test("stop() lets deliveries in progress finish and keeps the rest queued", async (t) => {
  let go = () => {};
  const gate = new Promise<void>((resolve) => void (go = resolve));
  const sink = await startSink({ data: () => gate as Promise<undefined> });
  const { service } = await open(t, sink);
  const { id } = await service.enqueue(mail(["b@there.example"]));
  await until(async () => (await service.get(id!))!.recipients[0]!.state === "delivering" && sink.connections === 1);
  const stopped = service.stop({ graceMs: 60_000 });
  const { id: second } = await service.enqueue(mail(["c@there.example"]));
  go();
  await stopped;
  assert.equal((await service.get(id!))!.recipients[0]!.state, "delivered");
  assert.equal((await service.get(second!))!.recipients[0]!.state, "queued");
});
