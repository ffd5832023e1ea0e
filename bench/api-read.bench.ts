import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openPostgres } from "../src/store/index.ts";
import { startCluster } from "../test/support/postgres.ts";
import { fillDataDirectory, type FilledDirectory } from "./api-read/rows.ts";
import type { Arm, Bench, BenchContext } from "./harness/bench.ts";
import { cpuSeconds } from "./harness/cpu-time.ts";
import { createClient, throughput, type LoadClient } from "./harness/load.ts";
import { startServerProcess, type ServerProcess } from "./harness/server-process.ts";

const FEW = 1000;
const MANY = 1_000_000;
const CONCURRENCY = 16;
const SAMPLE_MS = 2000;
/** Enough requests that two slow ones do not determine the 99th percentile. */
const TIMED = 2000;
const main = join(import.meta.dirname, "..", "src", "cli", "main.ts");
const bareServer = join(import.meta.dirname, "api-read", "bare.ts");

/**
 * Reads a page of 20 DNS records and a single record from `reelpost serve` with token, permission and rate limit
 * checks, compared with a bare Hono route that returns the same bytes. Unchanged data is served from memory; the
 * `table` figures are for requests that reach SQLite, and the last ones for a table with a thousand times as many rows.
 * On PostgreSQL every request reaches the database; there, the bare route reads the same rows with pg.
 *
 * Top five of the profile of `get` (`--cpu-prof`, self time), before: writes to sockets 17 %, garbage collection 16 %,
 * routing 1 %, the hash of the token 1 %, SQL statements 0.5 %; the rest was spread over Hono and promises. After repeated
 * reads were answered synchronously: writes to sockets 31 %, garbage collection 5 %, the hash of the token 2 %, the lookup
 * of the cached response 1 %, the rest of the handler 1 %. CPU per request: 80 to 35 µs, next to 32 µs of the bare route.
 * An uncached page of 20 records spends 42 of about 80 µs in SQLite, which needs as long if it builds the JSON. SQLite
 * compiles a statement again when a parameter of LIMIT is bound: a third of such a query, measured alone. With an
 * expression in its place, the ratio of uncached pages rose from 0.15 to 0.21 (one run of five rounds each; other ratios
 * varied by 20 %).
 *
 * CPU time of uncached reads, in interleaved runs of 8 s on an idle machine. Without accessors in the objects of a request,
 * a record takes 171 instead of 201 to 222 us, and a page 325 to 350 instead of 366 to 400 us: V8 allocated the accessors in
 * its old generation, where they kept the request alive, and a collection of the young generation took 10 to 14 ms instead
 * of 1 ms. With ASCII responses written as Latin-1 and a time format that caches the date, a page takes 270 to 340 us. Top
 * five of its profile: the write to the socket 26 %, SQLite 25 %, formatting times 8 % (before it cached the date), parsing
 * the query 5 %, the hash of the token 2 %.
 */
const bench: Bench = {
  name: "api-read",
  async setup(kit) {
    const read = await startOurs(kit, "read", FEW);
    const few = await startOurs(kit, "few", FEW);
    const many = await startOurs(kit, "many", MANY);
    const bare = await startBare(kit, read);
    const postgres = await startOnPostgres(kit);
    return {
      peers: { hono: bare.version },
      arms: [
        ...perCpuArms("reelpost", read),
        ...perCpuArms("reelpost uncached", read, true),
        ...perCpuArms("hono", { ...read, ...bare }),
        ...perCpuArms("reelpost pg", postgres.ours),
        ...perCpuArms("hono pg", postgres.bare),
        ...p99Arms("few rows", few),
        ...p99Arms("many rows", many),
      ],
      figures: (of) => ({
        list_ratio: of("reelpost list") / of("hono list"),
        get_ratio: of("reelpost get") / of("hono get"),
        p99_growth: Math.max(
          of("list p99, many rows") / of("list p99, few rows"),
          of("get p99, many rows") / of("get p99, few rows"),
        ),
        // The values behind the ratios.
        list_table_ratio: of("reelpost uncached list") / of("hono list"),
        get_table_ratio: of("reelpost uncached get") / of("hono get"),
        list_pg_ratio: of("reelpost pg list") / of("hono pg list"),
        get_pg_ratio: of("reelpost pg get") / of("hono pg get"),
        list_per_cpu_second: of("reelpost list"),
        get_per_cpu_second: of("reelpost get"),
        list_p99_growth: of("list p99, many rows") / of("list p99, few rows"),
        get_p99_growth: of("get p99, many rows") / of("get p99, few rows"),
      }),
    };
  },
};
export default bench;

interface Side extends Pick<FilledDirectory, "zone" | "records"> {
  client: LoadClient;
  server: ServerProcess;
}

