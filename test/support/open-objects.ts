import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { silentLog, systemClock } from "../../src/kernel/index.ts";
import { migrate, openFsObjects, openSqlite, type ObjectStore } from "../../src/store/index.ts";
import { objectsMigrations } from "../../src/store/objects/partials-table.ts";
import { parseObjectsUrl } from "../../src/store/objects/s3/address.ts";
import { openS3Objects } from "../../src/store/objects/s3/s3.ts";
import { digestsOf, writeOnceObjects } from "../../src/store/objects/write-once.testing.ts";
import { replacementObjectsUrl } from "./objects-lane.ts";

/**
 * Opens the objects of a test in this folder, or under a prefix of the bucket that belongs to it. Fails if a key is
 * stored twice with different bytes.
 */
export const openObjects = async ({ folder }: { folder: string }): Promise<ObjectStore> =>
  writeOnceObjects(await openUnchecked(folder), digestsOf(folder));

async function openUnchecked(folder: string): Promise<ObjectStore> {
  const url = replacementObjectsUrl(folder);
  if (url === undefined) return openFsObjects({ folder });
  mkdirSync(folder, { recursive: true });
  const db = openSqlite({ path: join(folder, "partials.sqlite") });
  await migrate(db, objectsMigrations);
  return openS3Objects({
    location: parseObjectsUrl(url),
    db,
    scratch: join(folder, "scratch"),
    clock: systemClock,
    log: silentLog,
  });
}
