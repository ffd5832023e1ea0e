import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { findPostgres } from "../../scripts/system.ts";
import { freePort } from "./free-ports.ts";

/**
 * A private PostgreSQL server with fsync enabled, on a free loopback port, stopped with the process that started it.
 */
export interface Cluster {
  /** Superuser URL of the maintenance database. */
  readonly url: string;
  /** Creates a database, either empty or as a copy of a template. */
  createDatabase(template?: string): Promise<string>;
  /**
   * Name of a template that `fill` prepares once for all test files. Undefined on a server that does not belong to this
   * test run.
   */
  template?(key: string, fill: (url: string) => Promise<void>): Promise<string>;
  dropDatabase(url: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * scripts/test.ts starts one cluster for all test files and passes its URL in this variable. A user's own server also
 * works.
 */
export const SHARED_CLUSTER = "REELPOST_TEST_POSTGRES";

/** Set with SHARED_CLUSTER if the test run owns the cluster, whose templates are removed with it. */
export const SHARED_TEMPLATES = "REELPOST_TEST_POSTGRES_TEMPLATES";

/** Starts the shared cluster, or a private one; undefined if PostgreSQL is not installed. */
export async function startCluster(): Promise<Cluster | undefined> {
  const shared = process.env[SHARED_CLUSTER];
  if (shared) {
    const { template, ...databases } = databasesOf(shared);
    const owned = process.env[SHARED_TEMPLATES] === "1";
    return { ...databases, ...(owned && { template }), url: shared, stop: async () => {} };
  }
  const binaries = findPostgres();
  return binaries ? startPrivateCluster(binaries) : undefined;
}

export const isPostgresAvailable = (): boolean => Boolean(process.env[SHARED_CLUSTER]) || findPostgres() !== undefined;

export async function startPrivateCluster(binaries: string): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-postgres-"));
  try {
    const user = userFor(folder);
    const password = randomBytes(12).toString("hex");
    createDatabaseCluster(binaries, folder, user, password);
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      const guard = startServer(binaries, folder, user, port);
      const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
      const problem = await waitForConnection(url, guard);
      if (!problem) return { ...databasesOf(url), url, stop: () => stopServer(guard) };
      const log = readFileSync(join(folder, "log"), "utf8");
      await stopServer(guard, { keepFolder: true });
      // Another process may take the port before the start.
      if (attempt === 3 || !/could not (bind|create any)/.test(log))
        throw new Error(`PostgreSQL did not start: ${problem}\n${log}`);
    }
  } catch (err) {
    rmSync(folder, { recursive: true, force: true });
    throw err;
  }
}

export interface User {
  uid?: number;
  gid?: number;
}

/** Returns the user that runs the server, and makes it the owner of `folder`. initdb refuses to run as root. */
export function userFor(folder: string): User {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync("/etc/passwd", "utf8");
  const entry = /^postgres:[^:]*:(\d+):(\d+):/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+):/m.exec(users);
  if (!entry) throw new Error("PostgreSQL refuses to run as root, and there is no user postgres or nobody: create one");
  const user = { uid: Number(entry[1]), gid: Number(entry[2]) };
  chownSync(folder, user.uid, user.gid);
  return user;
}

