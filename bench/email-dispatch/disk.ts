import { open, rm } from "node:fs/promises";
import { join } from "node:path";

/** Milliseconds that plain Node needs to write `bytes` to two new files in sequence, with fsync. */
export async function timeOfWritingTwice(dir: string, bytes: Uint8Array): Promise<number> {
  const started = performance.now();
  const files = [join(dir, "floor-1"), join(dir, "floor-2")];
  for (const file of files) {
    const handle = await open(file, "w");
    await handle.writeFile(bytes);
    await handle.datasync();
    await handle.close();
  }
  const took = performance.now() - started;
  await Promise.all(files.map((file) => rm(file)));
  return took;
}
