import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { createJobs, createLocalEvents, jobsMigrations, migrate, openSqlite } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import { streamMigrations, type MediaModel } from "../../../stream/index.ts";
import { createVideos, createStreamUrls } from "../../../stream/videos/index.ts";

/** Opens videos for testing routes: a separate SQLite database and a manual clock. */
export async function openVideos(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "video-api-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...streamMigrations]);
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const events = createLocalEvents({ log: silentLog });
  const objects = await openWriteOnceObjects({ folder: join(folder, "objects") });
  const jobs = createJobs({ db, clock, ids: randomIds, events, log: silentLog });
  const settings = { max_duration_seconds: 36_000, storage_minutes: 0, max_queued: 120, min_deletion_days: 30 };
  const videos = createVideos({
    db,
    objects,
    jobs,
    events,
    clock,
    ids: randomIds,
    log: silentLog,
    settings,
  });
  const urls = createStreamUrls({ deliveryDomain: "videos.example.com", base: () => "https://api.example.com" });
  t.after(async () => {
    await videos.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { videos, urls, clock, events, objects, jobs, db };
}

/** Returns the media model of a silent video that does not need encoding. */
export const testModel = (duration: number): MediaModel => ({
  version: 1,
  duration,
  source: { key: "stream/x/source", format: "mov", start: 0, size: 1000 },
  video: {
    stream: 0,
    codec: "h264",
    pixelFormat: "yuv420p",
    width: 640,
    height: 360,
    rotation: 0,
    interlaced: false,
    bitrate: 500_000,
    keyframeInterval: 2,
    passthrough: false,
  },
  segments: { fps: { num: 25, den: 1 }, framesPerSegment: 100, frames: duration * 25, count: Math.ceil(duration / 4) },
  ladder: [{ name: "360p", codec: "h264", width: 640, height: 360, bitrate: 800_000 }],
});
