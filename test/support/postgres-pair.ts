import { spawnSync, type ChildProcess } from "node:child_process";
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findPostgres } from "../../scripts/system.ts";
import { freePort } from "./free-ports.ts";
import {
  createDatabaseCluster,
  startServer,
  stopServer,
  userFor,
  waitForConnection,
  withClient,
  type User,
} from "./postgres.ts";

interface Scope {
  after(stop: () => Promise<void>): void;
}

/** One server of a database cluster, with its own folder and port. */
interface PostgresServer {
  readonly port: number;
  /** Runs one statement as superuser. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Sends SIGKILL to all of its processes. */
  kill(): Promise<void>;
  /** Sends SIGSTOP to all of its processes: connections stay open without responses. */
  freeze(): void;
  /** Starts the server again after `kill` or a stop. `settings` are lines of postgresql.conf. */
  start(settings?: string): Promise<void>;
  promote(): Promise<void>;
}

interface PostgresPair {
  primary: PostgresServer;
  standby: PostgresServer;
  /** Returns a connection string with both servers, the primary first. */
  urlOf(database?: string): string;
  /**
   * Kills the primary and promotes the standby. Then the old primary becomes the synchronous standby of the new one.
   */
  failOver(): Promise<void>;
}

const PASSWORD = "pair";
const DATABASE = "pair";

/** Starts a primary with the database `pair`, and a standby that confirms every commit of the primary. */
export async function startPostgresPair(scope: Scope): Promise<PostgresPair> {
  const binaries = findPostgres();
  if (binaries === undefined) throw new Error("PostgreSQL is not installed");
  const primary = await createServer(scope, binaries);
  createDatabaseCluster(binaries, primary.folder, primary.user, PASSWORD);
  await primary.start();
  await primary.query(`create database ${DATABASE}`);
  const standby = await createServer(scope, binaries);
  copyPrimary(binaries, primary.port, standby);
  await standby.start();
  await primary.query("alter system set synchronous_standby_names = '*'");
  await primary.query("select pg_reload_conf()");
  while ((await primary.query("select 1 from pg_stat_replication where sync_state = 'sync'")).length === 0)
    await sleep(20);
  return {
    primary,
    standby,
    urlOf: (database = DATABASE) =>
      `postgres://postgres:${PASSWORD}@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/${database}?target_session_attrs=read-write`,
    async failOver() {
      // The promoted server must not confirm a commit without a standby.
      await standby.query("alter system set synchronous_standby_names = '*'");
      await standby.query("select pg_reload_conf()");
      await primary.kill();
      await standby.promote();
      rmSync(join(primary.folder, "data"), { recursive: true, force: true, maxRetries: 5 });
      copyPrimary(binaries, standby.port, primary);
      await primary.start();
    },
  };
}

function copyPrimary(binaries: string, port: number, { folder, user }: { folder: string; user: User }) {
  const copied = spawnSync(
    join(binaries, "pg_basebackup"),
    ["-h", "127.0.0.1", "-p", String(port), "-U", "postgres", "-D", join(folder, "data"), "-X", "stream", "-c", "fast"],
    { ...user, cwd: folder, encoding: "utf8", env: { ...process.env, PGPASSWORD: PASSWORD } },
  );
  if (copied.status !== 0) throw new Error(`pg_basebackup failed: ${copied.error?.message ?? copied.stderr}`);
  const signal = join(folder, "data", "standby.signal");
  writeFileSync(signal, "");
  if (user.uid !== undefined) chownSync(signal, user.uid, user.gid!);
  standbySettings.set(folder, `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres password=${PASSWORD}'\n`);
}

const standbySettings = new Map<string, string>();

async function createServer(scope: Scope, binaries: string) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-postgres-pair-"));
  const user = userFor(folder);
  const port = await freePort();
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  let guard: ChildProcess | undefined;

  /** Stops the postmaster, which would replace or add children, and returns the ids of all processes. */
  const frozenProcesses = () => {
    const postmaster = Number(readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
    tryKill(postmaster, "SIGSTOP");
    return [postmaster, ...childrenOf(postmaster)];
  };
  /** Each child leads its own process group. Returns the ids of the processes. */
  const signalAll = (signal: NodeJS.Signals) => {
    const pids = frozenProcesses();
    for (const pid of pids) tryKill(pid, signal);
    return pids;
  };

  scope.after(async () => {
    signalAllQuietly("SIGKILL");
    if (guard !== undefined) await stopServer(guard);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  function signalAllQuietly(signal: NodeJS.Signals) {
    try {
      signalAll(signal);
    } catch {
      // The process has already ended.
    }
  }

  return {
    folder,
    user,
    port,
    query: (sql: string) => withClient(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows),
    async kill() {
      const pids = signalAll("SIGKILL");
      while (pids.some(isRunning)) await sleep(5);
      await stopServer(guard!, { keepFolder: true });
    },
    freeze: () => void signalAll("SIGSTOP"),
    async start(settings = "") {
      guard = startServer(binaries, folder, user, port, `${standbySettings.get(folder) ?? ""}${settings}\n`);
      const problem = await waitForConnection(url, guard);
      if (problem) throw new Error(`${problem}\n${readFileSync(join(folder, "log"), "utf8")}`);
    },
    async promote() {
      await withClient(url, (client) => client.query("select pg_promote(true, 30)"));
    },
  };
}

function tryKill(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(pid, signal);
  } catch {
    // The server has already stopped.
  }
}

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]) === parent;
      } catch {
        return false;
      }
    });
}
