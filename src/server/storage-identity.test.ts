import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { onEveryDatabase } from "../../test/support/databases.ts";
import { randomIds, type UserError } from "../kernel/index.ts";
import { createSecrets, openFsObjects } from "../store/index.ts";
import { checkStorageIdentity } from "./storage-identity.ts";
import { serverMigrations } from "./storage-identity-table.ts";

async function folder(t: TestContext) {
  const path = mkdtempSync(join(tmpdir(), "reelpost-together-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return openFsObjects({ folder: path });
}

const refusal = (kind: string) => (err: UserError) => err.kind === kind;

onEveryDatabase((engine) => {
  test("all processes must use the same key and objects folder as the first one", async (t) => {
    const { db, another } = await engine.open(t, serverMigrations);
    const [first, second] = [randomBytes(32), randomBytes(32)];
    const objects = await folder(t);
    const check = async (keys: Buffer[], on = objects, of = db) =>
      checkStorageIdentity({ db: of, objects: on, secrets: createSecrets({ keys }), ids: randomIds });
    const other = await another();
    // Concurrently at first, as when an entire fleet starts.
    await Promise.all([check([first]), check([first], objects, other), check([first])]);
    await check([first]);
    await assert.rejects(check([second]), refusal("otherKey"));
    await assert.rejects(check([first], await folder(t)), refusal("otherObjects"));
    await check([second, first]);
    await check([second]);
    await assert.rejects(check([first]), refusal("otherKey"));
  });

  test("recovers from a crash between writing the folder and the database", async (t) => {
    const { db } = await engine.open(t, serverMigrations);
    const objects = await folder(t);
    const secrets = createSecrets({ keys: [randomBytes(32)] });
    const failing = {
      ...objects,
      put: async (...put: Parameters<typeof objects.put>) => Promise.reject(await objects.put(...put)),
    };
    await assert.rejects(checkStorageIdentity({ db, objects: failing, secrets, ids: randomIds }));
    await checkStorageIdentity({ db, objects, secrets, ids: randomIds });
    await checkStorageIdentity({ db, objects, secrets, ids: randomIds });
  });
});
