import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { pem } from "../../src/certificates/x509/der.ts";
import { certificate } from "../../src/certificates/x509/certificate.ts";
import { freePort } from "./free-ports.ts";

const program = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "pebble"))
  .find((path) => existsSync(path));

export interface Pebble {
  /** URL of the ACME directory. */
  directory: string;
  /** CA of Pebble's own HTTPS certificate, in PEM format. */
  ca: string;
  /** Root of the certificates that Pebble issues, in PEM format. Different at each start. */
  root(): Promise<string>;
  /** Output of Pebble: one line per request. */
  log(): string;
  stop(): Promise<void>;
}

export interface PebbleOptions {
  /** DNS resolver that Pebble uses: `127.0.0.1:5353`. */
  dns: string;
  /** Port for http-01 instead of port 80. */
  httpPort?: number;
  env?: Record<string, string>;
}

/** Registers `suite` if Pebble is installed. With REQUIRE_ALL=1 it must be installed. */
export function withPebble(suite: () => void): void {
  if (program !== undefined) return suite();
  if (process.env["REQUIRE_ALL"] === "1")
    test("pebble", () =>
      Promise.reject(
        new Error("Pebble is not installed, and REQUIRE_ALL=1 forbids skipping: node scripts/system.ts test"),
      ));
  else test("pebble", { skip: "Pebble is not installed" }, () => {});
}

/** Starts an ACME server on loopback that validates every challenge and rejects one valid nonce in twenty. */
export async function startPebble(
  scope: { after(end: () => Promise<void>): void },
  { dns, httpPort = 1, env = {} }: PebbleOptions,
): Promise<Pebble> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-pebble-"));
  scope.after(() => rm(folder, { recursive: true, force: true }));
  const [port, managementPort] = [await freePort(), await freePort()];
  const { ca, cert, key } = ownAuthority();
  await Promise.all([writeFile(join(folder, "cert.pem"), cert), writeFile(join(folder, "key.pem"), key)]);
  const config = {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      certificate: join(folder, "cert.pem"),
      privateKey: join(folder, "key.pem"),
      httpPort,
      tlsPort: 1,
      ocspResponderURL: "",
      externalAccountBindingRequired: false,
    },
  };
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  const child = spawn(program!, ["-config", join(folder, "config.json"), "-dnsserver", dns, "-strict"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PEBBLE_VA_NOSLEEP: "1", ...env },
  });
  const exited = once(child, "close");
  let log = "";
  const { promise: up, resolve, reject } = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      if (log.includes("ACME directory available at")) resolve();
    });
  }
  void exited.then(() => reject(new Error(`pebble exited: ${log}`)));
  const stop = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  scope.after(stop);
  await up;
  // Pebble prints this line just before it listens.
  const directory = `https://localhost:${port}/dir`;
  const listening = await Promise.race([answers(directory, ca), exited.then(() => false)]);
  if (!listening) throw new Error(`pebble exited: ${log}`);
  return { directory, ca, log: () => log, stop, root: () => read(`https://localhost:${managementPort}/roots/0`, ca) };
}

function ownAuthority() {
  const make = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const times = { notBefore: Date.now() - 86_400_000, notAfter: Date.now() + 86_400_000 };
  const authority = { names: ["Test Authority"], key: make() };
  const key = make();
  return {
    ca: pem("CERTIFICATE", certificate({ ...authority, ...times, authority: true })),
    cert: pem("CERTIFICATE", certificate({ names: ["localhost"], key, ...times }, authority)),
    key: key.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

async function answers(url: string, ca: string): Promise<true> {
  for (;;) {
    try {
      await read(url, ca);
      return true;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw err;
      await setTimeout(10);
    }
  }
}

function read(url: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { ca, agent: false }, (response) => {
      let text = "";
      response
        .setEncoding("utf8")
        .on("data", (chunk: string) => (text += chunk))
        .on("end", () => resolve(text));
    }).on("error", reject);
  });
}
