import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { randomIds, silentLog, systemClock, type Clock } from "../../kernel/index.ts";
import { receivedField } from "../../protocol/smtp/index.ts";
import { createSrs, type Srs } from "../../protocol/srs/index.ts";
import { migrate, openSqlite } from "../../store/index.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";
import { createAuthenticator, createSigner } from "../authenticate/index.ts";
import { keyOf, recordOf } from "../authenticate/authenticate.testing.ts";
import { tableResolver } from "../authenticate/suites.testing.ts";
import type { DkimSigningKey } from "../dkim-keys/index.ts";
import { createDowngrade } from "../downgrade/index.ts";
import { combineReplies } from "../inbound/index.ts";
import { memoryTrace, runtimeOf } from "../mail.testing.ts";
import { createSpool, type Envelope, type DeliveryResult, type TraceEvent } from "../messages/index.ts";
import { createOutbound, outboundMigrations } from "../outbound/index.ts";
import { resolverOf, startSink, type Sink, type SinkMail } from "../outbound/outbound.testing.ts";
import { createReceiver, type Receiver, type ReceiverOptions } from "../receive.ts";
import type { ReturnPathRequest } from "../bounces/index.ts";
import { createForwarding } from "./forwarding.ts";

/** Test servers that receive, authenticate, sign and relay over real SMTP. */

const PEER = "192.0.2.10";

const signing = (domain: string): DkimSigningKey => ({ ...keyOf(domain), algorithm: "rsa" });

/** Senders are at a.example, for which PEER may send; all servers run on the local machine. */
export const DNS: Record<string, unknown[] | Error> = {
  "a.example TXT": [["v=spf1 ip4:192.0.2.0/28 -all"]],
  "_dmarc.a.example TXT": [["v=DMARC1; p=reject"]],
  "b.example TXT": [["v=spf1 ip4:192.0.2.0/28 -all"]],
  ...recordOf(keyOf("a.example")),
};

/** Returns DNS records of a server's own domains. */
export const ownRecords = (...domains: string[]): Record<string, unknown[]> =>
  Object.assign(
    {},
    ...domains.map((domain) => ({
      [`${domain} TXT`]: [["v=spf1 ip4:127.0.0.1 -all"]],
      [`_dmarc.${domain} TXT`]: [["v=DMARC1; p=reject"]],
      ...recordOf(keyOf(domain)),
    })),
  );

export interface HostOptions {
  /** For example, "one": the forward domain is then fwd.one.example, and the customers' domain is one.example. */
  name: string;
  routes: ReceiverOptions["route"];
  handlers?: Parameters<typeof runtimeOf>[0];
  /** Port of the next hop for all relayed mail. */
  nextPort: number;
  /** The socket it listens on. Default: a new one. */
  at?: Place;
  dns?: Record<string, unknown[] | Error>;
  clock?: Clock;
  receiver?: Partial<ReceiverOptions>;
}

interface Host {
  receiver: Receiver;
  /** Listens for SMTP and receives messages as from a local peer. */
  smtp: Sink;
  srs: Srs;
  events: TraceEvent[];
  /** The requests for token return paths. */
  tokens: ReturnPathRequest[];
  /** Receives a message; resolves with the folded reply. */
  take(message: string | Buffer, envelope: Partial<Envelope> & { to: string[] }): Promise<string>;
  settle(message: string | Buffer, envelope: Partial<Envelope> & { to: string[] }): Promise<DeliveryResult[]>;
}

/** A port that is opened before its server exists, so that two servers can be configured with each other's port. */
interface Place {
  smtp: Sink;
  serve(take: Host["settle"]): void;
}

export async function openForwardingHosts(): Promise<Place> {
  let take: Host["settle"] | undefined;
  const smtp = await startSink({
    async data({ from, to, raw }: SinkMail) {
      const { code, enhanced, text } = combineReplies(
        await take!(Buffer.from(raw, "latin1"), { from, to, ip: "127.0.0.1", helo: "peer.example" }),
      );
      return code === 250 ? undefined : `${code} ${enhanced} ${text}`;
    },
  });
  return { smtp, serve: (by) => void (take = by) };
}

