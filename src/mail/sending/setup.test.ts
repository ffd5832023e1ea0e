import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createLifecycle, randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { createLocalLimits } from "../../kernel/rate-limits.ts";
import { settingsSchema, type SettingsInput } from "../../kernel/settings.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite, localSweeps } from "../../store/index.ts";
import { createZones } from "../../zones/index.ts";
import { zonesMigrations } from "../../zones/index.ts";
import { createSigner } from "../authenticate/index.ts";
import { createServiceKeys } from "../dkim-keys/index.ts";
import { setUpSrs } from "../forwarding/index.ts";
import { createSpool, type Outbound, type DeliveryResult } from "../messages/index.ts";
import { mailMigrations } from "../migrations.ts";
import { setUpBounces } from "../bounces/index.ts";
import { createEmailRouting } from "../routing/index.ts";
import { setUpSuppressions } from "../suppressions/index.ts";
import { createSendEmailBinding } from "./binding.ts";
import { setUpSending, setUpSendingDomains } from "./setup.ts";

const ACCOUNT = "a".repeat(32);

async function open(
  t: TestContext,
  email: SettingsInput["email"] = {},
  answer: (rcpt: string) => DeliveryResult = (rcpt) => ({ rcpt, ok: true }),
) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-sending-"));
  const settings = settingsSchema.parse({
    email: { mx: ["mx1.example.net"], spf_include: "_spf.example.net", sending_label: "bounces", ...email },
  });
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...zonesMigrations, ...mailMigrations]);
  const lifecycle = createLifecycle({ log: silentLog });
  const basics = { clock: systemClock, ids: randomIds, log: silentLog, lifecycle };
  const events = createLocalEvents({ log: silentLog });
  const secrets = createSecrets({ keys: [randomBytes(32)] });
  const zones = createZones({ db, ...basics, events, nameServers: settings.dns.name_servers });
  const routing = createEmailRouting({
    db,
    zones,
    events,
    secrets,
    ...basics,
    scripts: { get: async () => undefined, byId: async () => undefined },
    addresses: { link: (token) => token },
    hosts: {
      mx: [{ host: "mx1.example.net", priority: 10 }],
      spfInclude: "_spf.example.net",
      dkimSelector: "reelpost",
    },
  });
  routing.addresses.onVerification(async () => {});
  const sent: Outbound[] = [];
  const transport = { deliver: async (mail: Outbound) => (sent.push(mail), mail.to.map(answer)) };
  const signer = createSigner(basics);
  const suppressions = setUpSuppressions({ db, sweeps: localSweeps }, basics);
  const { bounces } = setUpBounces(
    {
      store: { db, sweeps: localSweeps },
      secrets,
      settings,
      queue: transport,
      srs: setUpSrs(settings, secrets),
      signer,
      service: createServiceKeys(settings, routing.dkimKeys),
      list: suppressions,
      trace: () => {},
    },
    basics,
  );
  const spool = createSpool({ dir: join(folder, "spool"), ids: randomIds });
  const domains = setUpSendingDomains({ store: { db, events }, settings, zones, routing }, basics);
  const sending = setUpSending(
    {
      store: { db, sweeps: localSweeps, limits: createLocalLimits(systemClock) },
      settings,
      zones,
      routing,
      domains,
      suppressions,
      outbound: { relayThenQueue: transport, queue: transport },
      bounces,
      signer,
      spool,
      trace: () => {},
    },
    basics,
  );
  t.after(async () => {
    await lifecycle.stop();
    routing.close();
    zones.close();
    await events.close();
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  const zone = await zones.create({ account: ACCOUNT, name: "example.com" });
  const caller = { account: ACCOUNT, script: "news", binding: { type: "send_email" as const, name: "MAIL" } };
  const send = (more: Record<string, unknown> = {}) =>
    createSendEmailBinding({ sending, spool }).sendBuilt(caller, {
      from: "app@example.com",
      to: "user@there.example",
      subject: "s",
      text: "t",
      ...more,
    });
  return { sending, domains, zones, zone, routing, sent, send, suppressions };
}

test("uses records, return paths and limits from the settings", async (t) => {
  const { domains, zones, zone, sent, send, sending } = await open(t, {
    dmarc: "v=DMARC1; p=none;",
    daily_limit: 2,
    minute_limit: 3,
  });
  await assert.rejects(send(), { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" });
  const { returnPathDomain } = await domains.create(zone, "example.com");
  const names = (await zones.records.managed.list(zone.id, "email-sending"))
    .map(
      ({ type, name, priority, content }) =>
        `${type} ${name} ${type === "MX" ? `${priority} ${content}` : content.slice(0, 20)}`,
    )
    .sort();
  assert.deepEqual(
    [returnPathDomain, names.map((line) => line.split(" ").slice(0, 2).join(" "))],
    [
      "bounces.example.com",
      [
        "MX bounces.example.com",
        "TXT _dmarc.example.com",
        "TXT bounces._domainkey.example.com",
        "TXT bounces.example.com",
      ],
    ],
  );
  assert.ok(names.includes("MX bounces.example.com 10 mx1.example.net"));
  assert.match(names[1]!, /v=DMARC1; p=none/);
  await send();
  assert.match(sent[0]!.from, /^rp-[0-9a-z-]+@bounces\.example\.com$/);
  await send();
  await assert.rejects(send(), { code: "E_DAILY_LIMIT_EXCEEDED" });
  await assert.rejects(send(), { code: "E_RATE_LIMIT_EXCEEDED" });
  assert.deepEqual((await sending.limits(ACCOUNT)).quota, { unit: "day", value: 2 });
});

test("sends to verified addresses from any routed name, with the name's routing key and a return path of the forward domain", async (t) => {
  const { routing, zone, sent, send, domains } = await open(t);
  await routing.dns.enable(zone, "in.example.com");
  const { id } = await routing.addresses.create(ACCOUNT, "user@there.example");
  await assert.rejects(send({ from: "app@in.example.com" }), { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" });
  await routing.addresses.setVerified(ACCOUNT, id, true);
  await send({ from: "app@in.example.com" });
  assert.match(sent[0]!.from, /@forward\.reelpost\.internal$/);
  assert.match(
    Buffer.from(sent[0]!.raw() as Uint8Array).toString(),
    /^DKIM-Signature: [^]*d=in\.example\.com; s=reelpost;/,
  );
  await assert.rejects(send({ from: "app@other.example.com" }), { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" });
  const made = await domains.create(zone, "in.example.com");
  await domains.delete(zone, made.id);
  assert.equal((await domains.get(zone, made.id)).enabled, false);
});

test("suppresses a permanently rejected recipient, and rotates the sending keys", async (t) => {
  const { domains, zone, send, suppressions, routing } = await open(t, {}, (rcpt) =>
    rcpt.startsWith("gone")
      ? { rcpt, ok: false, temporary: false, reply: { code: 550, enhanced: "5.1.1", text: "no such user" } }
      : { rcpt, ok: true },
  );
  await domains.create(zone, "example.com");
  await assert.rejects(send({ to: "gone@there.example" }), { code: "E_DELIVERY_FAILED" });
  await assert.rejects(send({ to: "gone@there.example" }), { code: "E_RECIPIENT_SUPPRESSED" });
  assert.deepEqual(
    (await suppressions.list(ACCOUNT, {}, { perPage: 5 })).items.map(({ reason, note }) => [reason, note]),
    [["hard_bounce", "550 5.1.1 no such user"]],
  );
  await domains.rotateDkim(zone, "example.com");
  await routing.dkimKeys.promote({ zone: zone.id, domain: "example.com", use: "sending" });
  await domains.republish(zone, "example.com");
  await assert.rejects(async () => domains.republish(zone, "other.example.com"), { kind: "noSendingDomain" });
});
