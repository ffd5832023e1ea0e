import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { createTransport } from "nodemailer";
import { freePort, FREE_PORTS } from "../test/support/free-ports.ts";
import { clip } from "../test/support/media.ts";
import { startCluster } from "../test/support/postgres.ts";
import type { Drill, DrillContext } from "./harness/drill.ts";
import { startBalancer, type Backend, type Balancer } from "./upgrade/balancer.ts";
import { addMigration, checkOutCommit, supportsDraining, previousCommit } from "./upgrade/versions.ts";

const NODES = 3;
const DOMAIN = "drill.example";
const PAUSE_MS = 25;
/** Duration of the load on the new version alone, at the end. */
const LAST_MS = 3_000;

interface Node extends Backend {
  number: number;
  process?: ChildProcess;
}

interface Platform {
  env: Record<string, string>;
  dir: string;
  token: string;
}

/**
 * Upgrades three nodes behind a load balancer one at a time, while clients write and read through the API, send mail
 * and play a video. The new version has an additional migration, and a node of the previous version restarts on its
 * schema. Counts all requests and those that failed.
 */
const drill: Drill = {
  name: "upgrade",
  async run(kit) {
    const from = kit.only[0] ?? previousCommit(kit.root);
    const previous = checkOutCommit(kit.root, from, join(kit.dir, "previous"));
    const next = checkOutCommit(kit.root, "HEAD", join(kit.dir, "next"));
    addMigration(join(kit.dir, "next"));
    const drains = [join(kit.dir, "previous"), join(kit.dir, "next")].every(supportsDraining);
    const cluster = await startCluster();
    if (cluster === undefined) throw new Error("PostgreSQL is not installed");
    kit.onStop(() => cluster.stop());
    const token = randomBytes(24).toString("hex");
    const platform: Platform = {
      dir: kit.dir,
      token,
      env: {
        REELPOST_DATABASE_URL: await cluster.createDatabase(),
        REELPOST_OBJECTS_DIR: join(kit.dir, "objects"),
        REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
        REELPOST_API_TOKEN: token,
        REELPOST_API_RATE_LIMIT: "0",
        REELPOST_DNS_RESOLVERS: "127.0.0.1:9",
        ...(drains && { REELPOST_CLUSTER_LISTEN: "127.0.0.1:0" }),
        REELPOST_OUTBOUND_FORWARD: "queue",
        REELPOST_OUTBOUND_DELIVER: "smart_host",
        REELPOST_OUTBOUND_SMART_HOSTS: "smtp://127.0.0.1:1",
      },
    };
    const nodes: Node[] = [];
    for (let number = 1; number <= NODES; number++)
      nodes.push({ number, httpPort: await freePort(), smtpPort: await freePort() });
    for (const node of nodes) await start(kit, node, previous, platform);
    const balancer = await startBalancer(nodes);
    kit.onStop(() => balancer.close());
    await Promise.all(nodes.map((node) => balancer.until(node, true)));
    kit.say(`${NODES} nodes of ${from} are ready`);

    const load = await startLoad(balancer, token);
    const restartMs: number[] = [];
    const replace = async (node: Node, main: string) => {
      const startedAt = performance.now();
      // Without draining, the operator must remove the node from the load balancer before it stops.
      if (!drains) balancer.remove(node);
      await stop(node);
      await start(kit, node, main, platform);
      await balancer.until(node, true);
      restartMs.push(performance.now() - startedAt);
      kit.say(`node ${node.number} restarted; ${load.requests()} requests, ${load.failures.length} failed`);
    };
    await replace(nodes[0]!, next);
    // A node may restart with the previous version, for example after a crash during the upgrade.
    await replace(nodes[1]!, previous);
    for (const node of nodes.slice(1)) await replace(node, next);
    await sleep(LAST_MS);
    const counts = await load.stop();
    for (const node of nodes) await stop(node);
    const requests = load.requests();
    return {
      summary: {
        drill: "upgrade",
        from,
        figures: { requests, failed: load.failures.length },
        requests_by_kind: counts,
        drained_by: drains ? "node" : "balancer",
        restarts: restartMs.length,
        longest_restart_s: Math.round(Math.max(...restartMs) / 100) / 10,
        examples: load.failures.slice(0, 5),
      },
      ok: load.failures.length === 0 && Object.values(counts).every((count) => count > 0),
    };
  },
};
export default drill;

async function start(kit: DrillContext, node: Node, main: string, { env, dir }: Platform): Promise<void> {
  const dataDirectory = join(dir, `node-${node.number}`);
  mkdirSync(dataDirectory, { recursive: true });
  const ports = ["--port", String(node.httpPort), "--smtp-port", String(node.smtpPort)];
  const child = spawn(
    process.execPath,
    [main, "serve", "--json", "--data-dir", dataDirectory, ...ports, "--log-level", "error"],
    {
      cwd: dataDirectory,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", ...FREE_PORTS, ...env },
    },
  );
  node.process = child;
  kit.onStop(() => void child.kill("SIGKILL"));
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-4000)));
  const lines = createInterface({ input: child.stdout });
  const exited = once(child, "exit").then(() => {
    throw new Error(`node ${node.number} did not start: ${errors}`);
  });
  await Promise.race([once(lines, "line"), exited]);
  exited.catch(() => {});
}

