import { setTimeout as sleep } from "node:timers/promises";
import { createTransport } from "nodemailer";
import type { Api } from "../../test/e2e/serve-client.ts";
import { LEDGER, type Sink } from "../../test/faults/mail-ledger/sink.ts";
import type { LiveNode, Platform } from "./platform.ts";
import type { Writer } from "./writer.ts";

const SENDERS = "sender.example";
const DOMAIN = "mail.example";
const DESTINATION = "there@example.net";
const ATTEMPTS = 60;
const PAUSE_MS = 250;
const SMTP_LIMIT_MS = 60_000;
/** Each execution stores its own key, so that repeated executions are visible. */
const WORKER = `export default {
  async email(message, env) {
    await env.MAIL.put(message.headers.get("${LEDGER}") + "/" + crypto.randomUUID(), "stored");
  },
};`;

/**
 * Creates a writer of mail to a worker that stores it in KV, and a writer of mail that is forwarded to the next hop.
 */
export async function createMailWriters(platform: Platform, sink: Sink): Promise<Writer[]> {
  const { api } = platform.first();
  const namespace = await setUp(api);

  /** Returns the number of executions by `number/attempt`. */
  async function stored({ api: client }: LiveNode): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (let cursor = ""; ;) {
      const { status, body } = await client.call(
        "get",
        `storage/kv/namespaces/${namespace}/keys?limit=1000${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      if (status !== 200) throw new Error(`the list of stored mail: ${status}`);
      for (const { name } of body.result as { name: string }[]) {
        const item = name.slice(0, name.lastIndexOf("/"));
        counts.set(item, (counts.get(item) ?? 0) + 1);
      }
      cursor = body.result_info.cursor ?? "";
      if (cursor === "") return counts;
    }
  }

  const delivered = async () =>
    new Map([...sink.delivered].map(([item, count]) => [item.slice(0, item.indexOf(" ")), count]));
  return [
    mailWriter(platform, "mail_worker", `keep@${DOMAIN}`, stored),
    mailWriter(platform, "mail_forward", `forward@${DOMAIN}`, delivered),
  ];
}

/** Sends each message until it receives a positive reply, as an MTA does. Each attempt goes to a random node. */
function mailWriter(
  platform: Platform,
  kind: string,
  to: string,
  arrivals: (node: LiveNode) => Promise<Map<string, number>>,
): Writer {
  const acknowledged: string[] = [];
  const numberOf = (item: string) => item.slice(0, item.indexOf("/"));
  return {
    kind,
    pauseMs: 100,
    async write(n, stopping) {
      const number = `${kind}.${n}`;
      let problem: unknown;
      for (let attempt = 1; attempt <= ATTEMPTS && !(attempt > 1 && stopping.aborted); attempt++) {
        try {
          await sendOnce(platform.any(), { number, attempt, to });
          acknowledged.push(number);
          return;
        } catch (err) {
          problem = err;
          await sleep(PAUSE_MS);
        }
      }
      throw new Error(`message ${number} was not accepted`, { cause: problem });
    },
    acknowledged: () => acknowledged.length,
    async missing(node) {
      const arrived = new Set([...(await arrivals(node)).keys()].map(numberOf));
      return acknowledged.filter((number) => !arrived.has(number)).map((number) => `message ${number} on ${node.name}`);
    },
    async duplicates(node) {
      const items = [...(await arrivals(node))];
      const numbers = new Set(items.map(([item]) => numberOf(item)));
      return {
        // RFC 5321 4.2.5: without a reply to the end of the data, the client must send the message again.
        [`${kind}: the client sent the message again because the reply was lost`]: items.length - numbers.size,
        [`${kind}: the node was killed before it recorded that the message was handled`]: items.reduce(
          (sum, [, count]) => sum + count - 1,
          0,
        ),
      };
    },
  };
}

async function sendOnce(
  { server }: LiveNode,
  { number, attempt, to }: { number: string; attempt: number; to: string },
): Promise<void> {
  const transport = createTransport({
    host: server.ready.smtp!.host,
    port: server.ready.smtp!.port,
    secure: false,
    ignoreTLS: true,
    connectionTimeout: SMTP_LIMIT_MS,
    greetingTimeout: SMTP_LIMIT_MS,
    socketTimeout: SMTP_LIMIT_MS,
  });
  const from = `${number}@${SENDERS}`;
  try {
    await transport.sendMail({
      envelope: { from, to },
      raw:
        `From: ${from}\r\nTo: ${to}\r\nSubject: ${number}\r\nMessage-ID: <${number}@${SENDERS}>\r\n` +
        `${LEDGER}: ${number}/${attempt}\r\n\r\n${"line of text\r\n".repeat(40)}`,
    });
  } finally {
    transport.close();
  }
}

/** Returns the id of the namespace in which the worker stores mail. */
async function setUp(api: Api): Promise<string> {
  const zone = async (name: string): Promise<string> =>
    (await api.ok("post", "/zones", { body: { name, account: { id: api.account } } })).id;
  const senders = await zone(SENDERS);
  await api.ok("post", `/zones/${senders}/dns_records`, {
    body: { type: "TXT", name: SENDERS, content: '"v=spf1 ip4:127.0.0.1 -all"', ttl: 300 },
  });
  const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "mail" } });
  await api.deploy("keeper", WORKER, {
    bindings: [{ type: "kv_namespace", name: "MAIL", namespace_id: namespace }],
  });
  const routed = await zone(DOMAIN);
  await api.ok("post", `/zones/${routed}/email/routing/dns`, { body: {} });
  const { id } = await api.ok("post", "email/routing/addresses", { body: { email: DESTINATION } });
  await api.ok("patch", `email/routing/addresses/${id}`, { body: { status: "verified" } });
  for (const [local, type, value] of [
    ["forward", "forward", DESTINATION],
    ["keep", "worker", "keeper"],
  ]) {
    const matchers = [{ type: "literal", field: "to", value: `${local}@${DOMAIN}` }];
    await api.ok("post", `/zones/${routed}/email/routing/rules`, {
      body: { matchers, actions: [{ type, value: [value] }] },
    });
  }
  return namespace;
}
