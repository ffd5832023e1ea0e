import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { FREE_PORTS } from "./free-ports.ts";
import { programMain } from "./program.ts";

interface Scope {
  after(stop: () => Promise<void>): void;
}

/** The ready line of `reelpost serve --json`. */
export interface Ready {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** The base URL clients are given: `<url>/client/v4`. */
  api?: string;
  smtp?: { host: string; port: number };
  account?: { id: string; name: string };
  /** At the first start only. */
  token?: string;
  dataDirectory: string;
}

export interface ServeProcess {
  child: ChildProcess;
  ready: Ready;
  /** Everything it has written to standard error. */
  log(): string;
  exited: Promise<{ code: number | null; signal: string | null }>;
  /** SIGTERM, and resolves with how it ended. */
  stop(): Promise<{ code: number | null; signal: string | null }>;
}

export interface SpawnServeOptions {
  /** Default: a new folder, removed at the end. */
  dataDirectory?: string;
  args?: string[];
  env?: Record<string, string>;
  /** File descriptor of a socket that listens already: it becomes descriptor 3 of the process, as a service manager hands it over. */
  listening?: number;
}

export async function temporaryFolder(t: Scope, name = "serve"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `reelpost-${name}-`));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** `reelpost serve --json` in a process of its own, on free ports. Rejects with its words when it ends before it is ready. */
export async function spawnServe(
  t: Scope,
  { dataDirectory, args = [], env = {}, listening }: SpawnServeOptions = {},
): Promise<ServeProcess> {
  const folder = dataDirectory ?? (await temporaryFolder(t));
  const ports = ["--port", "--smtp-port"].flatMap((option) => (args.includes(option) ? [] : [option, "0"]));
  const child = spawn(process.execPath, [programMain, "serve", "--json", "--data-dir", folder, ...ports, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe", ...(listening === undefined ? [] : [listening])],
    // The faithful default would make the tests wait for each other.
    env: {
      ...process.env,
      NO_COLOR: "1",
      REELPOST_API_RATE_LIMIT: "0",
      REELPOST_DNS_RESOLVERS: "127.0.0.1:9",
      ...FREE_PORTS,
      ...(listening !== undefined && { LISTEN_FDS: "1" }),
      ...env,
    },
  });
  const exited = once(child, "close").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  t.after(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  let stderr = "";
  let stdout = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ready = await new Promise<Ready>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on("line", (line) => {
      stdout += `${line}\n`;
      const event = JSON.parse(line) as { event?: string };
      if (event.event === "ready") resolve(event as unknown as Ready);
    });
    void exited.then(({ code }) => reject(new Error(`exit code ${code}: ${stdout} ${stderr}`)));
  });
  return {
    child,
    ready,
    log: () => stderr,
    exited,
    stop() {
      child.kill("SIGTERM");
      return exited;
    },
  };
}
