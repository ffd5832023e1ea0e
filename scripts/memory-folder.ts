import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

/** Linux's in-memory file system. */
const SHARED_MEMORY = "/dev/shm";
const PREFIX = "rp-tests-";
/** The databases, videos and browser profiles of a whole run use a third of this. */
const WANTED_BYTES = 6 * 2 ** 30;

/**
 * Returns an in-memory folder for test files if there is enough memory: tests call fsync some hundred thousand times,
 * which costs nothing there. It outlives every process, so tests behave the same as on disk. Call `remove` at the end;
 * the next run removes the folder of a killed run.
 */
export function memoryFolder(sharedMemory = SHARED_MEMORY): { path: string; remove(): void } | undefined {
  try {
    const { bavail, bsize } = statfsSync(sharedMemory);
    for (const name of readdirSync(sharedMemory)) {
      const [, owner] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? [];
      if (owner !== undefined && !isAlive(Number(owner))) removeFolder(join(sharedMemory, name));
    }
    if (bavail * bsize < WANTED_BYTES) return undefined;
    const path = mkdtempSync(join(sharedMemory, `${PREFIX}${process.pid}-`));
    // As with /tmp, programs that do not run as root can create their own folders.
    chmodSync(path, 0o1777);
    return { path, remove: () => removeFolder(path) };
  } catch {
    return undefined;
  }
}

/** A folder that cannot be removed does not prevent the run. */
function removeFolder(path: string): void {
  unmountBelow(path);
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  } catch (err) {
    process.stderr.write(`cannot remove ${path}: ${(err as Error).message}\n`);
  }
}

/** A killed test may leave a mounted file system behind, which cannot be removed (EBUSY). */
function unmountBelow(path: string): void {
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .flatMap((line) => line.split(" ")[1] ?? [])
    .filter((mount) => mount.startsWith(`${path}/`));
  if (mounts.length > 0) spawnSync("umount", ["--lazy", ...mounts.toReversed()], { stdio: "ignore" });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === "EPERM";
  }
}
