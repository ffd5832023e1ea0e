import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isProgram } from "../../scripts/system.ts";
import { freePort } from "./free-ports.ts";
import { userFor, waitForConnection } from "./postgres.ts";

interface Scope {
  after(stop: () => Promise<void>): void;
}

export const isPgbouncerAvailable = (): boolean => isProgram("pgbouncer");

/**
 * Starts PgBouncer in session mode in front of the server at `url`. Resolves with the URL of the same database through
 * PgBouncer.
 */
export async function startPgbouncer(scope: Scope, url: string): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const folder = mkdtempSync(join(tmpdir(), "reelpost-pgbouncer-"));
  const user = userFor(folder);
  const ownPort = await freePort();
  const settings = join(folder, "pgbouncer.ini");
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 10
`,
  );
  if (user.uid !== undefined) chownSync(settings, user.uid, user.gid!);
  const child = spawn("pgbouncer", [settings], {
    ...user,
    cwd: folder,
    stdio: "ignore",
    env: { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin` },
  });
  scope.after(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true, force: true });
  });
  const own = `postgres://pooled@127.0.0.1:${ownPort}${pathname}`;
  const problem = await waitForConnection(own, child);
  if (problem) throw new Error(`PgBouncer did not start: ${problem}`);
  return own;
}