/** Runs initdb. */
export function createDatabaseCluster(binaries: string, folder: string, user: User, password: string) {
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined) chownSync(passwordFile, user.uid, user.gid!);
  const fixed = [
    "-D",
    join(folder, "data"),
    "-U",
    "postgres",
    "-E",
    "UTF8",
    "--locale=C.UTF-8",
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile}`,
    "--no-sync",
  ];
  // An ICU locale sorts text by language rules, as production servers do, which exposes code that relies on byte order.
  // Versions before 15 do not support it for the whole cluster.
  const attempts = [["--locale-provider=icu", "--icu-locale=en-US"], []].map(
    (locale) => () =>
      spawnSync(join(binaries, "initdb"), [...fixed, ...locale], { ...user, cwd: folder, encoding: "utf8" }),
  );
  let result = attempts[0]!();
  if (result.status !== 0) result = attempts[1]!();
  rmSync(passwordFile);
  if (result.status !== 0) throw new Error(`initdb failed: ${result.error?.message ?? result.stderr}`);
}

// The guard briefly outlives this process: when its stdin closes, regardless of how this process ends, it stops the
// server and removes the directory.
const GUARD = `
"$1/postgres" -D "$2/data" -p "$3" -k "$2" >"$2/log" 2>&1 </dev/null &
server=$!
read -r order
kill -INT $server 2>/dev/null
wait $server
test "$order" = keep || rm -rf "$2"
`;

const SETTINGS = `
listen_addresses = '127.0.0.1'
max_connections = 200
shared_buffers = 32MB
fsync = on
synchronous_commit = on
# Statistics that appear in the middle of a test would change query plans.
autovacuum = off
max_wal_size = 256MB
`;

export function startServer(
  binaries: string,
  folder: string,
  user: User,
  port: number,
  settingLines = "",
): ChildProcess {
  const settings = join(folder, "data", "postgresql.auto.conf");
  writeFileSync(settings, SETTINGS + settingLines);
  chmodSync(settings, 0o644);
  // Detached: Ctrl-C only reaches this process, and the guard cleans up when this process ends.
  const script = ["-c", GUARD, "guard", binaries, folder, String(port)];
  const guard = spawn("/bin/sh", script, { ...user, cwd: folder, stdio: ["pipe", "ignore", "ignore"], detached: true });
  guard.unref();
  guard.stdin.on("error", () => {});
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}

/** Stops the server through its guard, which removes the folder unless `keepFolder` is set. */
export async function stopServer(guard: ChildProcess, { keepFolder = false } = {}): Promise<void> {
  if (guard.exitCode !== null || guard.signalCode !== null) return;
  guard.ref();
  const ended = new Promise((resolve) => guard.once("exit", resolve));
  guard.stdin!.end(keepFolder ? "keep\n" : "stop\n");
  await ended;
}

/** Connects repeatedly for up to 60 s. Resolves with the last error, or with undefined once a connection succeeds. */
export async function waitForConnection(url: string, guard: ChildProcess): Promise<string | undefined> {
  for (const deadline = Date.now() + 60_000; ; await sleep(20)) {
    const problem = await withClient(url, async () => undefined).catch((err: unknown) => String(err));
    if (!problem || Date.now() > deadline || guard.exitCode !== null) return problem;
  }
}

function databasesOf(url: string): Required<Pick<Cluster, "createDatabase" | "dropDatabase" | "template">> {
  const urlOf = (name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;

  async function createDatabase(template?: string): Promise<string> {
    const name = `t_${randomBytes(8).toString("hex")}`;
    await withClient(url, async (client) => {
      if (template === undefined) return client.query(`create database ${name}`);
      // By default, PostgreSQL 15 and later writes every page of the copy to its log, which takes twice as much
      // processor time.
      const { rows } = await client.query("select current_setting('server_version_num')::int >= 150000 as selectable");
      const strategy = (rows as { selectable: boolean }[])[0]!.selectable ? " strategy file_copy" : "";
      return client.query(`create database ${name} template ${template}${strategy}`);
    });
    return urlOf(name);
  }

  return {
    createDatabase,
    async template(key, fill) {
      const name = `template_${key}`;
      await withClient(url, async (client) => {
        // Another test file may need the same template at the same time. The lock is released with the connection.
        await client.query("select pg_advisory_lock(hashtext($1))", [name]);
        const { rowCount } = await client.query("select from pg_database where datname = $1", [name]);
        if (rowCount === 1) return;
        const draft = await createDatabase();
        await fill(draft);
        await client.query(`alter database ${new URL(draft).pathname.slice(1)} rename to ${name}`);
      });
      return name;
    },
    async dropDatabase(database) {
      await withClient(url, (client) =>
        client.query(`drop database if exists ${new URL(database).pathname.slice(1)} with (force)`),
      );
    },
  };
}

export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 30_000 });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
