import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { sql } from "kysely";
import { onPostgres } from "../../test/support/databases.ts";
import { isStoreError } from "../store/index.ts";
import { countRows, createData, createOptions, keyMark, migrations, createTestFolder } from "./backup.testing.ts";
import { createBackup, restoreBackup } from "./index.ts";

onPostgres((engine) => {
  test("restores a SQLite backup into PostgreSQL, and a PostgreSQL backup into SQLite", async (t) => {
    const data = await createData(t);
    const folder = join(createTestFolder(t), "backups");
    await createBackup(createOptions(data, folder));
    const { db, where } = await engine.open(t);
    const { url } = where as { url: string };
    const dataDirectory = join(createTestFolder(t), "restored");
    const target = {
      dataDirectory,
      objects: join(dataDirectory, "objects"),
      databaseUrl: url,
      folder,
      secrets: { key: data.key.trim(), key_file: "" },
      keyMark,
      migrations,
      dryRun: false,
    };
    await restoreBackup({ ...target, dryRun: true });
    await restoreBackup(target);
    const { rows } = await sql<{ n: number }>`select count(*) as n from notes`.execute(db.tables());
    assert.equal(Number(rows[0]!.n), 20);
    const second = join(createTestFolder(t), "again");
    await assert.rejects(restoreBackup({ ...target, dataDirectory: second, objects: join(second, "objects") }), (err) =>
      isStoreError(err, "databaseNotEmpty"),
    );

    const { manifest } = await createBackup({
      ...createOptions(data, folder),
      dataDirectory,
      objects: target.objects,
      databaseUrl: url,
    });
    assert.equal(manifest.database, "postgres");
    assert.equal(manifest.rows, 21);
    const back = join(createTestFolder(t), "back");
    await restoreBackup({ ...target, databaseUrl: undefined, dataDirectory: back, objects: join(back, "objects") });
    assert.equal(countRows(join(back, "reelpost.sqlite"), "notes"), 20);
  });
});
