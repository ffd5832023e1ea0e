import { closeSync, constants, fchownSync, openSync, statfsSync, writeSync } from "node:fs";

/**
 * open(2): an unnamed file that is deleted when its last descriptor closes. Node has no constant for it; this is the
 * value on x86 and ARM.
 */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
/** statfs(2): types of in-memory file systems. */
const MEMORY_FILESYSTEMS = [0x01021994, 0x858458f6];
const PLACES = ["/dev/shm", "/run", "/tmp"];

/**
 * Creates an unnamed file in memory. It can be opened only through this descriptor (in a child: `/proc/self/fd/N`) and
 * disappears when the last process that has it open exits or is killed. The caller closes it. Linux only; throws if no
 * in-memory file system is writable.
 */
export function createMemoryFile(content: string | Uint8Array, owner?: { uid: number; gid: number }): number {
  const fd = openUnnamed();
  try {
    const bytes = Buffer.from(content as Uint8Array);
    // Positional writes keep the file offset at 0 for the process that inherits the descriptor.
    for (let writtenBytes = 0; writtenBytes < bytes.length;)
      writtenBytes += writeSync(fd, bytes, writtenBytes, bytes.length - writtenBytes, writtenBytes);
    if (owner !== undefined) fchownSync(fd, owner.uid, owner.gid);
    return fd;
  } catch (err) {
    closeSync(fd);
    throw err;
  }
}

function openUnnamed(): number {
  for (const directory of PLACES) {
    try {
      if (MEMORY_FILESYSTEMS.includes(statfsSync(directory).type))
        return openSync(directory, O_TMPFILE | constants.O_RDWR, 0o600);
    } catch {
      // The next folder may exist and be writable.
    }
  }
  throw new Error(`no in-memory file system is writable: mount a tmpfs at ${PLACES[0]}`);
}
