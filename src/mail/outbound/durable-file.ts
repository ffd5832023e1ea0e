import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";

/**
 * Writes a file that is there whole or not at all: under a temporary name beside it, its data synced, then renamed. The rename itself is
 * left to the file system to make durable. Returns the octets written.
 */
export async function writeDurably(path: string, content: Readable | Uint8Array): Promise<number> {
  const temporary = `${path}.part`;
  const handle = await open(temporary, "w", 0o600);
  try {
    const size = content instanceof Readable ? await copy(content, handle) : await writeWhole(content, handle);
    await handle.datasync();
    await handle.close();
    await rename(temporary, path);
    return size;
  } catch (err) {
    await handle.close().catch(() => {});
    await rm(temporary, { force: true }).catch(() => {});
    throw err;
  }
}

async function writeWhole(content: Uint8Array, handle: FileHandle): Promise<number> {
  await handle.writeFile(content);
  return content.length;
}

async function copy(content: Readable, handle: FileHandle): Promise<number> {
  let size = 0;
  for await (const chunk of content as AsyncIterable<Uint8Array>) {
    await handle.writeFile(chunk);
    size += chunk.length;
  }
  return size;
}
