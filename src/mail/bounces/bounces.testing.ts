import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { createSrs } from "../../protocol/srs/index.ts";
import { createSigner } from "../authenticate/index.ts";
import {
  createSpool,
  type Envelope,
  type MailSource,
  type DeliveryResult,
  type TraceEvent,
} from "../messages/index.ts";
import { outboundMigrations, createOutbound, type OutboundOptions, type OutboundTables } from "../outbound/index.ts";
import { resolverOf, startSink, type Sink, type SinkRules } from "../outbound/outbound.testing.ts";
import { createBounces, type BouncesOptions } from "./bounces.ts";
import { bouncesMigrations } from "./bounces-table.ts";
import type { BounceList, BouncesService } from "./types.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";

export const NOON = Date.UTC(2026, 0, 5, 12);
export const DAY = 86_400_000;
export const KEY = generateKeyPairSync("rsa", {
  modulusLength: 1024,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

type Entry = Parameters<BounceList["add"]>[0];

export const MAIL =
  "From: alice@example.org\r\nTo: info@here.example\r\nMessage-ID: <first@example.org>\r\nSubject: hello\r\n\r\nthe body\r\n";

export const envelopeOf = (from: string, to: string[]): Envelope => ({
  from,
  to,
  helo: "mx.example.net",
  ip: "192.0.2.1",
  smtputf8: false,
});

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > 60_000) throw new Error(`timed out waiting for ${condition}`);
    await new Promise((resolve) => void setTimeout(resolve, 2));
  }
}

export interface BouncesFixture {
  bounces: BouncesService;
  outbound: ReturnType<typeof createOutbound>;
  sink: Sink;
  clock: ReturnType<typeof createManualClock>;
  events: TraceEvent[];
  entries: Entry[];
  srs: ReturnType<typeof createSrs>;
  source(text: string | Buffer): MailSource;
  /** Delivers a message to a return path; resolves with the reply, or "ok". */
  take(rcpt: string, text: string | Buffer, from?: string): Promise<string>;
  /** Resolves when every queued message has been sent or has failed. */
  drained(): Promise<void>;
  steps(): string[];
}

interface BouncesFixtureOptions {
  rules?: SinkRules;
  limits?: BouncesOptions["limits"];
  outbound?: Partial<OutboundOptions>;
  bounces?: Partial<BouncesOptions>;
  forwardDomain?: string;
  /** True if authors of complaints are authenticated. Default true. */
  authenticated?: boolean;
}

/** Opens a real queue, real SMTP to a sink, and the bounce processor. */
export const openBounces =
  (engine: TestEngine) =>
  async (
    t: TestContext,
    {
      rules = {},
      limits = {},
      outbound: more = {},
      bounces: others = {},
      forwardDomain = "fwd.example",
      authenticated = true,
    }: BouncesFixtureOptions = {},
  ): Promise<BouncesFixture> => {
    const folder = await mkdtemp(join(tmpdir(), "reelpost-returns-"));
    const stops: (() => Promise<void>)[] = [];
    t.after(async () => {
      for (const stop of stops) await stop();
      await rm(folder, { recursive: true, force: true });
    });
    const { db } = await engine.open(t, [...outboundMigrations, ...bouncesMigrations]);
    const clock = createManualClock(NOON);
    const [events, entries]: [TraceEvent[], Entry[]] = [[], []];
    const sink = await startSink(rules);
    const trace = (event: TraceEvent) => void events.push(event);
    const outbound = createOutbound({
      db,
      objects: await openWriteOnceObjects({ folder }),
      clock,
      ids: randomIds,
      log: silentLog,
      name: "mx.fwd.example",
      trace,
      port: sink.port,
      resolver: resolverOf(
        Object.fromEntries(
          ["example.org", "example.net", "two.example", "fwd.example", "dead.example"].map((name) => [
            name,
            { a: ["127.0.0.1"] },
          ]),
        ),
      ),
      ...more,
    });
    const srs = createSrs({ domain: forwardDomain, keys: [`srs key of ${forwardDomain}`] });
    const bounces = createBounces({
      db,
      queue: outbound.queue,
      srs,
      keys: ["path key"],
      forwardDomain,
      label: "rp-bounce",
      name: "mx.fwd.example",
      signer: createSigner({ clock }),
      signingKeys: async () => [{ domain: forwardDomain, selector: "s1", privateKey: KEY.privateKey }],
      list: { add: async (entry) => void entries.push(entry) },
      trace,
      clock,
      ids: randomIds,
      log: silentLog,
      limits,
      ...others,
    });
    outbound.onFailed(bounces.onFailed);
    stops.push(() => outbound.stop({ graceMs: 0 }));
    outbound.start();
    const spool = createSpool({ dir: join(folder, "spool"), ids: randomIds });
    const source = (text: string | Buffer) => spool.fromMemory(Buffer.from(text as string));
    return {
      bounces,
      outbound,
      sink,
      clock,
      events,
      entries,
      srs,
      source,
      async take(rcpt, text, from = "") {
        const settled: DeliveryResult = await bounces.process({
          rcpt,
          envelope: envelopeOf(from, [rcpt]),
          source: source(text),
          isAuthenticated: async () => authenticated,
        });
        return settled.ok ? "ok" : `${settled.reply.code} ${settled.reply.enhanced} ${settled.reply.text}`;
      },
      async drained() {
        const waiting = db
          .tables<OutboundTables>()
          .selectFrom("outbound_recipients")
          .select("id")
          .where((eb) => eb.or([eb("finished_at", "is", null), eb("tell_at", "is not", null)]));
        await until(async () => (await db.read(waiting)).length === 0);
      },
      steps: () => events.map(({ message, step, rcpt }) => `${message} ${step} ${rcpt ?? ""}`.trim()),
    };
  };

