import type { Ids } from "../kernel/index.ts";
import { isStoreError, type Secrets, type Store } from "../store/index.ts";
import { serverErrors } from "./errors.ts";
import { replaceIdentity, claimIdentity, type StorageIdentityTables } from "./storage-identity-table.ts";

/** Name of the row with a value that was encrypted with the secrets key. */
export const SECRETS_KEY_NAME = "secrets-key";
export const OBJECTS_NAME = "objects";
/** Key of the object that contains the id of the object store. */
export const OBJECT_STORE_ID_KEY = "store-id";

/**
 * Checks that the database, the secrets key and the object store belong together: they are configured separately. After
 * a restore without the key file, or in a process with another folder, everything would seem to work until a value
 * cannot be decrypted or a file is missing. The first process stores ids in the database and the object store. Throws
 * otherKey or otherObjects in a process whose key or object store does not match.
 */
export async function checkStorageIdentity(deps: StorageDeps): Promise<void> {
  await checkKey(deps);
  await checkObjects(deps);
}

interface StorageDeps {
  db: Store["db"];
  objects: Store["objects"];
  secrets: Secrets;
  ids: Pick<Ids, "hex">;
}

async function checkKey({ db, secrets }: StorageDeps): Promise<void> {
  await db.transaction<StorageIdentityTables, void>(async (tx) => {
    const keptIdentity = await claimIdentity(tx, SECRETS_KEY_NAME, secrets.seal("", SECRETS_KEY_NAME));
    try {
      secrets.open(keptIdentity, SECRETS_KEY_NAME);
    } catch (err) {
      throw isStoreError(err) ? serverErrors.otherKey({}, { cause: err }) : err;
    }
    // Seals with the newest key, so that the old one can be removed.
    await replaceIdentity(tx, SECRETS_KEY_NAME, secrets.seal("", SECRETS_KEY_NAME));
  });
}

async function checkObjects({ db, objects, ids }: StorageDeps): Promise<void> {
  const read = async () => (await (await objects.open(OBJECT_STORE_ID_KEY))?.bytes())?.toString();
  const storedId = await read();
  const ownId = storedId ?? ids.hex();
  const claimedId = await db.transaction<StorageIdentityTables, string>(async (tx) => {
    const claimedIdentity = await claimIdentity(tx, OBJECTS_NAME, ownId);
    // Written before the commit: a database must not refer to a folder without its id.
    if (claimedIdentity === ownId && storedId === undefined) await objects.put(OBJECT_STORE_ID_KEY, Buffer.from(ownId));
    return claimedIdentity;
  });
  // Another process may have been first and may use the same folder.
  if (claimedId !== ownId && claimedId !== (await read())) throw serverErrors.otherObjects();
}
