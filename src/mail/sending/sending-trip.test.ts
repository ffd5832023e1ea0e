import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { onEveryDatabase, type TestEngine } from "../../../test/support/databases.ts";
import { randomIds, silentLog } from "../../kernel/index.ts";
import { createSrs } from "../../protocol/srs/index.ts";
import { openFsObjects } from "../../store/index.ts";
import type { SendEmailBinding } from "../../workers/index.ts";
import { createSigner } from "../authenticate/index.ts";
import { hasDkimpy, verifyWithDkimpy } from "../forwarding/dkimpy.testing.ts";
import { createOutbound, type OutboundService } from "../outbound/index.ts";
import { resolverOf, startSink, type SinkRules } from "../outbound/outbound.testing.ts";
import { createBounces, type BouncesService } from "../bounces/index.ts";
import { txtText } from "../../protocol/dns/index.ts";
import { createSendEmailBinding } from "./binding.ts";
import { ACCOUNT, draftOf, messageOf, openSending } from "./sending.testing.ts";

/**
 * Tests the whole path from the sender to a real next hop and back: queue, return paths, suppressions, and signatures
 * verified by other software.
 */

const resolver = resolverOf({
  "there.example": { mx: [[10, "mx.there.example"]] },
  "mx.there.example": { a: ["127.0.0.1"] },
});

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > 60_000) throw new Error(`timed out waiting for ${condition}`);
    await new Promise((resolve) => void setTimeout(resolve, 2));
  }
}

async function open(t: TestContext, engine: TestEngine, rules: SinkRules = {}) {
  const sink = await startSink(rules);
  const folder = await mkdtemp(join(tmpdir(), "reelpost-trip-"));
  let outbound!: OutboundService;
  let bounces!: BouncesService;
  const house = await openSending(t, engine, {
    transport: { deliver: (mail) => outbound.relayThenQueue.deliver(mail) },
    queue: { deliver: (mail) => outbound.queue.deliver(mail) },
    bounces: {
      pathFor: (request) => bounces.pathFor(request),
      pathsFor: (request) => bounces.pathsFor(request),
      recordRejection: (refusal) => bounces.recordRejection(refusal),
    },
    async beforeClose() {
      await outbound.stop({ graceMs: 0 });
      await rm(folder, { recursive: true, force: true });
    },
  });
  const { db, clock, trace, suppressions, spool } = house;
  outbound = createOutbound({
    db,
    objects: await openFsObjects({ folder }),
    clock,
    ids: randomIds,
    log: silentLog,
    name: "out.example",
    resolver,
    port: sink.port,
    trace,
  });
  bounces = createBounces({
    db,
    queue: outbound.queue,
    srs: createSrs({ domain: "fwd.example", keys: ["srs key"] }),
    keys: ["path key"],
    forwardDomain: "fwd.example",
    label: "rp-bounce",
    name: "mx.example",
    signer: createSigner({ clock }),
    list: suppressions,
    trace,
    clock,
    ids: randomIds,
    log: silentLog,
  });
  outbound.onFailed(bounces.onFailed);
  outbound.start();
  const zone = await house.newZone();
  await house.domains.create(zone, "example.com");
  const dns = async () => {
    const found: Record<string, string[][]> = {};
    for (const { type, name, content } of await house.zones.records.managed.list(zone.id, "email-sending"))
      if (type === "TXT") found[`${name} TXT`] = [[txtText(content)]];
    return found;
  };
  const send = (to: string[], more: Record<string, unknown> = {}) =>
    house.sending.send({ account: ACCOUNT, via: "rest", from: "", to: [], draft: draftOf({ to, ...more }) });
  const listed = async () =>
    (await suppressions.list(ACCOUNT, {}, { perPage: 10 })).items.map(({ email, reason }) => `${email} ${reason}`);
  return {
    ...house,
    sink,
    outbound,
    bounces,
    zone,
    dns,
    send,
    listed,
    source: (text: string) => spool.fromMemory(Buffer.from(text)),
  };
}

