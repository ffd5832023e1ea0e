import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "../../../../test/support/free-ports.ts";
import type { TsigKey } from "../../../protocol/dns/index.ts";

/** Debian installs it outside the user's PATH. */
export const knotd: string | undefined = [
  ...(process.env["PATH"] ?? "").split(delimiter),
  "/usr/sbin",
  "/usr/local/sbin",
]
  .map((folder) => join(folder, "knotd"))
  .find((path) => existsSync(path));

export interface Knot {
  host: string;
  port: number;
  key: TsigKey;
  stop(): Promise<void>;
}

/**
 * Starts Knot DNS on loopback, with example.com and locked.example.com. The key may change all records of the first
 * zone, but only TXT records of the second.
 */
export async function startKnot(zones: Record<string, string> = {}): Promise<Knot> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-knot-"));
  await mkdir(join(folder, "db"));
  const key: TsigKey = { name: "reelpost", algorithm: "hmac-sha256", secret: Buffer.alloc(32, 7) };
  try {
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      await writeConfig(folder, port, key, zones);
      const child = await started(folder);
      if (child !== undefined) return { host: "127.0.0.1", port, key, stop: () => stopped(child, folder) };
      // Another process may bind the port before Knot does.
      if (attempt === 3) throw new Error("knotd did not start");
    }
  } catch (err) {
    await rm(folder, { recursive: true, force: true });
    throw err;
  }
}

async function writeConfig(
  folder: string,
  port: number,
  { name, algorithm, secret }: TsigKey,
  zones: Record<string, string>,
) {
  const all: Record<string, string> = { "example.com": "", "locked.example.com": "", ...zones };
  const base = (zone: string) =>
    `$ORIGIN ${zone}.\n$TTL 300\n@ SOA ns1 hostmaster 1 3600 600 86400 60\n@ NS ns1\nns1 A 127.0.0.1\n`;
  for (const [zone, text] of Object.entries(all)) await writeFile(join(folder, `${zone}.zone`), base(zone) + text);
  await writeFile(
    join(folder, "knot.conf"),
    `
server:
    rundir: "${folder}"
    listen: 127.0.0.1@${port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
log:
  - target: stdout
    any: info
database:
    storage: "${folder}/db"
key:
  - id: ${name}
    algorithm: ${algorithm}
    secret: ${secret.toString("base64")}
acl:
  - id: all
    key: ${name}
    action: update
  - id: texts
    key: ${name}
    action: update
    update-type: [TXT]
template:
  - id: default
    storage: "${folder}"
    file: "%s.zone"
    zonefile-sync: -1
    zonefile-load: difference
    journal-content: changes
zone:
${Object.keys(all)
  .map((zone) => `  - domain: ${zone}\n    acl: ${zone === "locked.example.com" ? "texts" : "all"}`)
  .join("\n")}
`,
  );
}

async function started(folder: string): Promise<ChildProcess | undefined> {
  const child = spawn(knotd!, ["-c", join(folder, "knot.conf")], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    if (/server started/.test(line)) {
      child.stdout.resume();
      return child;
    }
    if (/cannot bind|failed to bind/.test(line)) break;
  }
  child.kill("SIGKILL");
  return undefined;
}

async function stopped(child: ChildProcess, folder: string) {
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
  await rm(folder, { recursive: true, force: true });
}
