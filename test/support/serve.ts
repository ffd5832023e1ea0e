import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { FREE_PORTS } from "./free-ports.ts";
import { replacementObjectsUrl } from "./objects-lane.ts";
import { programEntry } from "./program.ts";

interface Scope {
  after(stop: () => Promise<void>): void;
}

/** The ready line of `reelpost serve --json`. */
export interface Ready {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** Base URL for clients: `<url>/client/v4`. */
  api?: string;
  /** URL of the dashboard. */
  dashboard?: string;
  /** Link for the first sign-in to the dashboard. Only set at the first start. */
  signInLink?: string;
  smtp?: { host: string; port: number };
  account?: { id: string; name: string };
  /** Only set at the first start. */
  token?: string;
  dataDirectory: string;
}

export interface ServeProcess {
  child: ChildProcess;
  ready: Ready;
  /** Its standard error output. */
  log(): string;
  exited: Promise<{ code: number | null; signal: string | null }>;
  /** Sends SIGTERM and resolves with the exit status. */
  stop(): Promise<{ code: number | null; signal: string | null }>;
}

export interface SpawnServeOptions {
  /** Default: a new directory, removed when the scope ends. */
  dataDirectory?: string;
  args?: string[];
  env?: Record<string, string>;
  /** File descriptor of a listening socket: becomes descriptor 3 of the process, as passed by a service manager. */
  listening?: number;
}

/** Ends the processes that write to a folder. */
const endings = new Map<string, (() => Promise<unknown>)[]>();

export async function temporaryFolder(t: Scope, name = "serve"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `reelpost-${name}-`));
  t.after(async () => {
    // node:test runs this before the end of a process that was started after the folder was created.
    for (const [used, ends] of endings)
      if (used === folder || used.startsWith(`${folder}/`)) {
        endings.delete(used);
        await Promise.all(ends.map((end) => end()));
      }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

/**
 * Runs `reelpost serve --json` as a separate process, on free ports. Rejects with its output if it exits before it is
 * ready.
 */
export async function spawnServe(
  t: Scope,
  { dataDirectory, args = [], env = {}, listening }: SpawnServeOptions = {},
): Promise<ServeProcess> {
  const folder = dataDirectory ?? (await temporaryFolder(t));
  const objectsUrl = replacementObjectsUrl(resolve(folder, env["REELPOST_OBJECTS_DIR"] ?? "objects"));
  const ports = ["--port", "--smtp-port"].flatMap((option) => (args.includes(option) ? [] : [option, "0"]));
  const child = spawn(process.execPath, [programEntry, "serve", "--json", "--data-dir", folder, ...ports, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe", ...(listening === undefined ? [] : [listening])],
    // The default rate limit would make the tests wait for each other.
    env: {
      ...process.env,
      NO_COLOR: "1",
      REELPOST_API_RATE_LIMIT: "0",
      REELPOST_DNS_RESOLVERS: "127.0.0.1:9",
      ...FREE_PORTS,
      ...(listening !== undefined && { LISTEN_FDS: "1" }),
      ...(objectsUrl !== undefined && { REELPOST_OBJECTS_URL: objectsUrl }),
      ...env,
    },
  });
  const exited = once(child, "close").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  const end = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  t.after(end);
  endings.set(folder, [...(endings.get(folder) ?? []), end]);
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
