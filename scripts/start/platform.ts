import { spawn, type ChildProcess } from "node:child_process";
import { openSync } from "node:fs";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "..", "..");
const main = join(root, "src", "cli", "main.ts");

/** The ready line of `reelpost serve --json`. */
interface Ready {
  url: string;
  api: string;
  token: string;
  account: { id: string };
  smtp: { host: string; port: number };
  /** `http://<worker>.main.localhost:8787` */
  workers: string;
  /** A link for the first sign-in to the dashboard, valid for 30 minutes. */
  signInLink: string;
}

export interface Platform extends Ready {
  /** Calls the v4 API and returns the result. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Runs `reelpost <args>` as the administrator. Returns its standard output. */
  cli(...args: string[]): Promise<string>;
  ended: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts `reelpost serve` with its log in a file. Rejects if it exits before it is ready. */
export async function startPlatform(args: string[], log: string, env: Record<string, string>): Promise<Platform> {
  const server = spawn(process.execPath, [main, "serve", "--json", ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", openSync(log, "w")],
  });
  const ended = endOf(server);
  const ready = await new Promise<Ready>((resolve, reject) => {
    createInterface({ input: server.stdout! }).on("line", (line) => {
      const event = JSON.parse(line) as Ready & { event: string; message?: string };
      if (event.event === "ready") resolve(event);
    });
    void ended.then((code) => reject(new Error(`the server exited with code ${code} before it was ready`)));
  });
  const clientEnv = {
    ...process.env,
    API_BASE_URL: ready.api,
    API_TOKEN: ready.token,
    ACCOUNT_ID: ready.account.id,
    NO_COLOR: "1",
  };

  return {
    ...ready,
    ended,
    kill: (signal) => void server.kill(signal),
    async call(method, path, body) {
      const response = await fetch(`${ready.api}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${ready.token}`,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const { success, errors, result } = (await response.json()) as {
        success: boolean;
        errors: { message: string }[];
        result: never;
      };
      if (!success) throw new Error(`${method} ${path}: ${errors.map(({ message }) => message).join("; ")}`);
      return result;
    },
    cli: (...words) =>
      output(
        spawn(process.execPath, [main, ...words], { cwd: root, env: clientEnv, stdio: ["ignore", "pipe", "inherit"] }),
        words,
      ),
  };
}

async function output(child: ChildProcess, words: string[]): Promise<string> {
  let text = "";
  child.stdout!.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  const code = await endOf(child);
  if (code !== 0) throw new Error(`reelpost ${words.join(" ")} exited with code ${code}`);
  return text.trimEnd();
}

function endOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(1));
    child.once("close", (code) => resolve(code ?? 1));
  });
}

/** Returns the path relative to the clone. */
export const relativeToCwd = (path: string): string => relative(process.cwd(), path);
