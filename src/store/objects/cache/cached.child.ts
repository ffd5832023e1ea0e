/** Reads objects through a cache until the process is killed, and prints a line for each. */
import { cachedObjects, type ObjectCacheOptions } from "./cached.ts";
import { openFsObjects } from "../fs/fs.ts";

const [folder, options] = process.argv.slice(2) as [string, string];
const cached = cachedObjects(await openFsObjects({ folder }), JSON.parse(options) as ObjectCacheOptions);

async function readAll(step: number): Promise<void> {
  for (let n = 0; ; n = (n + step) % 20) {
    const object = (await cached.open(`k/${n}`))!;
    if (n % 3 === 0) (await cached.leaseFile(`k/${n}`))!.release();
    else await object.bytes();
    process.stdout.write(`${n}\n`);
  }
}

await Promise.all([readAll(1), readAll(7), readAll(3)]);
