import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Folders on this machine that live as long as one piece of work. */
export interface Scratch {
  /** `kind` begins its name, for whoever looks at the disk. */
  make(kind: string): Promise<{ path: string; remove(): Promise<void> }>;
  /** Removes what processes have left that are no more. */
  sweep(): Promise<void>;
}

/** In a container every process has the number of the one before it. */
const PROCESS = randomBytes(4).toString("hex");
const NAME = /^[a-z]+-(\d+)-([0-9a-f]{8})-/;

/** `folder` is made when it is needed. */
export function createScratch(folder: string): Scratch {
  return {
    async make(kind) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = await mkdtemp(join(folder, `${kind}-${process.pid}-${PROCESS}-`));
      return { path, remove: () => rm(path, { recursive: true, force: true }) };
    },
    async sweep() {
      for (const name of await readdir(folder).catch(() => [])) {
        const [, pid, token] = NAME.exec(name) ?? [];
        // What a killed server was running writes for a moment longer, into a folder that is being removed.
        if (pid !== undefined && isOver(Number(pid), token!))
          await rm(join(folder, name), { recursive: true, force: true, maxRetries: 5 });
      }
    },
  };
}

function isOver(pid: number, token: string): boolean {
  if (pid === process.pid) return token !== PROCESS;
  try {
    process.kill(pid, 0);
    return false;
  } catch (err) {
    // EPERM: somebody else's.
    return (err as NodeJS.ErrnoException).code !== "EPERM";
  }
}
