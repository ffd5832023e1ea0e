import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Ready } from "./serve.ts";
import { temporaryFolder } from "./serve.ts";

interface Scope {
  after(stop: () => Promise<void>): void;
}

const BIN = join(import.meta.dirname, "..", "clients", "node_modules", "wrangler", "bin", "wrangler.js");
/**
 * Options of Node for wrangler. A command allocates less than 64 MiB, so with this much room the garbage collector does
 * not run.
 */
export const WRANGLER_NODE_OPTIONS = [
  "--min-semi-space-size=64",
  "--max-semi-space-size=64",
  "--require",
  join(import.meta.dirname, "wrangler-code.cjs"),
];
const PATIENCE_MS = 100_000;

export interface WranglerResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Both outputs combined, for messages that may appear in either. */
  text: string;
}

export interface Wrangler {
  /** The project directory. */
  folder: string;
  /** Runs one command until it exits. Rejects if its exit code is not 0. */
  run(args: string[], options?: { input?: string; env?: Record<string, string> }): Promise<WranglerResult>;
  /** Like `run`, for any exit code. */
  attempt(args: string[], options?: { input?: string; env?: Record<string, string> }): Promise<WranglerResult>;
  /** Starts a command without waiting for it; it is killed when the scope ends. */
  start(args: string[]): ChildProcess;
  write(name: string, content: string | Uint8Array): Promise<void>;
}

/** Creates the real, unmodified wrangler in its own project, directed to a local server by environment variables. */
export async function createWrangler(
  t: Scope,
  { api, token, account }: { api: string; token: string; account?: string },
  files: Record<string, string> = {},
): Promise<Wrangler> {
  const folder = await temporaryFolder(t, "wrangler");
  const variables = {
    PATH: process.env.PATH ?? "",
    // Wrangler's logs and caches stay in the directory, and the login of the user who runs the tests is not used.
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, ".config"),
    CI: "1",
    NO_COLOR: "1",
    // Most of a command's time is spent compiling wrangler's fifteen megabytes of code; the test runner provides a
    // directory with the compiled code for later commands, which wrangler-code.cjs also uses.
    ...(process.env.NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    CLOUDFLARE_API_BASE_URL: api,
    CLOUDFLARE_API_TOKEN: token,
    ...(account !== undefined && { CLOUDFLARE_ACCOUNT_ID: account }),
  };
  const launch = (args: string[], env: Record<string, string> = {}) =>
    spawn(process.execPath, [...WRANGLER_NODE_OPTIONS, BIN, ...args], {
      cwd: folder,
      env: { ...variables, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });

  async function write(name: string, content: string | Uint8Array) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  for (const [name, text] of Object.entries(files)) await write(name, text);

  async function attempt(
    args: string[],
    { input = "", env }: { input?: string; env?: Record<string, string> } = {},
  ): Promise<WranglerResult> {
    const child = launch(args, env);
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.stdin.on("error", () => {}).end(input);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    clearTimeout(timer);
    const [plainOut, plainErr] = [stdout, stderr].map(stripVTControlCharacters) as [string, string];
    return { code, stdout: plainOut, stderr: plainErr, text: plainOut + plainErr };
  }

  return {
    folder,
    write,
    attempt,
    async run(args, options) {
      const ran = await attempt(args, options);
      if (ran.code !== 0) throw new Error(`wrangler ${args.join(" ")} exited with code ${ran.code}:\n${ran.text}`);
      return ran;
    },
    start(args) {
      const child = launch(args);
      t.after(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
        child.kill("SIGKILL");
        await gone;
      });
      return child;
    },
  };
}

/** Credentials printed at the first start of `reelpost serve`. */
export function credentialsOf({ api, token, account }: Ready): { api: string; token: string; account: string } {
  if (api === undefined || token === undefined || account === undefined)
    throw new Error("the server was started before: it prints its token only once");
  return { api, token, account: account.id };
}
