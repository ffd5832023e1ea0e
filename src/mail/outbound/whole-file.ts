import { renameSync, rmSync, writeFileSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { Readable } from "node:stream";

/** Up to here a file is written at once: a few microseconds of system calls, where a trip to the thread pool costs five times that. */
const AT_ONCE = 256 * 1024;

/**
 * Writes a file that is there whole or not at all: under a temporary name beside it, then renamed. It outlives a killed process; it is
 * not synced, so that a power cut may take the last ones.
 */
export async function writeWhole(path: string, content: Readable | Uint8Array): Promise<void> {
  const temporary = `${path}.part`;
  if (content instanceof Uint8Array && content.length <= AT_ONCE) {
    try {
      writeFileSync(temporary, content, { mode: 0o600 });
      return renameSync(temporary, path);
    } catch (err) {
      rmSync(temporary, { force: true });
      throw err;
    }
  }
  const handle = await open(temporary, "w", 0o600);
  try {
    if (content instanceof Uint8Array) await handle.writeFile(content);
    else for await (const chunk of content as AsyncIterable<Uint8Array>) await handle.writeFile(chunk);
    await handle.close();
    await rename(temporary, path);
  } catch (err) {
    await handle.close().catch(() => {});
    await rm(temporary, { force: true }).catch(() => {});
    throw err;
  }
}
