import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { openBackupFolder } from "../backup/index.ts";
import { createLifecycle, createLog, createManualClock, randomIds, silentLog, systemClock } from "../kernel/index.ts";
import { openStore } from "../store/index.ts";
import { readServerSettingsOf } from "./backup.ts";
import { migrations } from "./migrations.ts";
import { startScheduledBackups } from "./scheduled-backups.ts";

test("a backup is created at the scheduled time by a separate process", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-scheduled-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = join(folder, "data");
  mkdirSync(dataDir);
  const lifecycle = createLifecycle({ log: silentLog });
  t.after(() => lifecycle.stop());
  await openStore(dataDir, { migrations }, { lifecycle, clock: systemClock, ids: randomIds, log: silentLog });

  const clock = createManualClock(Date.UTC(2026, 0, 1, 3, 14));
  const output = new PassThrough();
  const settings = await readServerSettingsOf({
    cwd: folder,
    env: { REELPOST_BACKUP_DIR: join(folder, "backups"), REELPOST_BACKUP_SCHEDULE: "15 3 * * *" },
    overrides: { data_dir: dataDir },
  });
  const backups = startScheduledBackups(settings, {
    version: "0.0.0",
    clock,
    log: createLog({ destination: output }),
  })!;
  t.after(() => backups.stop());
  clock.advance(60_000);
  for await (const line of output) {
    assert.match(String(line), /backup: backup created/);
    break;
  }
  const reader = await openBackupFolder(join(folder, "backups"));
  const { manifests } = await reader.list().finally(() => reader.close());
  assert.equal(manifests.length, 1);
  assert.ok(manifests[0]!.files > 20, "each table has a file");
});

test("rejects a schedule without a folder and one that is not a cron expression", async () => {
  const start = async (env: Record<string, string>) =>
    startScheduledBackups(await readServerSettingsOf({ cwd: "/", env }), {
      version: "0.0.0",
      clock: createManualClock(0),
      log: silentLog,
    });
  assert.equal(await start({}), undefined);
  await assert.rejects(start({ REELPOST_BACKUP_SCHEDULE: "15 3 * * *" }), { kind: "noBackupFolder" });
  await assert.rejects(start({ REELPOST_BACKUP_SCHEDULE: "daily", REELPOST_BACKUP_DIR: "/mnt/backup" }), {
    kind: "badSchedule",
  });
});
