import type { Ids } from "../kernel/index.ts";
import { isStoreError, type Db, type ObjectStore, type Secrets } from "../store/index.ts";
import { serverErrors } from "./errors.ts";
import { replaceIdentity, claimIdentity, type StorageIdentityTables } from "./storage-identity-table.ts";

const KEY = "secrets-key";
const OBJECTS = "objects";
/** Name of the file in the objects folder that stores its id. */
const OBJECTS_ID = "store-id";

/**
 * A database, the secrets key and the objects folder belong together but are configured separately. After a restore
 * without the key file, or in a second process with its own folder, everything would seem to work until a value cannot
 * be decrypted or a file is missing. The first process stores an id in the database; throws otherKey or otherObjects in
 * a process that does not match.
 */
export async function checkStorageIdentity(parts: StorageDeps): Promise<void> {
  await checkKey(parts);
  await checkObjects(parts);
}

interface StorageDeps {
  db: Db;
  objects: ObjectStore;
  secrets: Secrets;
  ids: Pick<Ids, "hex">;
}

async function checkKey({ db, secrets }: StorageDeps): Promise<void> {
  await db.transaction<StorageIdentityTables, void>(async (tx) => {
    const kept = await claimIdentity(tx, KEY, secrets.seal("", KEY));
    try {
      secrets.open(kept, KEY);
    } catch (err) {
      throw isStoreError(err) ? serverErrors.otherKey({}, { cause: err }) : err;
    }
    // Seals with the newest key, so that the old one can be removed.
    await replaceIdentity(tx, KEY, secrets.seal("", KEY));
  });
}

async function checkObjects({ db, objects, ids }: StorageDeps): Promise<void> {
  const read = async () => (await (await objects.open(OBJECTS_ID))?.bytes())?.toString();
  const known = await read();
  const own = known ?? ids.hex();
  const wanted = await db.transaction<StorageIdentityTables, string>(async (tx) => {
    const claimed = await claimIdentity(tx, OBJECTS, own);
    // Written before the commit: a database must not refer to a folder without its id.
    if (claimed === own && known === undefined) await objects.put(OBJECTS_ID, Buffer.from(own));
    return claimed;
  });
  // Another process may have been first and may use the same folder.
  if (wanted !== own && wanted !== (await read())) throw serverErrors.otherObjects();
}
