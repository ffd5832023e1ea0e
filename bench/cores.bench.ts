import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { openPostgres } from "../src/store/index.ts";
import { startCluster, type Cluster } from "../test/support/postgres.ts";
import type { Arm, Bench, Kit } from "./harness/bench.ts";
import { createClient, throughput } from "./harness/load.ts";
import { startServerProcess } from "./harness/server-process.ts";
import { createDrain } from "./segment-serve/drain.ts";
import { makeLibrary, type Library } from "./segment-serve/library.ts";
import { sendAll } from "./smtp-accept/source.ts";

const main = join(import.meta.dirname, "..", "src", "cli", "main.ts");
const SAMPLE_MS = 3000;
const MESSAGES = 1000;
const SESSIONS = 20;
/** Enough that each process has a share, although a process may accept several connections that arrive together. */
const CONNECTIONS = 32;
const RECORDS = 100;
const DOMAIN = "bench.example";

/**
 * Throughput of `reelpost serve --processes 2` over that of one process, both on PostgreSQL, on a machine with two
 * cores: messages that a rule drops, API requests that read a page of records from the database, and video segments.
 * PostgreSQL and the load run on the same cores: `load_cores` is the CPU time of the load generator of the API per
 * second, of the samples with two processes.
 */
const bench: Bench = {
  name: "cores",
  async setup(kit) {
    const cluster = await startCluster();
    if (cluster === undefined)
      throw new Error("PostgreSQL is not installed. To install it, run: node scripts/system.ts test");
    kit.onStop(() => cluster.stop());
    const one = await startServer(kit, cluster, 1);
    const two = await startServer(kit, cluster, 2);
    const loads: number[] = [];
    return {
      peers: {},
      arms: [one, two].flatMap((server) => [
        smtpArm(server),
        apiArm(kit, server, server === two ? loads : []),
        segmentsArm(kit, server),
      ]),
      figures: (of) => ({
        smtp_ratio: of("smtp, processes: 2") / of("smtp, processes: 1"),
        api_ratio: of("api, processes: 2") / of("api, processes: 1"),
        segments_ratio: of("segments, processes: 2") / of("segments, processes: 1"),
        // The values behind the ratios.
        messages_per_second: of("smtp, processes: 2"),
        requests_per_second: of("api, processes: 2"),
        segment_mb_per_second: of("segments, processes: 2"),
        load_cores: loads.at(-1) ?? 0,
      }),
    };
  },
};
export default bench;

interface Server {
  processes: number;
  url: string;
  smtpPort: number;
  token: string;
  zone: string;
  library: Library;
}

async function startServer(kit: Kit, cluster: Cluster, processes: number): Promise<Server> {
  const cwd = join(kit.dir, `processes-${processes}`);
  const database = await cluster.createDatabase();
  const library = await makeLibrary(cwd, await openPostgres({ url: database }));
  let smtpPort = 0;
  const server = await startServerProcess({
    name: `reelpost serve --processes ${processes}`,
    cwd,
    args: [
      main,
      "serve",
      "--json",
      "--data-dir",
      cwd,
      "--port",
      "0",
      "--smtp-port",
      "0",
      "--log-level",
      "warn",
      "--processes",
      String(processes),
    ],
    env: {
      REELPOST_DATABASE_URL: database,
      REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
      REELPOST_API_RATE_LIMIT: "1000000000",
      REELPOST_AUTHENTICATION_ENABLED: "false",
    },
    ready(line) {
      const event = JSON.parse(line) as { event?: string; url: string; smtp: { port: number } };
      if (event.event !== "ready") return undefined;
      smtpPort = event.smtp.port;
      return event.url;
    },
    readyTimeoutMs: 120_000,
  });
  kit.onStop(server.stop);
  const { account, token } = library;

  async function call(method: string, path: string, body: unknown): Promise<{ id: string }> {
    const response = await fetch(`${server.url}/client/v4${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const { success, result } = (await response.json()) as { success: boolean; result: { id: string } };
    if (!success) throw new Error(`${method} ${path} returned ${response.status}`);
    return result;
  }

  const { id: zone } = await call("POST", "/zones", { name: DOMAIN, account: { id: account } });
  await call("POST", `/zones/${zone}/email/routing/enable`, {});
  await call("PUT", `/zones/${zone}/email/routing/rules/catch_all`, {
    enabled: true,
    matchers: [{ type: "all" }],
    actions: [{ type: "drop" }],
  });
  for (let n = 0; n < RECORDS; n++)
    await call("POST", `/zones/${zone}/dns_records`, { type: "A", name: `h${n}`, content: "192.0.2.1", ttl: 300 });
  return { processes, url: server.url, smtpPort, token, zone, library };
}

const smtpArm = ({ processes, smtpPort }: Server): Arm => ({
  name: `smtp, processes: ${processes}`,
  unit: "msg/s",
  async sample() {
    const ms = await sendAll({
      port: smtpPort,
      from: "somebody@sender.example",
      to: `info@${DOMAIN}`,
      messages: MESSAGES,
      sessions: SESSIONS,
      content: { size: 10_000 },
    });
    return (MESSAGES / ms) * 1000;
  },
});

function apiArm(kit: Kit, { processes, url, token, zone }: Server, loads: number[]): Arm {
  const client = createClient(url, { authorization: `Bearer ${token}` });
  kit.onStop(client.close);
  let next = 0;
  return {
    name: `api, processes: ${processes}`,
    unit: "requests/s",
    async sample() {
      const cpuBefore = process.cpuUsage();
      const started = performance.now();
      const rate = await throughput(
        async () => {
          // A different parameter in each request, so that none is answered from memory.
          const { status } = await client.get(`/client/v4/zones/${zone}/dns_records?per_page=${RECORDS}&_=${next++}`);
          if (status !== 200) throw new Error(`the API returned ${status}`);
        },
        { concurrency: CONNECTIONS, forMs: SAMPLE_MS },
      );
      const { user, system } = process.cpuUsage(cpuBefore);
      loads.push((user + system) / 1000 / (performance.now() - started));
      return rate;
    },
  };
}

function segmentsArm(kit: Kit, { processes, url, library: { segments } }: Server): Arm {
  const drain = createDrain(url);
  kit.onStop(() => drain.close());
  return {
    name: `segments, processes: ${processes}`,
    unit: "MB/s",
    async sample() {
      let [octets, next] = [0, 0];
      const started = performance.now();
      await throughput(
        async () => {
          const segment = segments[next++ % segments.length]!;
          const size = await drain.get(segment.address);
          if (size !== segment.size) throw new Error(`a segment of ${segment.size} octets has ${size}`);
          octets += size;
        },
        { concurrency: CONNECTIONS, forMs: SAMPLE_MS },
      );
      return octets / 1000 / (performance.now() - started);
    },
  };
}
