import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { mountSmallDisk } from "../../test/support/small-disk.ts";
import { UserError } from "../kernel/index.ts";
import { openFsObjects } from "../store/index.ts";
import { createData, createOptions, migrations, keyMark, createTestFolder } from "./backup.testing.ts";
import { createBackup, openBackupFolder, restoreBackup, verifyBackup } from "./index.ts";

const isFull = (err: unknown) => err instanceof UserError && err.domain === "backup" && err.kind === "full";

test("a backup to a full disk fails with a clear error, and earlier backups are kept", async (t) => {
  const disk = mountSmallDisk(t, 3);
  if (disk === undefined) return t.skip("needs permission to mount a file system");
  const data = await createData(t);
  const folder = join(disk.folder, "backups");
  await createBackup(createOptions(data, folder));
  await data.addNote(20, "note 20\n".repeat(500_000));
  await assert.rejects(createBackup(createOptions(data, folder)), isFull, "while it copies an object");
  disk.fill();
  await assert.rejects(createBackup(createOptions(data, folder)), isFull, "at the start");
  const reader = await openBackupFolder(folder);
  assert.equal((await reader.list().finally(() => reader.close())).manifests.length, 1);
  assert.deepEqual((await verifyBackup({ folder })).problems, []);
  disk.free();
  await (await openFsObjects({ folder: data.objects })).delete(["notes/20"]);
  await createBackup(createOptions(data, folder));
  assert.deepEqual((await verifyBackup({ folder })).problems, []);
});

test("a restore to a disk that is too small is rejected before anything is written", async (t) => {
  const disk = mountSmallDisk(t, 1);
  if (disk === undefined) return t.skip("needs permission to mount a file system");
  const data = await createData(t);
  await data.addNote(20, "note 20\n".repeat(300_000));
  const folder = join(createTestFolder(t), "backups");
  await createBackup(createOptions(data, folder));
  const dataDirectory = join(disk.folder, "restored");
  const secrets = { key: data.key.trim(), key_file: "" };
  const target = { dataDirectory, objects: join(dataDirectory, "objects"), folder, secrets, keyMark, migrations };
  for (const dryRun of [true, false])
    await assert.rejects(restoreBackup({ ...target, dryRun }), { kind: "tooLittleSpace" });
});
