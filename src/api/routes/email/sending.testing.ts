import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { TestContext } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { mailMigrations } from "../../../mail/index.ts";
import { createDkimKeys } from "../../../mail/dkim-keys/index.ts";
import { createSending, type SendingLimits, createSendingDomains } from "../../../mail/sending/index.ts";
import { createSigner } from "../../../mail/authenticate/index.ts";
import { createSpool, type Transport } from "../../../mail/messages/index.ts";
import { createSuppressions } from "../../../mail/suppressions/index.ts";
import { createLocalEvents, createSecrets } from "../../../store/index.ts";
import { createZones, zonesMigrations, type Zone } from "../../../zones/index.ts";

const HOSTS = {
  mx: [
    { host: "mx1.reelpost.example", priority: 10 },
    { host: "mx2.reelpost.example", priority: 20 },
  ],
  spfInclude: "_spf.reelpost.example",
  label: "rp-bounce",
  dmarc: "v=DMARC1; p=quarantine;",
};

/** The modules behind the sending operations. Sent mail goes to `sent`, or to the given transport. */
export async function openSendingModules(
  t: TestContext,
  engine: TestEngine,
  { limits, transport }: { limits?: Partial<SendingLimits>; transport?: Transport } = {},
) {
  const { db } = await engine.open(t, [...zonesMigrations, ...mailMigrations]);
  const folder = await mkdtemp(join(tmpdir(), "reelpost-sending-"));
  const clock = createManualClock(Date.UTC(2026, 10, 20, 12));
  const ids = randomIds;
  const events = createLocalEvents({ log: silentLog });
  const zones = createZones({ db, clock, ids, events, nameServers: ["ns1.reelpost.example"] });
  const dkimKeys = createDkimKeys({ db, secrets: createSecrets({ keys: [randomBytes(32)] }), events, clock, ids });
  const [routed, verified] = [new Set<string>(), new Set<string>()];
  const isRouted = async (_zone: Zone, name: string) => routed.has(name);
  const domains = createSendingDomains({ db, events, clock, ids, zones, dkimKeys, hosts: HOSTS, isRouted });
  const suppressions = createSuppressions({ db, clock, ids });
  const spool = createSpool({ dir: join(folder, "spool"), ids });
  const sent: string[] = [];
  const keeping: Transport = {
    async deliver({ to, raw }) {
      const body = raw();
      sent.push(
        (body instanceof Readable ? Buffer.concat(await body.toArray()) : Buffer.from(body)).toString("latin1"),
      );
      return to.map((rcpt) => ({ rcpt, ok: true }));
    },
  };
  const sending = createSending({
    db,
    clock,
    ids,
    spool,
    trace: () => {},
    transport: transport ?? keeping,
    queue: transport ?? keeping,
    signer: createSigner({ clock }),
    dkimKeys,
    suppressions,
    domains,
    zones,
    isRouted,
    isVerified: async (_account, address) => verified.has(address),
    ...(limits && { limits }),
  });
  t.after(async () => {
    domains.close();
    dkimKeys.close();
    zones.close();
    await events.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { clock, zones, domains, suppressions, sending, spool, sent, routed, verified };
}

/** A message as a program would send it. */
export const mimeOf = (fields: Record<string, string> = {}) =>
  `${Object.entries({
    From: "App <app@example.com>",
    To: "user@there.example",
    Subject: "Hello",
    "Message-ID": "<own@example.com>",
    ...fields,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\nHi\r\n`;
