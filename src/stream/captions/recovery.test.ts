import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { settingsSchema } from "../../kernel/settings.ts";
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  migrate,
  openFsObjects,
  openSqlite,
} from "../../store/index.ts";
import type { Video } from "../videos/video.ts";
import { streamCaptionsMigrations } from "./captions-table.ts";
import { createCaptions } from "./captions.ts";

test("retries generations with a lost job every minute, not only at startup", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const folder = mkdtempSync(join(tmpdir(), "reelpost-captions-"));
  const basics = { clock: createManualClock(0), ids: randomIds, log: silentLog };
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...streamCaptionsMigrations]);
  const events = createLocalEvents({ log: silentLog });
  const jobs = createJobs({ db, events, ...basics });
  const store = { db, objects: await openFsObjects({ folder: join(folder, "objects") }), events, jobs };
  // Its source does not exist, so generation ends immediately.
  const video = {
    uid: "e".repeat(32),
    account: "a".repeat(32),
    readyToStream: true,
    duration: 1,
    model: { audio: {}, source: { key: "gone" } },
  } as Video;
  const captions = createCaptions({
    ...basics,
    ...store,
    folder,
    settings: settingsSchema.parse({ stream: { caption_command: ["/bin/true"] } }).stream,
    tools: { ffmpeg: () => assert.fail("ffmpeg was run") },
    videos: { get: async () => video, find: async () => video },
  });
  t.after(async () => {
    await captions.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  captions.start();
  t.mock.method(store.jobs, "enqueue", () => Promise.reject(new Error("database unavailable")), { times: 1 });
  const ended = new Promise<void>(
    (resolve) =>
      void store.events.subscribe(
        "stream.captions",
        () => void captions.get(video.account, video.uid, "en").then(({ status }) => status === "error" && resolve()),
      ),
  );
  await captions.generate(video.account, video.uid, "en");
  basics.clock.advance(61_000);
  t.mock.timers.tick(60_000);
  await ended;
});
