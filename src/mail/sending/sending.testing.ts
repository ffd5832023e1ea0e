import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { createLocalEvents, createSecrets } from "../../store/index.ts";
import { createZones, zonesMigrations, type Zone } from "../../zones/index.ts";
import { createSigner } from "../authenticate/index.ts";
import { createDkimKeys } from "../dkim-keys/index.ts";
import { memoryTrace, memoryTransport, newSpool } from "../mail.testing.ts";
import type { DeliveryResult, Transport } from "../messages/index.ts";
import { mailMigrations } from "../migrations.ts";
import type { RecordVerifier } from "../routing/index.ts";
import { createSuppressions } from "../suppressions/index.ts";
import { readDraft } from "./draft.ts";
import { createSendingDomains } from "./domains.ts";
import { createSending, type SendingDeps } from "./sending.ts";
import type { SendRequest } from "./types.ts";

export const ACCOUNT = "a".repeat(32);
export const OTHER_ACCOUNT = "b".repeat(32);
/** The recipient of drafts and messages. */
export const RECIPIENT = "user@there.example";
const HOSTS = {
  mx: [
    { host: "mx1.reelpost.example", priority: 10 },
    { host: "mx2.reelpost.example", priority: 20 },
  ],
  spfInclude: "_spf.reelpost.example",
  label: "rp-bounce",
  dmarc: "v=DMARC1; p=quarantine;",
};

interface SendingHouse extends Partial<Omit<SendingDeps, "limits">> {
  limits?: SendingDeps["limits"];
  verifier?: RecordVerifier;
  /** Returns the result of the next hop for a recipient. */
  answer?: (rcpt: string) => DeliveryResult;
  /** Runs before the database closes. */
  beforeClose?: () => Promise<void>;
}

/**
 * Opens domains, suppressions and the sending path in a new database. `routed`: the routed names; `verified`: the
 * verified addresses.
 */
export async function openSending(
  t: TestContext,
  engine: TestEngine,
  { verifier, answer, beforeClose, ...parts }: SendingHouse = {},
) {
  t.after(async () => beforeClose?.());
  const { db } = await engine.open(t, [...zonesMigrations, ...mailMigrations]);
  const clock = createManualClock(Date.UTC(2026, 10, 20, 12));
  const events = createLocalEvents({ log: silentLog });
  const zones = createZones({ db, clock, ids: randomIds, events, nameServers: ["ns1.reelpost.example"] });
  const dkimKeys = createDkimKeys({
    db,
    secrets: createSecrets({ keys: [randomBytes(32)] }),
    events,
    clock,
    ids: randomIds,
  });
  const routed = new Set<string>();
  const verified = new Set<string>();
  const isRouted = async (_zone: Zone, name: string) => routed.has(name);
  const domains = createSendingDomains({
    db,
    events,
    clock,
    ids: randomIds,
    zones,
    dkimKeys,
    hosts: HOSTS,
    isRouted,
    ...(verifier && { verifier }),
  });
  const suppressions = createSuppressions({ db, clock, ids: randomIds });
  const transport = memoryTransport(answer);
  const queue = memoryTransport((rcpt) => ({ rcpt, ok: true, queued: true }));
  const trace = memoryTrace();
  const spool = await newSpool();
  const sending = createSending({
    db,
    clock,
    ids: randomIds,
    trace,
    spool,
    transport,
    queue,
    signer: createSigner({ clock }),
    dkimKeys,
    suppressions,
    domains,
    zones,
    isRouted,
    isVerified: async (_account, address) => verified.has(address),
    ...parts,
  });
  t.after(async () => {
    domains.close();
    dkimKeys.close();
    zones.close();
    await events.close();
  });
  return {
    db,
    clock,
    events,
    zones,
    dkimKeys,
    domains,
    suppressions,
    sending,
    transport,
    queue,
    trace,
    spool,
    routed,
    verified,
    newZone: (name = "example.com", account = ACCOUNT) => zones.create({ account, name }),
  };
}

export const draftOf = (more: Record<string, unknown> = {}) =>
  readDraft({ from: "app@example.com", to: RECIPIENT, subject: "Hello", text: "Hi", ...more });

/** Returns a message as submitted by a program. */
export const messageOf = (fields: Record<string, string> = {}, body = "Hi\r\n") =>
  `${Object.entries({
    From: "App <app@example.com>",
    To: RECIPIENT,
    Subject: "Hello",
    "Message-ID": "<own@example.com>",
    ...fields,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n${body}`;

/** A transport whose queue is full. */
export const fullQueue: Transport = {
  deliver: async ({ to }) =>
    to.map((rcpt) => ({
      rcpt,
      ok: false,
      temporary: true,
      reply: { code: 452, enhanced: "4.3.1", text: "The outbound queue is full, try again later" },
    })),
};

/** Like `openSending`, with the sending domain example.com. `draft` and `raw` send from it. */
export async function openSendingDomain(...args: Parameters<typeof openSending>) {
  const fixture = await openSending(...args);
  const zone = await fixture.newZone();
  const domain = await fixture.domains.create(zone, "example.com");
  const draft = (more: Record<string, unknown> = {}, request: Partial<SendRequest> = {}) =>
    fixture.sending.send({
      account: ACCOUNT,
      via: "rest",
      from: "",
      to: [],
      draft: draftOf(more),
      ...request,
    } as SendRequest);
  const raw = (text = messageOf(), request: Partial<SendRequest> = {}) =>
    fixture.sending.send({
      account: ACCOUNT,
      via: "rest_raw",
      from: "app@example.com",
      to: [RECIPIENT],
      raw: fixture.spool.fromMemory(Buffer.from(text)),
      ...request,
    } as SendRequest);
  return { ...fixture, zone, domain, draft, raw };
}
