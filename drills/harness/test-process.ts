import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

export type TestOutcome =
  | { kind: "passed"; tests: number }
  /** `test` is the name of the first test that failed. */
  | { kind: "failed"; test: string }
  | { kind: "timed out" }
  /** The file did not load, crashed outside a test, or ran no tests. */
  | { kind: "broken"; problem: string };

interface TestOptions {
  /** Root of the checkout. */
  root: string;
  /** Test file, relative to the root. */
  test: string;
  name?: string | undefined;
  timeoutMs: number;
  /** Parent of the test's temporary folder, which is removed at the end. */
  scratch: string;
  signal?: AbortSignal;
}

const NOT_OK = /^\s*not ok \d+ - (.*?)(?: # (?:TODO|SKIP)(.*))?$/;
const COUNT = /^# pass (\d+)$/;
const LAST_LINES = 12;

/**
 * Runs one test file in a separate process and stops it at the first failure: a failed test often leaves servers open,
 * and waiting for them adds no information.
 */
export async function runTest({ root, test, name, timeoutMs, scratch, signal }: TestOptions): Promise<TestOutcome> {
  const temporary = mkdtempSync(join(scratch, "t"));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = [
    "--no-warnings",
    "--test-reporter=tap",
    ...(name === undefined ? [] : [`--test-name-pattern=${name}`]),
    test,
  ];
  // A separate process group: the child processes of the test are killed with it.
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...env, TMPDIR: temporary, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // The process has already exited.
    }
  };
  try {
    return await new Promise<TestOutcome>((resolve) => {
      let tests = 0;
      const last: string[] = [];
      const timer = setTimeout(() => resolve({ kind: "timed out" }), timeoutMs);
      signal?.addEventListener("abort", () => resolve({ kind: "broken", problem: "interrupted" }), { once: true });
      createInterface({ input: child.stdout }).on("line", (line) => {
        const [, failed, skipReason] = NOT_OK.exec(line) ?? [];
        if (failed !== undefined && skipReason === undefined) resolve({ kind: "failed", test: failed });
        tests = Number(COUNT.exec(line)?.[1] ?? tests);
      });
      createInterface({ input: child.stderr }).on("line", (line) => {
        last.push(line);
        if (last.length > LAST_LINES) last.shift();
      });
      child.once("error", (err) => resolve({ kind: "broken", problem: err.message }));
      child.once("close", (code, killed) => {
        clearTimeout(timer);
        if (code !== 0)
          resolve({
            kind: "broken",
            problem: `${killed ?? `exit code ${code}`} without a failed test: ${last.filter((line) => line.trim() !== "").join(" | ")}`,
          });
        else resolve(tests > 0 ? { kind: "passed", tests } : { kind: "broken", problem: "no test ran" });
      });
    });
  } finally {
    end();
    if (child.exitCode === null && child.signalCode === null)
      await new Promise((resolve) => child.once("exit", resolve));
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  }
}
