import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestDatabase } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, UserError } from "../../kernel/index.ts";
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  migrate,
  openSqlite,
  type Migration,
} from "../../store/index.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";
import type { MediaModel } from "../model.ts";
import { newVideo } from "./new-video.ts";
import type { Video } from "./video.ts";
import { createVideos, type VideosDeps } from "./videos.ts";
import { videosMigrations } from "./videos-table.ts";

/** Migrations for tests of domains built on videos: `engine.open(t, videosTestMigrations)` first. */
export const videosTestMigrations: Migration[] = [...jobsMigrations, ...videosMigrations];

export const TEST_STREAM_SETTINGS = {
  max_duration_seconds: 36_000,
  storage_minutes: 0,
  max_queued: 120,
  min_deletion_days: 30,
};

/**
 * Opens videos with a real database (default: a separate SQLite), real objects in a temporary folder, real jobs, and a
 * stopped clock.
 */
export async function openVideos(
  t: Pick<TestContext, "after">,
  database?: Pick<TestDatabase, "db">,
  {
    migrations = [],
    onSettled,
    ...more
  }: Partial<VideosDeps> & { migrations?: Migration[]; onSettled?: (video: Video) => Promise<void> } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-videos-"));
  const db = database?.db ?? openSqlite({ path: join(folder, "test.db") });
  if (database === undefined) await migrate(db, [...videosTestMigrations, ...migrations]);
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const events = createLocalEvents({ log: silentLog });
  const objects = await openWriteOnceObjects({ folder });
  const jobs = createJobs({ db, clock, ids: randomIds, events, log: silentLog });
  const parts: VideosDeps = {
    db,
    objects,
    jobs,
    events,
    clock,
    ids: randomIds,
    log: silentLog,
    settings: TEST_STREAM_SETTINGS,
    ...more,
  };
  const videos = createVideos(parts);
  if (onSettled !== undefined) videos.onSettled(onSettled);
  t.after(async () => {
    await videos.close();
    await events.close();
    if (database === undefined) await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { videos, clock, events, objects, jobs, db, parts, folder };
}

/** Returns a model of a silent video that is never encoded. */
export const testModel = (duration = 12, more: Partial<MediaModel> = {}): MediaModel => ({
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
  segments: {
    fps: { num: 25, den: 1 },
    framesPerSegment: 100,
    frames: Math.round(duration * 25),
    count: Math.ceil(duration / 4),
  },
  ladder: [{ name: "360p", codec: "h264", width: 640, height: 360, bitrate: 800_000 }],
  ...more,
});

/** Returns a newly created video, for tests that have no table. */
export const testVideo = (more: Partial<Video> = {}): Video => ({
  ...newVideo({ uid: "e".repeat(32), account: "a".repeat(32), now: 0, state: "pendingupload" }, {}),
  ...more,
});

/** Resolves with the `kind: text` of a rejection. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => assert.fail("it was not rejected"),
    (err: unknown) => err,
  );
  assert.ok(error instanceof UserError, String(error));
  return `${error.kind}: ${error.message}`;
}
