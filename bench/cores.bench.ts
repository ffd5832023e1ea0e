import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { openPostgres } from "../src/store/index.ts";
import { startCluster, type Cluster } from "../test/support/postgres.ts";
import type { Arm, Bench, BenchContext } from "./harness/bench.ts";
import { createClient, throughput } from "./harness/load.ts";
import { startServerProcess } from "./harness/server-process.ts";
import { createDrain } from "./segment-serve/drain.ts";
import { createLibrary, type Library } from "./segment-serve/library.ts";
import { sendAll } from "./smtp-accept/source.ts";

const main = join(import.meta.dirname, "..", "src", "cli", "main.ts");
const SAMPLE_MS = 3000;
const MESSAGES = 1000;
const SESSIONS = 20;
/** Enough for every process to get some connections: a process may accept several that arrive at the same time. */
const CONNECTIONS = 32;
const RECORDS = 100;
const DOMAIN = "bench.example";
const ENGINES = ["postgres", "sqlite"] as const;

/**
 * Throughput of `reelpost serve --processes 2` over that of one process, on PostgreSQL and on SQLite, on a machine with
 * two cores: messages that a rule drops, API requests that read a page of records from the database, and video
 * segments. PostgreSQL and the load run on the same cores: `load_cores` is the CPU time per second that the API's load
 * generator uses in the samples with two processes on PostgreSQL.
 */
const bench: Bench = {
  name: "cores",
  async setup(kit) {
    const cluster = await startCluster();
    if (cluster === undefined)
      throw new Error("PostgreSQL is not installed. To install it, run: node scripts/system.ts test");
    kit.onStop(() => cluster.stop());
    const servers: Server[] = [];
    for (const engine of ENGINES)
      for (const processes of [1, 2]) servers.push(await startServer(kit, { engine, cluster, processes }));
    const loads: number[] = [];
    return {
      peers: {},
      arms: servers.flatMap((server) => [
        smtpArm(server),
        apiArm(kit, server, server.name === "postgres, processes: 2" ? loads : []),
        segmentsArm(kit, server),
      ]),
      figures(of) {
        const ratio = (load: string, engine: string) =>
          of(`${load}, ${engine}, processes: 2`) / of(`${load}, ${engine}, processes: 1`);
        return {
          smtp_ratio: ratio("smtp", "postgres"),
          api_ratio: ratio("api", "postgres"),
          segments_ratio: ratio("segments", "postgres"),
          sqlite_smtp_ratio: ratio("smtp", "sqlite"),
          sqlite_api_ratio: ratio("api", "sqlite"),
          sqlite_segments_ratio: ratio("segments", "sqlite"),
          // The values behind the ratios.
          messages_per_second: of("smtp, postgres, processes: 2"),
          requests_per_second: of("api, postgres, processes: 2"),
          segment_mb_per_second: of("segments, postgres, processes: 2"),
          load_cores: loads.at(-1) ?? 0,
        };
      },
    };
  },
};
export default bench;

interface Server {
  /** Engine and number of processes. */
  name: string;
  url: string;
  smtpPort: number;
  token: string;
  zone: string;
  library: Library;
}

interface ServerOptions {
  engine: (typeof ENGINES)[number];
  cluster: Cluster;
  processes: number;
}

async function startServer(kit: BenchContext, { engine, cluster, processes }: ServerOptions): Promise<Server> {
  const cwd = join(kit.dir, `${engine}-${processes}`);
  const database = engine === "postgres" ? await cluster.createDatabase() : undefined;
  const library = await createLibrary(cwd, database === undefined ? undefined : await openPostgres({ url: database }));
  let smtpPort = 0;
  const server = await startServerProcess({
    name: `reelpost serve --processes ${processes} on ${engine}`,
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
      ...(database !== undefined && { REELPOST_DATABASE_URL: database }),
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
  return { name: `${engine}, processes: ${processes}`, url: server.url, smtpPort, token, zone, library };
}

const smtpArm = ({ name, smtpPort }: Server): Arm => ({
  name: `smtp, ${name}`,
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

function apiArm(kit: BenchContext, { name: server, url, token, zone }: Server, loads: number[]): Arm {
  const client = createClient(url, { authorization: `Bearer ${token}` });
  kit.onStop(client.close);
  let next = 0;
  return {
    name: `api, ${server}`,
    unit: "requests/s",
    async sample() {
      const cpuBefore = process.cpuUsage();
      const started = performance.now();
      const rate = await throughput(
        async () => {
          // The parameter differs in each request, so that no response comes from a cache.
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

function segmentsArm(kit: BenchContext, { name, url, library: { segments } }: Server): Arm {
  const drain = createDrain(url);
  kit.onStop(() => drain.close());
  return {
    name: `segments, ${name}`,
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