async function assertSigned(raw: string, dns: Record<string, string[][]>): Promise<void> {
  const resolve = async (name: string) =>
    dns[`${name} TXT`] ?? Promise.reject(Object.assign(new Error("none"), { code: "ENOTFOUND" }));
  const { results } = await dkimVerify(Buffer.from(raw, "latin1"), { resolver: resolve });
  assert.deepEqual(
    results.map(({ status, signingDomain, selector }) => [status.result, signingDomain, selector]),
    [["pass", "example.com", "rp-bounce"]],
  );
  if (hasDkimpy) assert.deepEqual((await verifyWithDkimpy(raw, dns)).dkim, [true]);
}

onEveryDatabase((engine) => {
  test("sends a message with a signature and its own return path, and suppresses a permanently rejected recipient", async (t) => {
    const { send, sink, dns, listed } = await open(t, engine, {
      rcpt: (to) => (to.startsWith("gone") ? "550 5.1.1 no such user" : undefined),
    });
    const attachments = [
      {
        content: Buffer.alloc(3000, "0123").toString("base64"),
        filename: "grüße.txt",
        type: "text/plain",
        disposition: "attachment",
      },
    ];
    const result = await send(["user@there.example", "gone@there.example"], {
      subject: "Grüße",
      html: "<p>ä</p>",
      attachments,
    });
    assert.deepEqual(
      [result.delivered, result.permanentBounces, result.queued],
      [["user@there.example"], ["gone@there.example"], []],
    );
    const [mail] = sink.mails;
    assert.match(mail!.from, /^rp-[0-9a-f]{20}-0-[0-9a-z]{4}-[0-9a-v]{10}@rp-bounce\.example\.com$/);
    assert.deepEqual(mail!.to, ["user@there.example"]);
    await assertSigned(mail!.raw, await dns());
    assert.deepEqual(await listed(), ["gone@there.example hard_bounce"]);
    await assert.rejects(send(["gone@there.example"]), { code: "E_RECIPIENT_SUPPRESSED" });
  });

  test("queues a deferred message, delivers it later with the same signature, and suppresses the recipient after a final failure", async (t) => {
    let later = true;
    const { send, sink, dns, clock, listed } = await open(t, engine, {
      rcpt: (to) => (later ? "451 4.7.1 later" : to.startsWith("gone") ? "550 5.1.1 no such user" : undefined),
    });
    const result = await send(["user@there.example", "gone@there.example"]);
    assert.deepEqual(
      [result.delivered, result.queued, sink.mails.length],
      [[], ["user@there.example", "gone@there.example"], 0],
    );
    later = false;
    clock.advance(10 * 60_000);
    await until(() => sink.mails.length === 1);
    await assertSigned(sink.mails[0]!.raw, await dns());
    await until(async () => (await listed()).length === 1);
    assert.deepEqual(await listed(), ["gone@there.example hard_bounce"]);
  });

  test("a bounce to the return path suppresses its recipient", async (t) => {
    const { send, sink, bounces, listed, source } = await open(t, engine);
    await send(["user@there.example"]);
    const path = sink.mails[0]!.from;
    const report = [
      "From: MAILER-DAEMON@there.example",
      `To: ${path}`,
      "Subject: failed",
      'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
      "MIME-Version: 1.0",
      "",
      "--b",
      "Content-Type: text/plain",
      "",
      "It failed.",
      "--b",
      "Content-Type: message/delivery-status",
      "",
      "Reporting-MTA: dns; mx.there.example",
      "",
      "Final-Recipient: rfc822; user@there.example",
      "Action: failed",
      "Status: 5.1.1",
      "Diagnostic-Code: smtp; 550 5.1.1 no such user",
      "",
      "--b--",
      "",
    ].join("\r\n");
    assert.equal(bounces.isReturnPath(path), true);
    const settled = await bounces.process({
      rcpt: path,
      envelope: { from: "", to: [path], helo: "mx.there.example", ip: "192.0.2.1", smtputf8: false },
      source: source(report),
      isAuthenticated: async () => false,
    });
    assert.deepEqual([settled.ok, await listed()], [true, ["user@there.example hard_bounce"]]);
  });

  test("each recipient gets a unique return path, both in the session and from the queue", async (t) => {
    const everyone = ["one@there.example", "two@there.example", "three@there.example"];
    let later = false;
    const { send, sending, sink, clock, source } = await open(t, engine, {
      rcpt: () => (later ? "451 4.7.1 greylisted" : undefined),
    });
    await send(everyone);
    await sending.send({
      account: ACCOUNT,
      via: "smtp",
      from: "app@example.com",
      to: everyone,
      raw: source(messageOf()),
    });
    await until(() => sink.mails.length === 6);
    later = true;
    const { queued } = await send(everyone);
    assert.deepEqual(queued, everyone);
    later = false;
    clock.advance(10 * 60_000);
    await until(() => sink.mails.length === 9);
    assert.deepEqual(
      sink.mails.map(({ to }) => to.length),
      Array.from({ length: 9 }, () => 1),
    );
    assert.deepEqual(
      sink.mails
        .slice(0, 3)
        .map(({ to }) => to[0])
        .sort(),
      everyone.toSorted(),
    );
    assert.equal(new Set(sink.mails.map(({ from }) => from)).size, 9);
    assert.equal(sink.connections <= 3, true, "connections are reused");
  });

  test("a submitted message is durable when acknowledged, and arrives signed", async (t) => {
    const { sending, sink, dns, source, trace } = await open(t, engine);
    const { messageId, queued } = await sending.send({
      account: ACCOUNT,
      via: "smtp",
      from: "app@example.com",
      to: ["user@there.example"],
      raw: source(messageOf()),
    });
    assert.deepEqual(queued, ["user@there.example"]);
    await until(() => sink.mails.length === 1);
    await assertSigned(sink.mails[0]!.raw, await dns());
    assert.ok(sink.mails[0]!.raw.includes(`Message-ID: ${messageId}\r\n`));
    assert.equal(trace.events.find(({ step }) => step === "sent")!.detail["via"], "smtp");
  });

  test("a worker's send() obeys its binding, and its message is signed and delivered in the same way", async (t) => {
    const { sending, spool, sink, dns } = await open(t, engine, {
      rcpt: (to) => (to.startsWith("gone") ? "550 5.1.1 no such user" : undefined),
    });
    const port = createSendEmailBinding({ sending, spool });
    const caller = (binding: Partial<SendEmailBinding> = {}) => ({
      account: ACCOUNT,
      script: "news",
      binding: { type: "send_email" as const, name: "MAIL", ...binding },
    });
    const built = { from: { email: "app@example.com", name: "App" }, subject: "s", text: "t" };
    const { messageId } = await port.sendBuilt(caller({ destination_address: "user@there.example" }), built);
    await assertSigned(sink.mails[0]!.raw, await dns());
    assert.deepEqual(
      [sink.mails[0]!.raw.includes(`Message-ID: ${messageId}\r\n`), sink.mails[0]!.to],
      [true, ["user@there.example"]],
    );
    await port.sendRaw(caller(), {
      from: "app@example.com",
      to: "user@there.example",
      raw: Readable.from([Buffer.from(messageOf().replaceAll("\r\n", "\n"))]),
    });
    await assertSigned(sink.mails[1]!.raw, await dns());
    for (const [binding, mail, code] of [
      [
        { allowed_destination_addresses: ["boss@there.example"] },
        { ...built, to: "user@there.example" },
        "E_RECIPIENT_NOT_ALLOWED",
      ],
      [
        { allowed_sender_addresses: ["news@example.com"] },
        { ...built, to: "user@there.example" },
        "E_SENDER_NOT_VERIFIED",
      ],
      [{}, built, "E_FIELD_MISSING"],
      [{}, { ...built, from: "a@nowhere.example", to: "user@there.example" }, "E_SENDER_DOMAIN_NOT_AVAILABLE"],
      [{}, { ...built, to: "gone@there.example" }, "E_DELIVERY_FAILED"],
      [{}, { ...built, to: ["user@there.example", "gone@there.example"] }, "E_RECIPIENT_SUPPRESSED"],
    ] as const)
      await assert.rejects(port.sendBuilt(caller(binding as Partial<SendEmailBinding>), mail), { code }, code);
    await assert.rejects(
      port.sendRaw(caller(), {
        from: "app@example.com",
        to: "user@there.example",
        raw: Readable.from([Buffer.from(messageOf({ From: "other@example.com" }))]),
      }),
      { message: "From: header does not match mail from" },
    );
    assert.equal(sink.mails.length, 2);
  });
});
