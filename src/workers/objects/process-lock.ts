import { execFile } from "node:child_process";
import { existsSync } from "node:fs";

/**
 * util-linux's flock: a worker process holds the lock on a file while it runs, whatever happens to the server. The
 * server cannot take such a lock itself.
 */
const FLOCK = "/usr/bin/flock";
/** Exit status if another process holds the lock. */
const LOCKED = 75;

const RETRY_MS = 100;

/** The command that runs `command` with the lock; `command` itself if flock is not installed. */
export const withLock = (file: string, command: string[]): string[] =>
  process.platform === "linux" && existsSync(FLOCK)
    ? [FLOCK, "--no-fork", "--exclusive", "--nonblock", "--conflict-exit-code", String(LOCKED), file, ...command]
    : command;

/** Waits until no process holds the lock. Resolves with false after `waitMs`. */
export async function waitForLock(file: string, waitMs: number): Promise<boolean> {
  const until = performance.now() + waitMs;
  for (;;) {
    const [program, ...args] = withLock(file, ["/bin/true"]);
    const status = await new Promise<unknown>((resolve) => {
      execFile(program!, args, (err) => resolve(err === null ? 0 : err.code));
    });
    if (status !== LOCKED) return true;
    if (performance.now() >= until) return false;
    await new Promise((resolve) => void setTimeout(resolve, RETRY_MS).unref());
  }
}