async function stop({ process: child }: Node): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

interface Answer {
  status: number;
  body: Buffer;
}

async function startLoad(balancer: Balancer, token: string) {
  const failures: string[] = [];
  const counts: Record<string, number> = {};
  const stopping = new AbortController();

  /** Uses one connection per request, because a load balancer has many clients. */
  const send = (method: string, path: string, body?: string | Buffer, type = "application/json"): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": type }) };
      const outgoing = request(
        { method, path, port: balancer.httpPort, host: "127.0.0.1", agent: false, headers, timeout: 30_000 },
        (response) => {
          const chunks: Buffer[] = [];
          response
            .on("data", (chunk: Buffer) => chunks.push(chunk))
            .on("error", reject)
            .on("end", () => resolve({ status: response.statusCode!, body: Buffer.concat(chunks) }));
        },
      );
      outgoing.on("error", reject).on("timeout", () => outgoing.destroy(new Error("no answer within 30 s")));
      outgoing.end(body);
    });
  const ok = async (...args: Parameters<typeof send>): Promise<Buffer> => {
    const { status, body } = await send(...args);
    if (status >= 300) throw new Error(`${args[0]} ${args[1]}: ${status} ${body.toString().slice(0, 300)}`);
    return body;
  };
  // oxlint-disable-next-line no-explicit-any
  const call = async (method: string, path: string, body?: unknown): Promise<any> =>
    JSON.parse(
      (await ok(method, `/client/v4${path}`, body === undefined ? undefined : JSON.stringify(body))).toString(),
    ).result;

  const [{ id: account }] = await call("GET", "/accounts");
  const { id: zone } = await call("POST", "/zones", { name: DOMAIN, account: { id: account } });
  await call("POST", `/zones/${zone}/email/routing/enable`, {});
  const to = "reader@sink.example";
  const address = await call("POST", `/accounts/${account}/email/routing/addresses`, { email: to });
  await call("PATCH", `/accounts/${account}/email/routing/addresses/${address.id}`, { status: "verified" });
  await call("PUT", `/zones/${zone}/email/routing/rules/catch_all`, {
    enabled: true,
    matchers: [{ type: "all" }],
    actions: [{ type: "forward", value: [to] }],
  });
  const { id: kv } = await call("POST", `/accounts/${account}/storage/kv/namespaces`, { title: "drill" });
  const video = await upload();
  const smtp = createTransport({ host: "127.0.0.1", port: balancer.smtpPort, ignoreTLS: true });

  async function upload(): Promise<string> {
    const form = new FormData();
    form.set("file", new File([new Uint8Array(readFileSync(await clip()))], "clip.mp4"));
    const encoded = new Response(form);
    const body = Buffer.from(await encoded.arrayBuffer());
    const type = encoded.headers.get("content-type")!;
    const answer = await ok("POST", `/client/v4/accounts/${account}/stream`, body, type);
    const { uid } = (JSON.parse(answer.toString()) as { result: { uid: string } }).result;
    while (!(await call("GET", `/accounts/${account}/stream/${uid}`)).readyToStream) await sleep(100);
    return uid;
  }

  const uri = (playlist: Buffer) =>
    playlist
      .toString()
      .split("\n")
      .find((line) => line !== "" && !line.startsWith("#"))!;
  const resolvePath = (path: string, base: string) => new URL(path, `http://balancer${base}`).pathname;
  const lane = async (kind: string, work: (n: number) => Promise<unknown>) => {
    counts[kind] = 0;
    for (let n = 0; !stopping.signal.aborted; n++) {
      try {
        await work(n);
      } catch (err) {
        failures.push(`${kind}: ${err instanceof Error ? err.message : String(err)}`);
      }
      counts[kind]!++;
      await sleep(PAUSE_MS);
    }
  };
  const lanes = [
    lane("api_write", (n) =>
      call("POST", `/zones/${zone}/dns_records`, { type: "TXT", name: `t${n}.${DOMAIN}`, content: `"${n}"`, ttl: 300 }),
    ),
    lane("api_read", () => call("GET", `/zones/${zone}`)),
    lane("kv", async (n) => {
      const path = `/client/v4/accounts/${account}/storage/kv/namespaces/${kv}/values/key-${n}`;
      await ok("PUT", path, `value ${n}`, "text/plain");
      const found = await ok("GET", path);
      if (found.toString() !== `value ${n}`) throw new Error(`key-${n} has the value ${found.toString()}`);
    }),
    lane("mail", (n) =>
      smtp.sendMail({
        envelope: { from: "a@sender.example", to: `info@${DOMAIN}` },
        raw: `From: a@sender.example\r\nTo: info@${DOMAIN}\r\nSubject: message-${n}\r\n\r\nbody\r\n`,
      }),
    ),
    lane("playback", async () => {
      const main = `/${video}/manifest/video.m3u8`;
      const rendition = resolvePath(uri(await ok("GET", main)), main);
      await ok("GET", resolvePath(uri(await ok("GET", rendition)), rendition));
    }),
  ];
  return {
    failures,
    requests: () => Object.values(counts).reduce((sum, count) => sum + count, 0),
    async stop() {
      stopping.abort();
      await Promise.all(lanes);
      smtp.close();
      return counts;
    },
  };
}
