import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sendHttpRequest, createApi, TOKEN, type Api, type Scope } from "../../e2e/serve-client.ts";
import { freePort } from "../../support/free-ports.ts";
import type { Cluster } from "../../support/postgres.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../../support/serve.ts";
import { startSenders, type Sent } from "./senders.ts";
import { startSink } from "./sink.ts";

const SENDERS = "sender.example";
const ID_STORE_WORKER = `export default {
  async email(message, env) { await env.IDS.put(message.headers.get("x-ledger"), "1"); },
  async fetch(request, env) {
    const names = [];
    for (let cursor, page; page?.list_complete !== true; cursor = page.cursor) names.push(...(page = await env.IDS.list({ cursor })).keys.map(({ name }) => name));
    return Response.json(names);
  },
};`;

interface LedgerOptions {
  cluster: Cluster;
  /** Number of kills of each role, and the time in milliseconds that everything runs before each kill. */
  kills: number;
  betweenMs: number;
  /** Maximum time for delivery of accepted mail after the last kill. */
  settleMs: number;
  clients: number;
}

interface Ledger {
  acknowledged: number;
  unacknowledged: number;
  kills: Record<string, number>;
  delivered: number;
  kept: number;
  bounced: number;
  lost: Sent[];
  duplicates: number;
}

/**
 * Runs one platform of three processes on PostgreSQL with different roles, each killed in turn while mail is arriving.
 * Every acknowledged message must be delivered, handled, or reported to its sender.
 */
export async function runLedger(
  t: Scope,
  { cluster, kills: rounds, betweenMs, settleMs, clients }: LedgerOptions,
): Promise<Ledger> {
  const sink = await startSink();
  t.after(() => sink.close());
  const [http, smtp] = await Promise.all([freePort(), freePort()]);
  const env = {
    REELPOST_API_TOKEN: TOKEN,
    REELPOST_DATABASE_URL: await cluster.createDatabase(),
    REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
    REELPOST_OBJECTS_DIR: await temporaryFolder(t, "objects"),
    REELPOST_OUTBOUND_DELIVER: "smart_host",
    REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${sink.port}`,
    REELPOST_OUTBOUND_RETRY_MINUTES: "0.02,0.05",
    REELPOST_LOG_LEVEL: "warn",
  };
  const roles = { front: "api,workers,dns", mx: "smtp", out: "outbound" };
  const folders = { front: await temporaryFolder(t), mx: await temporaryFolder(t), out: await temporaryFolder(t) };
  const start = (name: keyof typeof roles) =>
    spawnServe(t, {
      env,
      dataDirectory: folders[name],
      args: ["--roles", roles[name], "--port", name === "front" ? String(http) : "0", "--smtp-port", String(smtp)],
    });
  const running: Record<string, ServeProcess> = { front: await start("front") };
  const api = createApi(running["front"]!.ready, TOKEN);
  await setUp(api);
  [running["mx"], running["out"]] = await Promise.all([start("mx"), start("out")]);

  const senders = startSenders({
    port: smtp,
    domain: SENDERS,
    recipients: ["forward@example.com", "keep@example.com", "gone@example.com"],
    clients,
  });
  const kills: Ledger["kills"] = { front: 0, mx: 0, out: 0 };
  const names = Object.keys(roles) as (keyof typeof roles)[];
  for (let turn = 0; turn < rounds * names.length; turn++) {
    await sleep(betweenMs);
    const name = names[turn % names.length]!;
    running[name]!.child.kill("SIGKILL");
    await running[name]!.exited;
    kills[name]!++;
    running[name] = await start(name);
  }
  await senders.stop();

  const kept = new Set<string>();
  const missing = () => senders.acknowledged.filter(({ number, to }) => !arrived(number, to));
  function arrived(number: string, to: string): boolean {
    if (to.startsWith("keep@")) return kept.has(number);
    return sink.delivered.has(`${number} there@example.net`) || (to.startsWith("gone@") && sink.bounced.has(number));
  }
  for (const until = Date.now() + settleMs; Date.now() < until; await sleep(250)) {
    const { body } = await sendHttpRequest(running["front"]!.ready, "/", { host: "keeper.main.localhost" });
    for (const number of JSON.parse(body) as string[]) kept.add(number);
    if (missing().length === 0) break;
  }
  const twice = [...sink.delivered.values()].reduce((sum, times) => sum + times - 1, 0);
  return {
    acknowledged: senders.acknowledged.length,
    unacknowledged: senders.unacknowledged.length,
    kills,
    delivered: sink.delivered.size,
    kept: kept.size,
    bounced: sink.bounced.size,
    lost: missing(),
    duplicates: twice,
  };
}

async function setUp(api: Api): Promise<void> {
  const zone = async (name: string): Promise<string> =>
    (await api.ok("post", "/zones", { body: { name, account: { id: api.account } } })).id;
  const senders = await zone(SENDERS);
  await api.ok("post", `/zones/${senders}/dns_records`, {
    body: { type: "TXT", name: SENDERS, content: '"v=spf1 ip4:127.0.0.1 -all"', ttl: 300 },
  });
  const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "ids" } });
  await api.deploy("keeper", ID_STORE_WORKER, {
    bindings: [{ type: "kv_namespace", name: "IDS", namespace_id: namespace }],
  });
  const routed = await zone("example.com");
  await api.ok("post", `/zones/${routed}/email/routing/dns`, { body: {} });
  for (const email of ["there@example.net", "gone@example.net"]) {
    const { id } = await api.ok("post", "email/routing/addresses", { body: { email } });
    await api.ok("patch", `email/routing/addresses/${id}`, { body: { status: "verified" } });
  }
  for (const [local, type, value] of [
    ["forward", "forward", "there@example.net"],
    ["gone", "forward", "gone@example.net"],
    ["keep", "worker", "keeper"],
  ]) {
    const rule = {
      matchers: [{ type: "literal", field: "to", value: `${local}@example.com` }],
      actions: [{ type, value: [value] }],
    };
    assert.equal((await api.ok("post", `/zones/${routed}/email/routing/rules`, { body: rule })).enabled, true);
  }
}
