import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { SMTPServer } from "smtp-server";
import { createLifecycle, randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { createMetrics } from "../../kernel/metrics.ts";
import { settingsSchema, type SettingsInput } from "../../kernel/settings.ts";
import type { Outbound, TraceEvent } from "../messages/index.ts";
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  migrate,
  openFsObjects,
  openSqlite,
  localSweeps,
} from "../../store/index.ts";
import { outboundMigrations } from "./migrations.ts";
import { setUpOutbound, type OutboundSetupDeps } from "./setup.ts";

async function startSink(t: TestContext) {
  const sink = { port: 0, to: [] as string[] };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 1,
    onData: (stream, session, done) =>
      void stream.resume().on("end", () => {
        sink.to.push(...session.envelope.rcptTo.map(({ address }) => address));
        done();
      }),
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  sink.port = (server.server.address() as AddressInfo).port;
  t.after(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return sink;
}

const nothing = async () => Promise.reject(Object.assign(new Error("none"), { code: "ENODATA" }));

async function open(
  t: TestContext,
  outbound: NonNullable<SettingsInput["outbound"]>,
  more: Partial<OutboundSetupDeps> = {},
  { start = true } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-outbound-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...outboundMigrations]);
  const lifecycle = createLifecycle({ log: silentLog });
  t.after(async () => {
    await lifecycle.stop();
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  const events = createLocalEvents({ log: silentLog });
  const basics = { clock: systemClock, ids: randomIds, log: silentLog, lifecycle };
  const store = {
    db,
    events,
    objects: await openFsObjects({ folder: join(folder, "objects") }),
    sweeps: localSweeps,
    jobs: createJobs({ db, events, ...basics }),
  };
  const trace: TraceEvent[] = [];
  const written: Outbound[] = [];
  const metrics = createMetrics({ processMetrics: false });
  const made = setUpOutbound(
    {
      store,
      metrics,
      settings: settingsSchema.parse({ outbound }),
      trace: (event) => void trace.push(event),
      lookups: {
        query: nothing,
        resolveMx: nothing,
        resolveTxt: nothing,
        resolve6: nothing,
        resolve4: async (host) => (host.endsWith(".example") ? ["127.0.0.1"] : nothing()),
      },
      files: { deliver: async (mail) => (written.push(mail), mail.to.map((rcpt) => ({ rcpt, ok: true as const }))) },
      isLocal: async () => false,
      limits: { pollMs: 20 },
      ...more,
    },
    basics,
  );
  if (start) made.start();
  return { ...made, trace, written, metrics };
}

const mail = (to: string): Outbound => ({
  messageId: randomIds.messageId("here.example"),
  cause: "send",
  from: "a@here.example",
  to: [to],
  raw: () => Buffer.from("Subject: x\r\n\r\nhello\r\n"),
});

async function until(condition: () => boolean): Promise<void> {
  const start = performance.now();
  while (!condition()) {
    if (performance.now() - start > 60_000) throw new Error(`timed out waiting for ${condition}`);
    await new Promise((resolve) => void setTimeout(resolve, 2));
  }
}

test("the files transport sends nothing", async (t) => {
  const { relay, queue, relayThenQueue, written, messages } = await open(t, {});
  for (const way of [relay, queue, relayThenQueue])
    assert.deepEqual(await way.deliver(mail("b@there.example")), [{ rcpt: "b@there.example", ok: true }]);
  assert.equal(written.length, 3);
  assert.deepEqual((await messages.list({})).items, []);
});

test("the mx transport delivers to a domain's servers, in private networks only if allowed, and updates metrics", async (t) => {
  const sink = await startSink(t);
  const shut = await open(t, { deliver: "mx", port: sink.port });
  const [refused] = await shut.relay.deliver(mail("b@there.example"));
  assert.ok(!refused!.ok && !refused!.temporary && /sending to 127\.0\.0\.1 is not allowed/.test(refused!.reply.text));
  const [literal] = await shut.relay.deliver(mail("b@[127.0.0.1]"));
  assert.ok(!literal!.ok && /is not allowed/.test(literal!.reply.text));
  const { queue, relay, trace, metrics } = await open(t, { deliver: "mx", port: sink.port, allow_private: true });
  await relay.deliver(mail("b@there.example"));
  await queue.deliver(mail("c@there.example"));
  await until(() => trace.filter(({ step }) => step === "delivered").length === 2);
  assert.deepEqual(sink.to, ["b@there.example", "c@there.example"]);
  const { body } = await metrics.render();
  for (const line of [
    'reelpost_mail_outbound_total{step="delivered",way="relay"} 1',
    'reelpost_mail_outbound_total{step="delivered",way="queue"} 1',
    "reelpost_mail_outbound_waiting 0",
    "reelpost_mail_outbound_paused 0",
  ])
    assert.ok(body.includes(line), body);
});

test("the smart_host transport sends everything to the first working smart host, and fails to start without one", async (t) => {
  const sink = await startSink(t);
  const { relay } = await open(t, {
    deliver: "smart_host",
    smart_hosts: ["smtp://127.0.0.1:1", `smtp://relay.example:${sink.port}`],
  });
  assert.deepEqual(await relay.deliver(mail("b@nowhere.test")), [{ rcpt: "b@nowhere.test", ok: true }]);
  assert.deepEqual(sink.to, ["b@nowhere.test"]);
  await assert.rejects(open(t, { deliver: "smart_host" }), { kind: "noSmartHosts" });
  await assert.rejects(open(t, { deliver: "smart_host", smart_hosts: ["relay.example"] }), { kind: "badSmartHost" });
});

test("queues mail until it is started, and relays mail for local domains to the local listener", async (t) => {
  const sink = await startSink(t);
  const idle = await open(
    t,
    { deliver: "mx" },
    { isLocal: async (domain: string) => domain === "ours.test" },
    { start: false },
  );
  idle.deliverLocallyTo({ host: "0.0.0.0", port: sink.port });
  await idle.queue.deliver(mail("b@ours.test"));
  assert.equal((await idle.messages.list({})).items[0]!.state, "queued");
  assert.deepEqual(await idle.relay.deliver(mail("c@ours.test")), [{ rcpt: "c@ours.test", ok: true }]);
  assert.deepEqual([sink.to, (await idle.messages.list({})).items[0]!.state], [["c@ours.test"], "queued"]);
});
