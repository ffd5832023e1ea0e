import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Temporary folders on this machine, each for one unit of work. */
export interface Scratch {
  /** `kind` is the prefix of the folder's name, to identify it on disk. */
  create(kind: string): Promise<{ path: string; remove(): Promise<void> }>;
  /** Removes the files of dead processes. */
  sweep(): Promise<void>;
}

/** In a container every process has the same pid as its predecessor. */
const PROCESS_TOKEN = randomBytes(4).toString("hex");
const NAME_PATTERN = /^[a-z]+-(\d+)-([0-9a-f]{8})-/;

/** `folder` is created when needed. */
export function createScratch(folder: string): Scratch {
  return {
    async create(kind) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = await mkdtemp(join(folder, `${kind}-${process.pid}-${PROCESS_TOKEN}-`));
      return { path, remove: () => rm(path, { recursive: true, force: true }) };
    },
    async sweep() {
      for (const name of await readdir(folder).catch(() => [])) {
        const [, pid, token] = NAME_PATTERN.exec(name) ?? [];
        // A child of a killed server keeps writing for a short time, into a folder that is being removed.
        if (pid !== undefined && isOver(Number(pid), token!))
          await rm(join(folder, name), { recursive: true, force: true, maxRetries: 5 });
      }
    },
  };
}

function isOver(pid: number, token: string): boolean {
  if (pid === process.pid) return token !== PROCESS_TOKEN;
  try {
    process.kill(pid, 0);
    return false;
  } catch (err) {
    // EPERM: the process exists and belongs to another user.
    return (err as NodeJS.ErrnoException).code !== "EPERM";
  }
}
