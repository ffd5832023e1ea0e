import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Milliseconds that plain Node needs to write `bytes` to a new file, without fsync, as the inbox stores a message. */
export async function timeOfCopy(dir: string, bytes: Uint8Array): Promise<number> {
  const file = join(dir, "copy");
  const started = performance.now();
  await writeFile(file, bytes);
  const took = performance.now() - started;
  await rm(file);
  return took;
}
