import { execFile } from "node:child_process";
import { existsSync } from "node:fs";

/**
 * flock from util-linux: holds a file lock while a worker process runs, even if the server crashes. Node.js itself
 * cannot lock files.
 */
const FLOCK = "/usr/bin/flock";
/** Exit status of flock if another process holds the lock. */
const LOCKED_STATUS = 75;

const RETRY_MS = 100;

/** Wraps `command` so that it runs with the lock; returns `command` itself if flock is not installed. */
export const withLock = (file: string, command: string[]): string[] =>
  process.platform === "linux" && existsSync(FLOCK)
    ? [FLOCK, "--no-fork", "--exclusive", "--nonblock", "--conflict-exit-code", String(LOCKED_STATUS), file, ...command]
    : command;

/** Waits until no process holds the lock. Resolves with false if a process still holds it after `waitMs`. */
export async function waitForLock(file: string, waitMs: number): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const [program, ...args] = withLock(file, ["/bin/true"]);
    const status = await new Promise<unknown>((resolve) => {
      execFile(program!, args, (err) => resolve(err === null ? 0 : err.code));
    });
    if (status !== LOCKED_STATUS) return true;
    if (performance.now() >= deadline) return false;
    await new Promise((resolve) => void setTimeout(resolve, RETRY_MS).unref());
  }
}
