import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { readBounce } from "../../protocol/dsn/index.ts";
import { createSrs } from "../../protocol/srs/index.ts";
import { migrate, openFsObjects, openSqlite } from "../../store/index.ts";
import { createAuthenticator, createSigner } from "../authenticate/index.ts";
import { keyOf, recordOf } from "../authenticate/authenticate.testing.ts";
import { tableResolver } from "../authenticate/suites.testing.ts";
import { createForwarding } from "../forwarding/index.ts";
import { combineReplies } from "../inbound/index.ts";
import { memoryTrace, runtimeOf } from "../mail.testing.ts";
import { createSpool } from "../messages/index.ts";
import { outboundMigrations, createOutbound } from "../outbound/index.ts";
import { resolverOf, startSink } from "../outbound/outbound.testing.ts";
import { createReceiver } from "../receive.ts";
import { createBounces } from "./bounces.ts";
import { envelopeOf, MAIL, until } from "./bounces.testing.ts";
import { bouncesMigrations } from "./bounces-table.ts";

/** Every server has a loopback address, and all use one port, as on the internet. */
const ADDRESSES: Record<string, string> = {
  "example.org": "127.0.0.1",
  "example.net": "127.0.0.1",
  "two.example": "127.0.0.2",
  "fwd.example": "127.0.0.3",
};
const DNS = Object.assign(
  {},
  ...Object.keys(ADDRESSES).map((name) => ({
    [`${name} TXT`]: [["v=spf1 ip4:127.0.0.0/29 -all"]],
    ...recordOf(keyOf(name)),
  })),
) as Record<string, unknown[]>;

/** Starts a complete forwarder: authenticates, forwards through its queue, and processes bounces. */
async function startForwarder(
  t: TestContext,
  { domain, port, routes }: { domain: string; port: number; routes: Record<string, string> },
) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-trip-"));
  const [clock, ids, log, trace] = [systemClock, randomIds, silentLog, memoryTrace()];
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...outboundMigrations, ...bouncesMigrations]);
  const spool = createSpool({ dir: join(folder, "spool"), ids });
  const outbound = createOutbound({
    db,
    objects: await openFsObjects({ folder: join(folder, "objects") }),
    clock,
    ids,
    log,
    name: domain,
    trace,
    port,
    resolver: resolverOf(Object.fromEntries(Object.entries(ADDRESSES).map(([name, a]) => [name, { a: [a] }]))),
  });
  const [srs, signer] = [createSrs({ domain, keys: [`srs of ${domain}`] }), createSigner({ clock })];
  const key = { ...keyOf(domain), algorithm: "rsa" as const };
  const bounces = createBounces({
    db,
    queue: outbound.queue,
    srs,
    keys: [`paths of ${domain}`],
    forwardDomain: domain,
    label: "rp-bounce",
    name: domain,
    signer,
    signingKeys: async () => [key],
    trace,
    clock,
    ids,
    log,
  });
  outbound.onFailed(bounces.onFailed);
  const authenticator = createAuthenticator({ resolver: tableResolver(DNS), authservId: domain, clock });
  const forwarding = createForwarding({
    transport: outbound.queue,
    signer,
    srs,
    spool,
    clock,
    ids,
    bounces,
    loopKeys: [`loops of ${domain}`],
    keysOf: async () => [],
    serviceKey: async () => [key],
  });
  const receiver = createReceiver({
    runtime: runtimeOf({}),
    route: (rcpt) => (routes[rcpt] === undefined ? { kind: "none" } : { kind: "forward", to: [routes[rcpt]!] }),
    transport: outbound.queue,
    spool,
    trace,
    clock,
    ids,
    log,
    authenticator,
    forwarding,
    bounces,
  });
  const smtp = await startSink({
    address: ADDRESSES[domain]!,
    listenPort: port,
    async data({ from, to, raw }) {
      const early = (await Promise.all(to.map((rcpt) => receiver.checkRecipient(rcpt, envelopeOf(from, to))))).find(
        (one) => one !== undefined,
      );
      const { code, enhanced, text } =
        early ??
        combineReplies(
          await receiver.receive(
            { ...envelopeOf(from, to), ip: "127.0.0.1" },
            spool.fromMemory(Buffer.from(raw, "latin1")),
          ),
        );
      return code === 250 ? undefined : `${code} ${enhanced} ${text}`;
    },
  });
  outbound.start();
  t.after(async () => {
    await outbound.stop({ graceMs: 0 });
    await authenticator.close();
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { smtp, outbound, bounces, trace };
}

test(
  "a bounce returns through two forwarders over SMTP and ends at the original sender",
  { timeout: 240_000 },
  async (t) => {
    const world = await startSink({
      rcpt: (to) => (to === "bob@example.net" ? "550 5.1.1 <bob@example.net> no such user" : undefined),
    });
    const first = await startForwarder(t, {
      domain: "two.example",
      port: world.port,
      routes: { "list@two.example": "info@fwd.example" },
    });
    const second = await startForwarder(t, {
      domain: "fwd.example",
      port: world.port,
      routes: { "info@fwd.example": "bob@example.net" },
    });

    await first.outbound.enqueue({
      messageId: "<first@example.org>",
      cause: "send",
      from: "alice@example.org",
      to: ["list@two.example"],
      raw: () => Buffer.from(MAIL),
    });
    await until(() => world.mails.length > 0);

    const [there] = second.smtp.mails;
    assert.match(there!.from, /^SRS0=.+=example\.org=alice@two\.example$/);
    // fwd.example adds SRS1, is rejected by the last server, and sends its report to the previous forwarder.
    const back = first.smtp.mails.at(-1)!;
    assert.deepEqual([back.from, back.to], ["", [there!.from]]);
    assert.deepEqual(
      world.mails.map(({ from, to }) => [from, to]),
      [["", ["alice@example.org"]]],
    );
    const bounce = readBounce(Buffer.from(world.mails[0]!.raw, "latin1"))!;
    assert.deepEqual(
      [bounce.reportingMta, bounce.messageId, bounce.recipients],
      [
        "fwd.example",
        "<first@example.org>",
        [
          {
            address: "info@fwd.example",
            action: "failed",
            status: "5.1.1",
            diagnostic: "550 5.1.1 <info@fwd.example> no such user",
          },
        ],
      ],
    );

    // A recipient of the forward sees the address but cannot use it to write to Alice: RCPT is rejected.
    const rejection = await first.bounces.check(there!.from, { from: "mallory@example.net" });
    assert.match(rejection!.text, /accepts delivery status notifications only/);
    const [refused] = await first.outbound.relay.deliver({
      messageId: "<spam@x>",
      cause: "send",
      from: "mallory@example.net",
      to: [there!.from],
      raw: () => Buffer.from(MAIL),
    });
    assert.ok(refused && !refused.ok);
    assert.match(refused.reply.text, /accepts delivery status notifications only/);
  },
);
