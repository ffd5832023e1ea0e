import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

/** Linux' in-memory file system. */
const SHARED_MEMORY = "/dev/shm";
const PREFIX = "rp-tests-";
/** The databases, videos and browser profiles of a whole run use a third of this. */
const WANTED_BYTES = 6 * 2 ** 30;

/**
 * An in-memory folder for test files if there is enough memory: tests call fsync some hundred thousand times, which
 * costs nothing there. It outlives every process, so tests behave the same as on disk. Call `remove` at the end; the
 * next run removes the folder of a killed run.
 */
export function memoryFolder(): { path: string; remove(): void } | undefined {
  try {
    const { bavail, bsize } = statfsSync(SHARED_MEMORY);
    for (const name of readdirSync(SHARED_MEMORY)) {
      const [, owner] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? [];
      if (owner !== undefined && !isAlive(Number(owner)))
        rmSync(join(SHARED_MEMORY, name), { recursive: true, force: true });
    }
    if (bavail * bsize < WANTED_BYTES) return undefined;
    const path = mkdtempSync(join(SHARED_MEMORY, `${PREFIX}${process.pid}-`));
    // As with /tmp, programs that do not run as root can create their own folders.
    chmodSync(path, 0o1777);
    return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === "EPERM";
  }
}
