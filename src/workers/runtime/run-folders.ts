import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../kernel/index.ts";
import { createMemoryFile } from "../../kernel/memory-file.ts";
import { workerErrors } from "../errors.ts";
import type { GeneratedConfig } from "./capnp.ts";
import type { Identity } from "./identities.ts";

/**
 * Folders for the sockets and modules of worker processes. Only the server can open them by path; each process uses its
 * own folder as working directory.
 */
export interface RunFolders {
  /** Creates a folder for one process that runs as `identity`. On failure, removes it and throws machineFailed. */
  create(config: GeneratedConfig, identity?: Identity): RunFolder;
  close(): void;
}

export interface RunFolder {
  readonly path: string;
  /**
   * File descriptor of the configuration, which may contain secrets and is in memory only. The process must inherit it
   * as CONFIG_FD. Undefined on systems without /proc, where the configuration is a file in the folder.
   */
  readonly config: number | undefined;
  /**
   * Path to a socket in the folder that fits into sun_path (107 bytes), however long the data directory path is. Valid
   * until remove().
   */
  socket(name: string): string;
  /**
   * Transfers ownership of a socket that the process has created to the server: the process can then no longer replace
   * it, and the server cannot be made to connect elsewhere. Throws if it is not a socket.
   */
  takeSocket(name: string): void;
  remove(): void;
}

/** File name of the configuration; workerd resolves embedded files relative to it. */
export const CONFIG_NAME = "config.capnp";
const CONFIG_FD = 5;
const PREFIX = "reelpost-run-";
/** The limit of unix(7), without the terminating NUL byte. */
const MAX_SOCKET_PATH = 107;

export function createRunFolders(root = tmpdir()): RunFolders {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  sweepAbandoned(root);
  // Earlier versions created the folders in the system's temporary folder.
  if (root !== tmpdir()) sweepAbandoned(tmpdir());
  const home = mkdtempSync(join(root, `${PREFIX}${process.pid}-`));
  let count = 0;
  return {
    create({ files, config }, identity) {
      const path = join(home, String(count++));
      const openFds: number[] = [];
      try {
        mkdirSync(path, { mode: 0o700 });
        for (const [name, content] of files) writeFileSync(join(path, name), content, { mode: 0o644 });
        const memory = writeConfig(path, config, identity);
        if (memory !== undefined) openFds.push(memory);
        const directory =
          process.platform === "linux" ? openSync(path, constants.O_RDONLY | constants.O_DIRECTORY) : undefined;
        if (directory !== undefined) openFds.push(directory);
        if (identity !== undefined) makeShared(path, identity);
        return {
          path,
          config: memory,
          socket(name) {
            const directPath = join(path, name);
            return directory === undefined || Buffer.byteLength(directPath) <= MAX_SOCKET_PATH
              ? directPath
              : `/proc/self/fd/${directory}/${name}`;
          },
          takeSocket(name) {
            if (identity === undefined) return;
            lchownSync(join(path, name), process.geteuid!(), process.getegid!());
            if (!lstatSync(join(path, name)).isSocket())
              throw workerErrors.machineFailed({ reason: `${name} is not a socket` });
          },
          remove() {
            for (const fd of openFds.splice(0)) closeSync(fd);
            rmSync(path, { recursive: true, force: true });
          },
        };
      } catch (cause) {
        for (const fd of openFds) closeSync(fd);
        rmSync(path, { recursive: true, force: true });
        // Not caused by the deployed code, so it must not be reported as a script error.
        throw workerErrors.machineFailed(
          { reason: (cause as NodeJS.ErrnoException).code ?? messageOf(cause) },
          { cause },
        );
      }
    },
    close: () => rmSync(home, { recursive: true, force: true }),
  };
}

/**
 * Lets the process create its sockets in a folder owned by the server. The sticky bit (inode(7)) prevents the process
 * from replacing files it does not own, such as the server's sockets; otherwise, the server could follow a link with
 * its own rights.
 */
function makeShared(folder: string, { gid }: Identity): void {
  chownSync(folder, process.geteuid!(), gid);
  chmodSync(folder, 0o1770);
}

/**
 * On Linux, creates a link to a file descriptor that the process inherits, so the configuration is never on disk and
 * disappears with the process.
 */
function writeConfig(folder: string, config: string, identity: Identity | undefined): number | undefined {
  if (process.platform !== "linux") {
    writeFileSync(join(folder, CONFIG_NAME), config, { mode: 0o600 });
    return undefined;
  }
  symlinkSync(`/proc/self/fd/${CONFIG_FD}`, join(folder, CONFIG_NAME));
  return createMemoryFile(config, identity);
}

/**
 * A killed server cannot clean up, so the next one does. Folders of other users are never touched, whatever their name.
 */
function sweepAbandoned(root: string): void {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(PREFIX)) continue;
    const pid = Number(name.slice(PREFIX.length).split("-")[0]);
    try {
      const folder = lstatSync(join(root, name));
      if (folder.isDirectory() && folder.uid === process.geteuid?.() && Number.isInteger(pid) && !isAlive(pid))
        rmSync(join(root, name), { recursive: true, force: true });
    } catch {
      // The folder was already removed, or contains files of another user; a later server retries.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch (err) {
    return (
      (err as NodeJS.ErrnoException).code === "EPERM" ||
      ((err as NodeJS.ErrnoException).code === "ENOENT" && process.platform !== "linux")
    );
  }
}
