import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

/** Where Linux keeps files in memory. */
const SHARED_MEMORY = "/dev/shm";
const PREFIX = "rp-tests-";
/** Databases, videos and browsers' profiles of a whole run are a third of it. */
const WANTED_BYTES = 6 * 2 ** 30;

/**
 * A folder in memory for what tests write, where there is room for it: an fsync costs nothing there, and tests make some hundred thousand of them.
 * Nothing of what they see changes by it: a file system in memory does not outlive the machine, but it outlives any process. `remove` is to be called
 * at the end; what a killed run left is removed by the next one.
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
    // As /tmp: programs that do not run as root have folders of their own in it.
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