export async function startHost(
  t: TestContext,
  { name, routes, handlers = {}, nextPort, at, dns = {}, clock = systemClock, receiver: more = {} }: HostOptions,
): Promise<Host> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-host-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, outboundMigrations);
  const [forwardDomain, domain] = [`fwd.${name}.example`, `${name}.example`];
  const trace = memoryTrace();
  const spool = createSpool({ dir: join(folder, "spool"), ids: randomIds, memoryBytes: 64 * 1024 });
  const everywhere = resolverOf(new Proxy({}, { get: () => ({ a: ["127.0.0.1"] }) }));
  const outbound = createOutbound({
    db,
    objects: await openWriteOnceObjects({ folder: join(folder, "objects") }),
    clock,
    ids: randomIds,
    log: silentLog,
    name: `mx.${domain}`,
    trace,
    resolver: everywhere,
    port: nextPort,
    downgrade: createDowngrade({
      signer: createSigner({ clock }),
      findKey: async (owner, selector) =>
        selector === "rsa" && [forwardDomain, domain].includes(owner) ? keyOf(owner) : undefined,
    }),
  });
  const resolver = tableResolver({ ...DNS, ...ownRecords(forwardDomain, domain), ...dns });
  const authenticator = createAuthenticator({ resolver, authservId: `mx.${domain}`, clock });
  const srs = createSrs({ domain: forwardDomain, keys: [`srs of ${name}`] });
  const tokens: ReturnPathRequest[] = [];
  const forwarding = createForwarding({
    transport: outbound.relay,
    signer: createSigner({ clock }),
    srs,
    spool,
    clock,
    ids: randomIds,
    loopKeys: [`loop of ${name}`],
    keysOf: async (request) => (request.zone === name ? [signing(request.domain)] : []),
    serviceKey: async () => [signing(forwardDomain)],
    bounces: {
      async pathFor(request) {
        tokens.push(request);
        return `token${tokens.length}@${forwardDomain}`;
      },
    },
  });
  const receiver = createReceiver({
    runtime: runtimeOf(handlers),
    route: routes,
    transport: outbound.relay,
    spool,
    trace,
    clock,
    ids: randomIds,
    log: silentLog,
    authenticator,
    forwarding,
    ...more,
  });

  async function settle(
    message: string | Buffer,
    {
      ip = PEER,
      from = "alice@a.example",
      helo = "mx.a.example",
      smtputf8 = false,
      ...rest
    }: Partial<Envelope> & { to: string[] },
  ) {
    const id = randomIds.hex();
    const prefix = receivedField({
      helo,
      ip,
      by: `mx.${domain}`,
      protocol: "ESMTP",
      id,
      recipient: undefined,
      at: new Date(clock.now()),
    });
    const bytes = Buffer.from(message as string);
    return receiver.receive(
      { from, helo, ip, smtputf8, ...rest },
      await spool.collect(
        (async function* () {
          yield bytes;
        })(),
        { id, prefix },
      ),
    );
  }

  const { smtp, serve } = at ?? (await openForwardingHosts());
  serve(settle);
  t.after(async () => {
    await outbound.stop({ graceMs: 0 });
    await authenticator.close();
    await spool.close();
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    receiver,
    smtp,
    srs,
    tokens,
    events: trace.events,
    settle,
    async take(message, envelope) {
      const { code, enhanced, text } = combineReplies(await settle(message, envelope));
      return `${code} ${enhanced} ${text}`;
    },
  };
}

/** Resolves with a message with CRLF line endings, signed by its author's domain. */
export async function signedBy(domain: string, text: string): Promise<string> {
  const message = text.replace(/\r?\n/g, "\r\n");
  const headerBlock = Buffer.from(message.slice(0, message.indexOf("\r\n\r\n") + 2), "latin1");
  const bytes = Buffer.from(message, "latin1");
  const signature = await createSigner({ clock: systemClock }).sign(
    { headerBlock, open: (start = 0) => bytes.subarray(start) },
    { dkim: [keyOf(domain)] },
  );
  return signature + message;
}

export const headerOf = (raw: string): string[] => raw.slice(0, raw.indexOf("\r\n\r\n")).split(/\r\n(?![ \t])/);
export const bodyOf = (raw: string): string => raw.slice(raw.indexOf("\r\n\r\n") + 4);
export const namesOf = (raw: string): string[] => headerOf(raw).map((field) => field.slice(0, field.indexOf(":")));
