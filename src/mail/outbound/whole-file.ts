import { closeSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { closeStream } from "../messages/index.ts";
import type { SpareFile, SpareFiles } from "./spare-files.ts";

/**
 * Files up to this size are written synchronously: this takes a few microseconds of system calls, while the thread pool
 * takes five times as long.
 */
const MAX_SYNC_BYTES = 256 * 1024;

/** The content of a new file; `file` is an existing, immutable file with the same bytes. */
export interface FileContent {
  open(): Readable | Uint8Array;
  file?: string;
}

/**
 * Writes a file atomically: under a temporary name first, then renamed. It survives a killed process, but is not
 * synced, so a power failure may lose the most recent files.
 */
export async function writeFileAtomically(path: string, content: FileContent, spares: SpareFiles): Promise<void> {
  if (content.file !== undefined && (await linkFile(content.file, path))) return;
  const body = content.open();
  if (!(body instanceof Uint8Array) || body.length > MAX_SYNC_BYTES) return writeStreamed(path, body);
  const spare = spares.take();
  if (spare === undefined || !writeToSpare(path, body, spare, spares)) writeAtOnce(path, body);
}

/**
 * Creates a hard link, which costs the same for any file size. Returns false if the file system has no hard links or is
 * a different one.
 */
async function linkFile(file: string, path: string): Promise<boolean> {
  try {
    await link(file, path);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") throw err;
    return false;
  }
}

/** Returns false if the spare file was deleted in the meantime. */
function writeToSpare(path: string, body: Uint8Array, spare: SpareFile, spares: SpareFiles): boolean {
  try {
    writeFileSync(spare.fd, body);
  } finally {
    closeSync(spare.fd);
  }
  try {
    renameSync(spare.path, path);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "ENOENT") throw err;
    spares.renew();
    return false;
  }
}

function writeAtOnce(path: string, body: Uint8Array): void {
  const temporary = `${path}.part`;
  try {
    writeFileSync(temporary, body, { mode: 0o600 });
    renameSync(temporary, path);
  } catch (err) {
    rmSync(temporary, { force: true });
    throw err;
  }
}

async function writeStreamed(path: string, body: Readable | Uint8Array): Promise<void> {
  const temporary = `${path}.part`;
  const handle = await open(temporary, "w", 0o600).catch((err: unknown) => {
    closeStream(body);
    throw err;
  });
  try {
    if (body instanceof Uint8Array) await handle.writeFile(body);
    else for await (const chunk of body as AsyncIterable<Uint8Array>) await handle.writeFile(chunk);
    await handle.close();
    await rename(temporary, path);
  } catch (err) {
    await handle.close().catch(() => {});
    await rm(temporary, { force: true }).catch(() => {});
    throw err;
  }
}
