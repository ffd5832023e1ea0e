import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createAccounts } from "../../src/accounts/index.ts";
import { randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import { createEntriesTable, rowOf } from "../../src/mail/activity/entries-table.ts";
import type { Entry } from "../../src/mail/activity/types.ts";
import { migrations } from "../../src/server/index.ts";
import { createLocalEvents, migrate, openSqlite, type Db } from "../../src/store/index.ts";
import { newVideo } from "../../src/stream/videos/new-video.ts";
import { updateUsage } from "../../src/stream/videos/usage-table.ts";
import type { Video } from "../../src/stream/videos/video.ts";
import { insertVideo, type VideoTables } from "../../src/stream/videos/videos-table.ts";
import { forwardedEntry } from "../../test/support/mail-entries.ts";

/** Rows per transaction. */
const BATCH = 5000;
/** The rows are spread over this period, so that the server's cleanup does not delete any. */
const DAYS = 20;

/**
 * Creates a data directory in the state left by `reelpost serve`, with this many videos and entries of the mail log.
 */
export async function fillDataDirectory(directory: string, rows: number): Promise<{ token: string }> {
  mkdirSync(directory, { recursive: true });
  const db = openSqlite({ path: join(directory, "reelpost.sqlite") });
  await migrate(db, migrations);
  const events = createLocalEvents({ log: silentLog });
  const accounts = createAccounts({ db, clock: systemClock, ids: randomIds, log: silentLog, events });
  const { account, token } = (await accounts.bootstrap())!;
  await insertVideos(db, account.id, rows);
  await insertEntries(db, account.id, rows);
  await accounts.close();
  await events.close();
  await db.close();
  return { token };
}

const timeOf = (index: number, rows: number) => Date.now() - Math.floor(((rows - index) / rows) * DAYS * 86_400_000);

/** Inserts ready one-minute videos, as the server stores them, without their files. */
async function insertVideos(db: Db, account: string, rows: number): Promise<void> {
  for (let from = 0; from < rows; from += BATCH)
    await db.transaction<VideoTables, void>(async (tx) => {
      for (let index = from; index < Math.min(rows, from + BATCH); index++) {
        const now = timeOf(index, rows);
        const video: Video = {
          ...newVideo({ uid: randomIds.hex(), account, now, state: "ready" }, { meta: { name: `Video ${index}.mp4` } }),
          pctComplete: 100,
          uploaded: now,
          size: 20_000_000,
          duration: 60,
          input: { width: 1920, height: 1080 },
        };
        await insertVideo(tx, video, now);
        await updateUsage(tx, undefined, video);
      }
    });
}

async function insertEntries(db: Db, account: string, rows: number): Promise<void> {
  const table = createEntriesTable(db);
  for (let from = 0; from < rows; from += BATCH)
    await table.insert(
      Array.from({ length: Math.min(BATCH, rows - from) }, (_, offset) =>
        rowOf(entryOf(account, from + offset, timeOf(from + offset, rows)), 1),
      ),
    );
}

const entryOf = (account: string, index: number, at: number): Entry =>
  forwardedEntry({
    id: randomIds.hex(),
    message: randomIds.hex(),
    account,
    zone: "b".repeat(32),
    at,
    from: `sender${index % 1000}@there.example`,
    to: `box${index % 100}@here.example`,
    subject: `Message ${index}`,
    headerId: `<${index}@there.example>`,
  });
