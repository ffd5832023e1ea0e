import { execFile, spawn } from "node:child_process";
import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BenchContext } from "../harness/bench.ts";
import { freePort, waitForPort } from "./ports.ts";

const run = promisify(execFile);

interface Postfix {
  version: string;
  port: number;
  /** Process id of the ancestor of all Postfix processes. */
  pid: number;
}

/**
 * Postfix as shipped by Debian, with its defaults, isolated from an installed one: its own configuration, queue and
 * port. It relays mail for `domain` to one server over cached connections, and performs no DNS lookups.
 */
export async function startPostfix(
  kit: BenchContext,
  { domain, sinkPort }: { domain: string; sinkPort: number },
): Promise<Postfix> {
  if (process.getuid?.() !== 0) throw new Error("Postfix can only be started by root");
  const version = (await run("postconf", ["-dh", "mail_version"])).stdout.trim();
  const daemons = (await run("postconf", ["-dh", "daemon_directory"])).stdout.trim();
  const port = await freePort();
  const config = join(kit.dir, "postfix");
  const queue = join(config, "queue");
  const data = join(config, "data");
  await mkdir(queue, { recursive: true });
  // The Postfix processes run as another user and need access.
  await chmod(kit.dir, 0o711);
  await mkdir(data);
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (which) => Number((await run("id", [which, "postfix"])).stdout)),
  );
  await chown(data, uid!, gid!);
  await writeFile(join(config, "main.cf"), mainCf({ queue, data, domain, sinkPort }));
  await writeFile(join(config, "master.cf"), masterCf(port));
  // Creates the queue directories.
  await run("postfix", ["-c", config, "check"]);
  const master = spawn(join(daemons, "master"), ["-c", config, "-d"], { stdio: "ignore" });
  const ended = new Promise<void>(
    (resolve) => void master.once("exit", () => resolve()).once("error", () => resolve()),
  );
  kit.onStop(async () => {
    // The master process stops its children first.
    master.kill("SIGTERM");
    await ended;
  });
  await waitForPort(port, ended);
  return { version, port, pid: master.pid! };
}

const mainCf = ({
  queue,
  data,
  domain,
  sinkPort,
}: {
  queue: string;
  data: string;
  domain: string;
  sinkPort: number;
}) => `compatibility_level = 3.6
queue_directory = ${queue}
data_directory = ${data}
myhostname = postfix.bench.invalid
mydestination =
alias_maps =
alias_database =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
relay_domains = ${domain}
relay_transport = relay:[127.0.0.1]:${sinkPort}
`;

/** As in Debian, except for the port of smtpd, and without chroot, which would need files in the queue directory. */
const masterCf = (port: number) => `127.0.0.1:${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
virtual unix - n n - - virtual
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
`;