/** A bounce from another server. */
export const bounceOf = (
  rcpt: string,
  {
    status = "5.1.1",
    words = "550 5.1.1 No such user",
    id = "<bounce-1@mx.example.net>",
    original,
    action = "failed",
  }: { status?: string; words?: string; id?: string; original?: string; action?: string } = {},
) =>
  [
    "From: MAILER-DAEMON@mx.example.net",
    "To: <>",
    "Subject: Undelivered Mail",
    `Message-ID: ${id}`,
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b1"',
    "",
    "--b1",
    "Content-Type: text/plain",
    "",
    "It did not work.",
    "",
    "--b1",
    "Content-Type: message/delivery-status",
    "",
    "Reporting-MTA: dns; mx.example.net",
    "",
    ...(original === undefined ? [] : [`Original-Recipient: rfc822; ${original}`]),
    `Final-Recipient: rfc822; ${rcpt}`,
    `Action: ${action}`,
    `Status: ${status}`,
    `Diagnostic-Code: smtp; ${words}`,
    "",
    "--b1",
    "Content-Type: text/rfc822-headers",
    "",
    "Message-ID: <first@example.org>",
    "Subject: hello",
    "",
    "--b1--",
    "",
  ].join("\r\n");

/** A provider's complaint about mail that a recipient marked as abuse. */
export const complaintOf = ({
  type = "abuse",
  rcpt,
  mailFrom,
  id = "<arf-1@provider.example>",
  to,
}: { type?: string; rcpt?: string; mailFrom?: string; id?: string; to?: string } = {}) =>
  [
    "From: <abuse@provider.example>",
    "To: <abuse@here.example>",
    "Subject: FW: Earn money",
    `Message-ID: ${id}`,
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=feedback-report; boundary="part1"',
    "",
    "--part1",
    "Content-Type: text/plain; charset=us-ascii",
    "",
    "This is an email abuse report.",
    "",
    "--part1",
    "Content-Type: message/feedback-report",
    "",
    `Feedback-Type: ${type}`,
    "User-Agent: SomeGenerator/1.0",
    "Version: 1",
    ...(mailFrom === undefined ? [] : [`Original-Mail-From: <${mailFrom}>`]),
    ...(rcpt === undefined ? [] : [`Original-Rcpt-To: <${rcpt}>`]),
    "",
    "--part1",
    "Content-Type: message/rfc822",
    "",
    "From: <news@here.example>",
    ...(to === undefined ? [] : [`To: <${to}>`]),
    "Message-ID: <sent@here.example>",
    "Subject: Earn money",
    "",
    "Spam Spam Spam",
    "",
    "--part1--",
    "",
  ].join("\r\n");
