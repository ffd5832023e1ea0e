import { FREE_PORTS } from "../../test/support/free-ports.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

export interface ServerProcess {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

interface Options {
  name: string;
  args: string[];
  cwd: string;
  /** Extracts the server's URL from the ready line; returns undefined for other lines of stdout. */
  ready: (line: string) => string | undefined;
  env?: Record<string, string>;
  readyTimeoutMs?: number;
  stopTimeoutMs?: number;
}

/** Starts a server in a separate Node process and resolves when it is ready. Its output is then discarded. */
export async function startServerProcess({
  name,
  args,
  cwd,
  ready,
  env = {},
  readyTimeoutMs = 60_000,
  stopTimeoutMs = 15_000,
}: Options): Promise<ServerProcess> {
  const child = spawn(process.execPath, args, {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1", ...FREE_PORTS, ...env },
  });
  const output: string[] = [];
  const record = (line: string) => {
    output.push(line);
    if (output.length > 40) output.shift();
  };
  try {
    const url = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => fail(`was not ready after ${readyTimeoutMs / 1000} s`), readyTimeoutMs);
      const fail = (why: string) => {
        clearTimeout(timer);
        reject(new Error(`${name} ${why}. Last output:\n${output.join("\n")}`));
      };
      child.once("error", (err) => fail(`failed to start: ${err.message}`));
      child.once("exit", (code, signal) => fail(`exited before it was ready (${signal ?? `exit code ${code}`})`));
      createInterface({ input: child.stderr }).on("line", record);
      createInterface({ input: child.stdout }).on("line", (line) => {
        record(line);
        const found = ready(line);
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(found);
      });
    });
    return { url, pid: child.pid!, stop: () => stopChild(child, stopTimeoutMs) };
  } catch (err) {
    await stopChild(child, stopTimeoutMs);
    throw err;
  }
}

function stopChild(child: ChildProcess, timeoutMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    child.once("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill("SIGTERM");
  });
}
