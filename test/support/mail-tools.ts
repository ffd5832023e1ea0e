import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import type { Scope } from "../e2e/serve-client.ts";
import { freePort } from "./free-ports.ts";
import { until } from "./mail-world.ts";
import { temporaryFolder } from "./serve.ts";

/** Third-party mail programs: senders, next hops, verifiers. */

const FOLDERS = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
const pathOf = (name: string) => FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));

/**
 * Value for the `skip` option of a test, from the programs it requires. With REQUIRE_ALL=1, the test runs and fails
 * instead.
 */
export function skipWithout(...names: string[]): string | false {
  const missing = names.filter((name) => pathOf(name) === undefined);
  return missing.length > 0 && process.env["REQUIRE_ALL"] !== "1" && `not installed: ${missing.join(", ")}`;
}

interface Ran {
  code: number;
  output: string;
}

/** Runs a program until it exits and returns both outputs combined. */
export function runTool(
  name: string,
  args: string[],
  { input = "", env = {} }: { input?: string | Buffer; env?: Record<string, string> } = {},
): Promise<Ran> {
  const program = pathOf(name);
  if (program === undefined) return Promise.reject(new Error(`${name} is not installed: node scripts/system.ts test`));
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { timeout: 110_000, killSignal: "SIGKILL", env: { ...process.env, ...env } });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("latin1").on("data", (text: string) => (output += text));
    child
      .on("error", reject)
      .on("close", (code, signal) => resolve({ code: code ?? (signal === null ? 0 : 128), output }));
    child.stdin.on("error", () => {}).end(input);
  });
}

export interface PostfixSink {
  port: number;
  /** Resolves with all messages as stored by smtp-sink, with its own fields at the top. */
  messages(): Promise<string[]>;
}

/**
 * Starts Postfix's smtp-sink, which accepts everything. `dump`: whether to store messages. `eightBitMime`: whether to
 * announce 8BITMIME.
 */
export async function startPostfixSink(t: Scope, { dump = true, eightBitMime = true } = {}): Promise<PostfixSink> {
  const folder = join(await temporaryFolder(t, "smtp-sink"), "dump");
  await mkdir(folder);
  // If started by root, smtp-sink changes to another user.
  const asRoot = process.getuid?.() === 0;
  if (asRoot) for (const path of [join(folder, ".."), folder]) await chmod(path, 0o777);
  const port = await freePort();
  const child = spawn(
    pathOf("smtp-sink")!,
    [
      ...(asRoot ? ["-u", "nobody"] : []),
      ...(eightBitMime ? [] : ["-8"]),
      ...(dump ? ["-d", join(folder, "m.")] : []),
      `127.0.0.1:${port}`,
      "100",
    ],
    { stdio: "ignore" },
  );
  const ended = new Promise((resolve) => child.once("close", resolve));
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  await until(() => answers(port), "smtp-sink to listen");
  return {
    port,
    async messages() {
      const names = await readdir(folder);
      return Promise.all(names.sort().map((name) => readFile(join(folder, name), "latin1")));
    },
  };
}

function answers(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket
      .once("error", () => resolve(undefined))
      .once("connect", () => {
        socket.destroy();
        resolve(true);
      });
  });
}

export interface Verifiers {
  /** Returns true if dkimverify accepts the signature with this index, counted from the top. */
  dkimverify(raw: string, index: number): Promise<boolean>;
  /** Resolves with the last line printed by arcverify. */
  arcverify(raw: string): Promise<string>;
  /** Output of OpenDKIM's filter for the message. */
  opendkim(raw: string): Promise<Ran>;
}

/** Creates verifiers that query one DNS server for everything under `domains`, and no resolver for other names. */
export async function createVerifiers(t: Scope, dnsPort: number, domains: string[]): Promise<Verifiers> {
  const folder = await temporaryFolder(t, "verifiers");
  // Python executes this before the program.
  const resolver = `import dns.resolver\nr = dns.resolver.Resolver(configure=False)\nr.nameservers = ["127.0.0.1"]\nr.port = ${dnsPort}\ndns.resolver.default_resolver = r\n`;
  await writeFile(join(folder, "sitecustomize.py"), resolver);
  const unbound = [
    "server:",
    "  do-not-query-localhost: no",
    "  module-config: iterator",
    ...domains.flatMap((name) => ["stub-zone:", `  name: ${name}`, `  stub-addr: 127.0.0.1@${dnsPort}`]),
  ];
  await writeFile(join(folder, "unbound.conf"), `${unbound.join("\n")}\n`);
  await writeFile(
    join(folder, "opendkim.conf"),
    `ResolverConfiguration ${join(folder, "unbound.conf")}\nMode v\nOn-BadSignature reject\nOn-KeyNotFound reject\nOn-NoSignature reject\n`,
  );
  const python = { env: { PYTHONPATH: folder } };
  const input = (raw: string) => Buffer.from(raw, "latin1");
  let count = 0;
  return {
    dkimverify: async (raw, index) =>
      (await runTool("dkimverify", ["--index", String(index)], { ...python, input: input(raw) })).output.trim() ===
      "signature ok",
    arcverify: async (raw) =>
      (await runTool("arcverify", [], { ...python, input: input(raw) })).output.trim().split("\n").at(-1)!,
    async opendkim(raw) {
      const file = join(folder, `${++count}.eml`);
      await writeFile(file, input(raw));
      return runTool("opendkim", ["-x", join(folder, "opendkim.conf"), "-v", "-v", "-t", file]);
    },
  };
}