/** Default database: SQLite in the data directory. */
async function startOurs(kit: BenchContext, name: string, rows: number, database?: string): Promise<Side> {
  const cwd = join(kit.dir, name);
  kit.say(`creating ${rows} records`);
  const { token, zone, records } = await fillDataDirectory(
    cwd,
    rows,
    database === undefined ? undefined : await openPostgres({ url: database }),
  );
  const args = [main, "serve", "--json", "--data-dir", cwd, "--port", "0", "--smtp-port", "0", "--log-level", "warn"];
  // Requests are counted as usual, but the limit is never reached.
  const env = {
    REELPOST_API_RATE_LIMIT: "1000000000",
    ...(database !== undefined && {
      REELPOST_DATABASE_URL: database,
      REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
    }),
  };
  const server = await startServerProcess({
    name: "reelpost serve",
    args,
    cwd,
    env,
    ready: readyUrl,
  });
  kit.onStop(server.stop);
  return { zone, records, server, client: clientOf(kit, server, token) };
}

async function startBare(
  kit: BenchContext,
  { client, zone, records }: Side,
): Promise<Pick<Side, "server" | "client"> & { version: string }> {
  const [list, get] = await Promise.all([client.get(listPath(zone)), client.get(getPath(zone, records[0]!))]);
  const env = { BENCH_ANSWERS: `{"list":${list.body},"get":${get.body}}` };
  const server = await startServerProcess({
    name: "hono",
    args: [bareServer],
    cwd: kit.dir,
    env,
    ready: readyUrl,
  });
  kit.onStop(server.stop);
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dirname, "..", "node_modules", "hono", "package.json"), "utf8"),
  ) as { version: string };
  return { server, version, client: clientOf(kit, server, "nobody") };
}

const readyUrl = (line: string) => (JSON.parse(line) as { url?: string }).url;

/** Both servers on one database. */
async function startOnPostgres(kit: BenchContext): Promise<{ ours: Side; bare: Side }> {
  const cluster = await startCluster();
  if (cluster === undefined)
    throw new Error("PostgreSQL is not installed. To install it, run: node scripts/system.ts test");
  kit.onStop(() => cluster.stop());
  const database = await cluster.createDatabase();
  const ours = await startOurs(kit, "postgres", FEW, database);
  const server = await startServerProcess({
    name: "hono with pg",
    args: [join(import.meta.dirname, "api-read", "bare-pg.ts")],
    cwd: kit.dir,
    env: { BENCH_DATABASE_URL: database },
    ready: readyUrl,
  });
  kit.onStop(server.stop);
  return { ours, bare: { ...ours, server, client: clientOf(kit, server, "nobody") } };
}

function clientOf(kit: BenchContext, { url }: ServerProcess, token: string): LoadClient {
  const client = createClient(url, { authorization: `Bearer ${token}` });
  kit.onStop(client.close);
  return client;
}

const listPath = (zone: string) => `/client/v4/zones/${zone}/dns_records?page=1&per_page=20`;
const getPath = (zone: string, id: string) => `/client/v4/zones/${zone}/dns_records/${id}`;

/** `uncached`: adds a meaningless parameter that makes every request unique, so that none is served from memory. */
function requestsOf({ client, zone, records }: Side, uncached: boolean): Record<"list" | "get", () => Promise<void>> {
  let next = 0;
  const different = (mark: string) => (uncached ? `${mark}_=${next++}` : "");
  const ask = async (path: string) => {
    const { status, body } = await client.get(path);
    if (status !== 200 || !body.startsWith('{"success":true'))
      throw new Error(`GET ${path} returned ${status}: ${body.slice(0, 500)}`);
  };
  return {
    list: () => ask(listPath(zone) + different("&")),
    get: () => ask(getPath(zone, records[next++ % records.length]!) + different("?")),
  };
}

/** Requests per second of the server's own CPU time, independent of other load. */
function perCpuArms(who: string, side: Side, uncached = false): Arm[] {
  return Object.entries(requestsOf(side, uncached)).map(([what, request]) => ({
    name: `${who} ${what}`,
    unit: "requests/CPU-s",
    async sample() {
      const before = cpuSeconds(side.server.pid);
      let count = 0;
      await throughput(
        async () => {
          await request();
          count++;
        },
        { concurrency: CONCURRENCY, forMs: SAMPLE_MS },
      );
      return count / (cpuSeconds(side.server.pid) - before);
    },
  }));
}

/** Sequential requests that are not served from memory: the 99th percentile of their duration. */
function p99Arms(where: string, side: Side): Arm[] {
  return Object.entries(requestsOf(side, true)).map(([what, request]) => ({
    name: `${what} p99, ${where}`,
    unit: "ms",
    async sample() {
      const times: number[] = [];
      for (let count = 0; count < TIMED; count++) {
        const started = performance.now();
        await request();
        times.push(performance.now() - started);
      }
      return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
    },
  }));
}
