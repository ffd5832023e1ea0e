import { closeSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { closeStream } from "../messages/index.ts";
import type { SpareFile, SpareFiles } from "./spare-files.ts";

/** Up to here a file is written at once: a few microseconds of system calls, where a trip to the thread pool costs five times that. */
const AT_ONCE = 256 * 1024;

/** The content of a file to be; `file` is the same octets in a file that nobody changes any more. */
export interface Content {
  open(): Readable | Uint8Array;
  file?: string;
}

/**
 * Writes a file that is there whole or not at all: under another name first, then renamed. It outlives a killed process; it is not synced,
 * so that a power cut may take the last ones.
 */
export async function writeWhole(path: string, content: Content, spares: SpareFiles): Promise<void> {
  if (content.file !== undefined && (await linked(content.file, path))) return;
  const body = content.open();
  if (!(body instanceof Uint8Array) || body.length > AT_ONCE) return writeAlong(path, body);
  const spare = spares.take();
  if (spare === undefined || !usedSpare(path, body, spare, spares)) writeAtOnce(path, body);
}

/** A second name for the file costs nothing, however large it is. False where the file system has no such thing or is another one. */
async function linked(file: string, path: string): Promise<boolean> {
  try {
    await link(file, path);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") throw err;
    return false;
  }
}

/** False when the spare file has lost its name meanwhile. */
function usedSpare(path: string, body: Uint8Array, spare: SpareFile, spares: SpareFiles): boolean {
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

async function writeAlong(path: string, body: Readable | Uint8Array): Promise<void> {
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
