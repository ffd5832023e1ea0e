import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { ServerEvent } from "./api.ts";
import { TestServerError } from "./test-server-error.ts";
import type { HostMessage, HostRequest } from "./wire.ts";

/** A process that runs servers. */
export interface HostProcess {
  readonly isRunning: boolean;
  /** Registers a server, and receives its events. */
  open(onEvent: (event: ServerEvent) => void): HostServerCalls;
}

interface HostServerCalls {
  /** Rejects with TestServerError. */
  call<Result>(method: string, params?: unknown): Promise<Result>;
  release(): void;
}

/** The process ended without having started to handle the call: it had no servers. */
export class HostEndedError extends TestServerError {}

const REQUIRED_NODE = 26;
const MAX_STDERR = 8192;
/** Environment variables of the test runner that change how Node starts. */
const RUNNER_VARIABLES = ["NODE_OPTIONS", "NODE_TEST_CONTEXT", "NODE_V8_COVERAGE", "NODE_CHANNEL_FD"];

/** Starts the process. It keeps this process alive only while a call is pending, and ends when this one does. */
export function createHostProcess(main: string): HostProcess {
  const child = spawn(nodeProgram(), ["--disable-warning=ExperimentalWarning", main], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: hostEnv(),
  });
  child.unref();
  child.channel!.unref();
  const pending = new Map<number, { resolve(result: unknown): void; reject(err: Error): void }>();
  const listeners = new Map<number, (event: ServerEvent) => void>();
  let isRunning = true;
  let stderr = "";
  let lastId = 0;
  let lastServer = 0;

  collectStderr(child, (text) => (stderr = (stderr + text).slice(-MAX_STDERR)));
  child.on("message", (message: HostMessage) => {
    if (message.type === "event") return listeners.get(message.server)?.(message.event);
    const call = pending.get(message.id);
    if (call === undefined) return;
    settle(message.id);
    if (message.type === "result") call.resolve(message.result);
    else call.reject(new TestServerError(message.error.message, message.error.fix));
  });
  child.once("error", (err) => end(`it cannot be run: ${err.message}`));
  child.once("exit", (code, signal) =>
    end(`it ended with ${signal === null ? `exit code ${code}` : signal}`, code === 0 ? HostEndedError : undefined),
  );
  child.once("disconnect", () => (isRunning = false));

  function end(reason: string, ErrorClass = TestServerError) {
    isRunning = false;
    for (const [id, { reject }] of pending) {
      settle(id);
      reject(
        new ErrorClass(
          `The process of the test server is not running: ${reason}${stderr === "" ? "" : `\n${stderr.trimEnd()}`}`,
          `Install the package again with install scripts allowed, or use Node ${REQUIRED_NODE} or newer.`,
        ),
      );
    }
  }

  function settle(id: number) {
    pending.delete(id);
    if (pending.size === 0) child.channel?.unref();
  }

  return {
    get isRunning() {
      return isRunning;
    },
    open(onEvent) {
      const server = ++lastServer;
      listeners.set(server, onEvent);
      return {
        call: <Result>(method: string, params: unknown = {}) =>
          new Promise<Result>((resolve, reject) => {
            if (!isRunning)
              return reject(
                new TestServerError(
                  `Cannot call ${method}: the process of the test server has ended.`,
                  "Call createServer() again.",
                ),
              );
            const id = ++lastId;
            pending.set(id, { resolve: resolve as (result: unknown) => void, reject });
            child.channel?.ref();
            const request: HostRequest = { id, server, method, params };
            child.send(request, (err) => {
              if (err === null || !pending.has(id)) return;
              isRunning = false;
              settle(id);
              reject(new HostEndedError(`Failed to pass ${method} to the test server: ${err.message}`));
            });
          }),
        release: () => void listeners.delete(server),
      };
    },
  };
}

function collectStderr(child: ChildProcess, onText: (text: string) => void) {
  child.stderr!.setEncoding("utf8").on("data", onText);
  (child.stderr as unknown as { unref(): void }).unref();
}

/** This Node if it is new enough, otherwise the one in the package `node`, a dependency. */
function nodeProgram(): string {
  if (Number(process.versions.node.split(".")[0]) >= REQUIRED_NODE && process.versions["bun"] === undefined)
    return process.execPath;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve("node/package.json"));
    const program = [join(folder, "bin", "node"), join(folder, "bin", "node.exe")].find((file) => existsSync(file));
    if (program !== undefined) return program;
  } catch {
    // The problem is reported below.
  }
  throw new TestServerError(
    `The test server needs Node ${REQUIRED_NODE} or newer; this is ${process.version}, and the package \`node\` is not installed.`,
    `Run \`npm install\` with install scripts allowed, or use Node ${REQUIRED_NODE}.`,
  );
}

/** Keeps compiled code in the folder that the commands of the program use, so that later runs start faster. */
function hostEnv(): NodeJS.ProcessEnv {
  const env = { ...process.env };
  for (const name of RUNNER_VARIABLES) delete env[name];
  const cache = env["XDG_CACHE_HOME"] ?? "";
  env["NODE_COMPILE_CACHE"] ??= join(isAbsolute(cache) ? cache : join(homedir(), ".cache"), "reelpost", "compiled");
  return env;
}
