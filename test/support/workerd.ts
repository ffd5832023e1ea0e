import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

// A CommonJS module without types whose default export is the path of the binary.
const { default: workerd } = createRequire(import.meta.url)("workerd") as { default: string };

interface WorkerdOptions {
  /** Module names and their ES module sources. The first module is the worker. */
  modules: Record<string, string>;
  /** Text inside `bindings = [ ... ]`: `(name = "KV", kvNamespace = "kv")`. */
  bindings?: string;
  /**
   * Each entry becomes an `external` service of this name: an HTTP server on its own unix socket, handled by the
   * listener.
   */
  services?: Record<string, RequestListener>;
  /** Default: the date of the newest workers, without nodejs_compat. */
  compatibilityDate?: string;
  compatibilityFlags?: string[];
}

export interface RunningWorkerd {
  /** Calls the worker's fetch handler: `fetch("/path")`. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Output of workerd so far, used in the message of a failed assertion. */
  output(): string;
  close(): Promise<void>;
}

const READY_WITHIN_MS = 60_000;

/** Runs one worker in a real workerd process whose bindings are served by this process. */
export async function startWorkerd(options: WorkerdOptions): Promise<RunningWorkerd> {
  const directory = await mkdtemp(join(tmpdir(), "workerd-"));
  const servers: Server[] = [];
  const stopServers = () =>
    Promise.all(
      servers.map((server) => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve)))),
    );
  try {
    const externals: string[] = [];
    for (const [name, listener] of Object.entries(options.services ?? {})) {
      const socket = join(directory, `${servers.length}.sock`);
      // R2 passes its request in a header; a key and its metadata may exceed Node's default limit of 16 KiB.
      const server = createServer({ maxHeaderSize: 256 * 1024, keepAliveTimeout: 60_000 }, listener).listen(socket);
      servers.push(server);
      await once(server, "listening");
      externals.push(`(name = ${text(name)}, external = (address = ${text(`unix:${socket}`)}, http = ()))`);
    }
    for (const [name, source] of Object.entries(options.modules)) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), source);
    }
    await writeFile(join(directory, "config.capnp"), config(options, externals));
    const running = await serve(directory);
    return {
      ...running,
      async close() {
        await running.close();
        await stopServers();
        await rm(directory, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await stopServers();
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

const text = (value: string) => JSON.stringify(value);

const config = (
  { modules, bindings = "", compatibilityDate = "2026-10-01", compatibilityFlags = [] }: WorkerdOptions,
  externals: string[],
) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "worker", worker = (
      modules = [${Object.keys(modules)
        .map((name) => `(name = ${text(name)}, esModule = embed ${text(name)})`)
        .join(", ")}],
      compatibilityDate = ${text(compatibilityDate)},
      compatibilityFlags = [${compatibilityFlags.map(text).join(", ")}],
      bindings = [${bindings}],
    )),
    ${externals.join(",\n    ")}
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "worker")],
);
`;

async function serve(directory: string): Promise<RunningWorkerd> {
  const child = spawn(workerd, ["serve", "--experimental", "--control-fd=3", "config.capnp"], {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding("utf8").on("data", (chunk: string) => (printed = (printed + chunk).slice(-64 * 1024)));
  const exited = once(child, "exit");
  const close = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  try {
    const port = await Promise.race([
      listeningPort(child.stdio[3] as NodeJS.ReadableStream),
      exited.then(() => Promise.reject(new Error(`workerd did not start:\n${printed}`))),
      new Promise<never>((_, reject) =>
        setTimeout(() => reject(new Error(`workerd was not ready in time:\n${printed}`)), READY_WITHIN_MS).unref(),
      ),
    ]);
    return { fetch: (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init), output: () => printed, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** workerd announces each socket as a line of JSON: {"event":"listen","socket":"http","port":40000}. */
async function listeningPort(control: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface({ input: control })) {
    const event = JSON.parse(line) as { event: string; port?: number };
    if (event.event === "listen" && event.port) return event.port;
  }
  return new Promise(() => {}); // closed silently: the exit code gives the reason
}
