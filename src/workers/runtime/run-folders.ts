import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../kernel/index.ts";
import { workerErrors } from "../errors.ts";
import type { Identity } from "./launch.ts";

/**
 * Folders for the sockets and configurations of worker processes. They live in the system's temporary folder and not in the data
 * directory, because the path of a unix socket has room for 107 bytes and because an unprivileged process must reach them.
 */
export interface RunFolders {
  /** A new folder with these files, readable by the worker process alone (and root). Throws machineFailed, and has left nothing behind then. */
  create(files: Map<string, string | Uint8Array>): string;
  remove(folder: string): void;
  close(): void;
}

const PREFIX = "reelpost-run-";

export function createRunFolders(identity: Identity, root = tmpdir()): RunFolders {
  sweepAbandoned(root);
  const home = mkdtempSync(join(root, `${PREFIX}${process.pid}-`));
  if (identity.uid !== undefined) chmodSync(home, 0o711);
  let count = 0;
  return {
    create(files) {
      const folder = join(home, String(count++));
      try {
        mkdirSync(folder, { mode: 0o700 });
        for (const [name, content] of files) writeFileSync(join(folder, name), content, { mode: 0o644 });
        if (identity.uid !== undefined) chownSync(folder, identity.uid, identity.gid ?? identity.uid);
      } catch (cause) {
        rmSync(folder, { recursive: true, force: true });
        // The code is not to blame: whoever deploys it must not be told so.
        throw workerErrors.machineFailed({ reason: (cause as NodeJS.ErrnoException).code ?? messageOf(cause) }, { cause });
      }
      return folder;
    },
    remove: (folder) => rmSync(folder, { recursive: true, force: true }),
    close: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** A server that was killed cannot clean up; the next one does. */
function sweepAbandoned(root: string): void {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(PREFIX)) continue;
    const pid = Number(name.slice(PREFIX.length).split("-")[0]);
    try {
      if (Number.isInteger(pid) && !isAlive(pid)) rmSync(join(root, name), { recursive: true, force: true });
    } catch {
      // Another user's, whose next server will.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === "EPERM" || ((err as NodeJS.ErrnoException).code === "ENOENT" && process.platform !== "linux");
  }
}
