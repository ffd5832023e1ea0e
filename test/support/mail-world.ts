import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { rawClient } from "../../src/mail/mail.testing.ts";
import type { PlatformServer } from "../../src/server/index.ts";
import { createApi, servePlatform, TOKEN, type Api, type Scope, type Target } from "../e2e/serve-client.ts";

/** A platform that accepts mail for a domain and relays it to a next hop, for tests of the full path of a message. */

/** The SPF record of this domain authorizes this machine. */
export const SENDER_DOMAIN = "sender.example";

export interface MailFixture<Server extends Target = PlatformServer> {
  server: Server;
  api: Api;
  /** Name and id of the routed zone. */
  domain: string;
  zone: string;
  newZone(name: string, records?: { type: string; name: string; content: string }[]): Promise<string>;
  /** Creates a destination that is verified immediately. */
  destination(email: string): Promise<void>;
  /** Creates a rule; `*` stands for the catch-all rule. Destinations must be verified. */
  rule(local: string, type: "forward" | "worker" | "drop", ...value: string[]): Promise<void>;
  /** Resolves with the log entry of the message with this subject, once `enough` returns true. */
  entry(subject: string, enough: (entry: LogDetails) => boolean): Promise<LogDetails>;
}

interface LogDetails {
  id: string;
  status: string;
  to: string;
  error_detail: string | null;
  spf: string | null;
  deliveries: { to: string; status: string; code: number | null; response: string | null }[];
  events: { step: string; detail: Record<string, unknown> }[];
}

interface MailWorldOptions {
  /** Port of the smart host. Without it, outgoing mail is only written to files. */
  nextPort?: number;
  domain?: string;
  env?: Record<string, string>;
}

/** Starts the platform in this process, or uses the running `server`. */
export async function startMailFixture(
  t: Scope,
  { nextPort, domain = "routed.example", env = {} }: MailWorldOptions = {},
): Promise<MailFixture> {
  const server = await servePlatform(t, {
    env: {
      ...smartHostEnv(nextPort),
      REELPOST_SMTP_NAME: `mx.${domain}`,
      REELPOST_EMAIL_FORWARD_DOMAIN: `fwd.${domain}`,
      ...env,
    },
  });
  return mailFixtureOf(server, domain);
}

export const smartHostEnv = (port: number | undefined): Record<string, string> =>
  port === undefined
    ? {}
    : {
        REELPOST_OUTBOUND_DELIVER: "smart_host",
        REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${port}`,
        REELPOST_OUTBOUND_RETRY_MINUTES: "0.01",
      };

export async function mailFixtureOf<Server extends Target>(
  server: Server,
  domain: string,
): Promise<MailFixture<Server>> {
  const api = createApi(server, TOKEN);
  const world: MailFixture<Server> = {
    server,
    api,
    domain,
    zone: "",
    async newZone(name, records = []) {
      const { id } = await api.ok("post", "/zones", { body: { name, account: { id: api.account } } });
      for (const record of records) await api.ok("post", `/zones/${id}/dns_records`, { body: { ttl: 300, ...record } });
      return id;
    },
    async destination(email) {
      const { id } = await api.ok("post", "email/routing/addresses", { body: { email } });
      await api.ok("patch", `email/routing/addresses/${id}`, { body: { status: "verified" } });
    },
    async rule(local, type, ...value) {
      const actions = [type === "drop" ? { type } : { type, value }];
      if (local === "*")
        await api.ok("put", `/zones/${world.zone}/email/routing/rules/catch_all`, {
          body: { enabled: true, matchers: [{ type: "all" }], actions },
        });
      else
        await api.ok("post", `/zones/${world.zone}/email/routing/rules`, {
          body: { enabled: true, matchers: [{ type: "literal", field: "to", value: `${local}@${domain}` }], actions },
        });
    },
    entry: (subject, enough) =>
      until(
        async () => {
          const [found] = await api.ok("get", `email/activity?search=${encodeURIComponent(subject)}`);
          if (found === undefined) return undefined;
          const entry: LogDetails = await api.ok("get", `email/activity/${found.id}`);
          return enough(entry) ? entry : undefined;
        },
        `the log of ${JSON.stringify(subject)}`,
      ),
  };
  await world.newZone(SENDER_DOMAIN, [{ type: "TXT", name: "@", content: '"v=spf1 ip4:127.0.0.1 -all"' }]);
  world.zone = await world.newZone(domain);
  await api.ok("post", `/zones/${world.zone}/email/routing/dns`, { body: {} });
  return world;
}

/** Polls until `find` returns a result, at a low rate, since every poll loads the server as well as the test. */
export async function until<T>(
  find: () => T | undefined | Promise<T | undefined>,
  what: string,
  ms = 60_000,
): Promise<T> {
  for (const end = performance.now() + ms; ; await sleep(100)) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
    assert.ok(performance.now() < end, `timed out waiting for ${what}`);
  }
}

/** Resolves when no outgoing mail waits in the queue, not even the server's own, such as verification mail. */
export async function untilDelivered(api: Api): Promise<void> {
  const count = async (): Promise<number> => (await api.ok("get", "email/queue?platform=true")).length;
  await until(async () => (await count()) === 0 || undefined, "delivery of the queued mail");
}

/**
 * Sends one message byte for byte and returns the reply to it, or to the rejected command. This function performs
 * dot-stuffing.
 */
export async function sendRaw(
  port: number,
  { from = `ada@${SENDER_DOMAIN}`, to, raw }: { from?: string; to: string | string[]; raw: string | Buffer },
): Promise<string> {
  const client = await rawClient(port);
  try {
    await client.reply();
    await client.say(`EHLO client.${SENDER_DOMAIN}\r\n`);
    for (const command of [`MAIL FROM:<${from}>`, ...[to].flat().map((rcpt) => `RCPT TO:<${rcpt}>`), "DATA"]) {
      const answer = await client.say(`${command}\r\n`);
      if (!/^[23]/.test(answer)) return answer;
    }
    const text = Buffer.isBuffer(raw) ? raw.toString("latin1") : raw;
    return await client.say(
      Buffer.from(`${text.replace(/(^|\r\n)\./g, "$1..")}${text.endsWith("\r\n") ? "" : "\r\n"}.\r\n`, "latin1"),
    );
  } finally {
    client.socket.destroy();
  }
}

/** A plain message. */
export const plainMessage = (
  subject: string,
  { from = `ada@${SENDER_DOMAIN}`, to = "somebody@routed.example", body = "Hello\r\n" } = {},
): string =>
  `From: <${from}>\r\nTo: <${to}>\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString().replace("GMT", "+0000")}\r\nMessage-ID: <${subject.replace(/\W/g, "-")}@${SENDER_DOMAIN}>\r\n\r\n${body}`;
