import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { createTransport } from "nodemailer";
import type { DevEvent, EmailEvent } from "../../src/dev/index.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { startDev, type DevOptions, type DevServer } from "../../src/server/index.ts";
import { programEntry } from "../support/program.ts";

/** Releases its resources when a test ends: a TestContext, or a separate scope for a whole suite. */
export interface Scope {
  after(stop: () => unknown): void;
}

export function createScope(): Scope & { close(): Promise<void> } {
  const stops: (() => unknown)[] = [];
  return {
    after: (stop) => void stops.unshift(stop),
    async close() {
      for (const stop of stops.splice(0)) await stop();
    },
  };
}

const root = join(import.meta.dirname, "..", "..");

/** Creates a worker project in its own directory. Generates `wrangler.jsonc` if the files do not include one. */
export async function makeProject(
  t: Scope,
  files: Record<string, string>,
  config: Record<string, unknown> = {},
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-e2e-"));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const all = {
    "wrangler.jsonc": JSON.stringify({
      name: "test",
      main: "src/index.ts",
      compatibility_date: "2026-10-01",
      ...config,
    }),
    ...files,
  };
  for (const [name, text] of Object.entries(all)) await writeProjectFile(folder, name, text);
  return folder;
}

let written = 0;

/** Replaces the file in one step, as editors do, so that the server never reads a part of it. */
export async function writeProjectFile(folder: string, name: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  // Next to the folder, whose changes a server may follow.
  const draft = `${folder}.draft-${++written}`;
  await writeFile(draft, text);
  await rename(draft, join(folder, name));
}

export interface TestServer extends DevServer {
  events: DevEvent[];
  /** Returns the first event, past or future, that `found` accepts. */
  event<E extends DevEvent>(found: (event: DevEvent) => event is E): Promise<E>;
  event(found: (event: DevEvent) => boolean): Promise<DevEvent>;
  /** POST to the first HTTP endpoint for mail. */
  post(raw: string | Uint8Array, query?: string): Promise<{ status: number; text: string }>;
}

/** Starts a development server in this process, on free ports, which collects its events. */
export async function serve(t: Scope, folder: string, options: Partial<DevOptions> = {}): Promise<TestServer> {
  const events: DevEvent[] = [];
  const waiting = new Set<(event: DevEvent) => void>();
  const server = await startDev({
    cwd: folder,
    port: 0,
    smtpPort: 0,
    log: silentLog,
    report: (event) => {
      events.push(event);
      for (const listener of waiting) listener(event);
    },
    ...options,
  });
  t.after(() => server.close());
  const event = (found: (event: DevEvent) => boolean) =>
    new Promise<DevEvent>((resolve) => {
      const past = events.find(found);
      if (past !== undefined) return resolve(past);
      const listener = (next: DevEvent) => {
        if (!found(next)) return;
        waiting.delete(listener);
        resolve(next);
      };
      waiting.add(listener);
    });
  return {
    ...server,
    events,
    event: event as TestServer["event"],
    async post(raw, query = "from=ada@example.com&to=inbox@example.org") {
      const response = await fetch(`${server.url}/cdn-cgi/handler/email?${query}`, {
        method: "POST",
        body: raw as RequestInit["body"],
      });
      return { status: response.status, text: await response.text() };
    },
  };
}

export interface ServerProcess {
  child: ChildProcess;
  ready: { url: string; smtp?: { host: string; port: number }; dataDirectory: string; mailDirectory: string };
  /** Objects printed on stdout, one per line. */
  printed: Record<string, unknown>[];
  exited: Promise<{ code: number | null; signal: string | null }>;
}

/** Runs `reelpost dev --json` as a separate process. Rejects with its stderr if it exits before it is ready. */
export async function spawnDev(t: Scope, cwd: string, args: string[] = []): Promise<ServerProcess> {
  const ports = ["--port", "--smtp-port"].flatMap((option) => (args.includes(option) ? [] : [option, "0"]));
  const child = spawn(process.execPath, [programEntry, "dev", "--json", ...ports, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  const exited = once(child, "close").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  t.after(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const printed: ServerProcess["printed"] = [];
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ready = await new Promise<ServerProcess["ready"]>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const event = JSON.parse(line) as Record<string, unknown>;
      printed.push(event);
      if (event.event === "ready") resolve(event as unknown as ServerProcess["ready"]);
    });
    void exited.then(({ code }) => reject(new Error(`exit code ${code}: ${JSON.stringify(printed)} ${stderr}`)));
  });
  return { child, ready, printed, exited };
}

export const isEmail = (event: DevEvent): event is EmailEvent => event.event === "email";
export const isKind =
  <K extends DevEvent["event"]>(kind: K) =>
  (event: DevEvent): event is Extract<DevEvent, { event: K }> =>
    event.event === kind;

let counter = 0;

/** Returns a small message with its own Message-ID. */
export function message(fields: Record<string, string> = {}, text = "Hello\r\n"): string {
  const all = {
    From: "Ada <ada@example.com>",
    To: "inbox@example.org",
    Subject: "Hello",
    "Message-ID": `<${++counter}@example.com>`,
    ...fields,
  };
  return `${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n${text}`;
}

export function mailer(t: Scope, server: DevServer, options: Record<string, unknown> = {}) {
  const transport = createTransport({
    host: server.smtp!.host,
    port: server.smtp!.port,
    secure: false,
    ignoreTLS: true,
    ...options,
  });
  t.after(() => transport.close());
  return transport;
}

/** Names of the files under a directory, sorted. */
export const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
