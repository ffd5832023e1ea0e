import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import type { Wrangler } from "../support/wrangler.ts";

/** One record as printed by `--format json`. */
export interface TailRecord {
  outcome: string;
  scriptName: string;
  exceptions: { name: string; message: string; stack?: string }[];
  logs: { message: unknown[]; level: string }[];
  event: {
    request?: { url: string; method: string; headers: Record<string, string> };
    response?: { status: number };
    mailFrom?: string;
    rcptTo?: string;
    rawSize?: number;
    cron?: string;
  };
}

export interface Tailing {
  child: ChildProcess;
  /** Everything printed so far, without colours. */
  text(): string;
  records(): TailRecord[];
  /**
   * Resolves when the condition is true, checked after each output; rejects with the output if the client exits first
   * or the timeout expires.
   */
  until(condition: () => boolean): Promise<void>;
  /** Sends Ctrl-C and resolves with the exit code. */
  interrupt(): Promise<number | null>;
}

const PATIENCE_MS = 60_000;

/** Starts `wrangler tail` with these arguments. */
export function tail(wrangler: Wrangler, args: string[]): Tailing {
  const child = wrangler.start(["tail", ...args]);
  let stdout = "";
  let stderr = "";
  const listeners = new Set<() => void>();
  const wake = () => {
    for (const listener of listeners) listener();
  };
  child.stdout!.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    wake();
  });
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    wake();
  });
  const closed = once(child, "close").then(([code]) => code as number | null);
  void closed.then(wake);
  const text = () => stripVTControlCharacters(stdout + stderr);

  return {
    child,
    text,
    // A record is printed over several lines, with its outer braces on separate lines.
    records: () => [...stdout.matchAll(/^\{\n[^]*?^\}$/gm)].map(([record]) => JSON.parse(record) as TailRecord),
    until: (condition) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => finish(new Error(`timed out after ${PATIENCE_MS / 1000} s. Printed: ${text()}`)),
          PATIENCE_MS,
        );
        function finish(error?: Error) {
          clearTimeout(timer);
          listeners.delete(look);
          if (error === undefined) resolve();
          else reject(error);
        }
        function look() {
          if (condition()) finish();
          else if (child.exitCode !== null) finish(new Error(`exited with code ${child.exitCode}. Printed: ${text()}`));
        }
        listeners.add(look);
        look();
      }),
    interrupt() {
      child.kill("SIGINT");
      return closed;
    },
  };
}
