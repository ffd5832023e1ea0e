import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { createJobs, createLocalEvents, migrate, openSqlite, type ObjectStore } from "../../store/index.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";
import { createSegments, type SegmentsDeps } from "../encode/segments.ts";
import { openTools, streamSettings } from "../media/media.testing.ts";
import type { MediaTools } from "../media/port.ts";
import { createProbe } from "../probe/probe.ts";
import type { Video } from "../videos/video.ts";
import { createVideos, type VideosDeps } from "../videos/videos.ts";
import { TEST_STREAM_SETTINGS, videosTestMigrations } from "../videos/videos.testing.ts";
import { chunksMigrations } from "./chunks-table.ts";
import { createProcessing, type ProcessingDeps } from "./processing.ts";

const ACCOUNT = "a".repeat(32);

interface ProcessingWorldOptions {
  /**
   * Folder of the database and the objects; a second call with the same folder resumes the same videos. Default: a temporary folder of
   * the test.
   */
  folder?: string;
  around?: (tools: MediaTools) => MediaTools;
  aroundObjects?: (objects: ObjectStore) => ObjectStore;
  videos?: Partial<VideosDeps>;
  segments?: Partial<SegmentsDeps>;
  processing?: Partial<ProcessingDeps>;
  /** Default: all components are started. */
  start?: boolean;
}

/** Opens the pipeline from upload to ladder, with SQLite, files and the real ffmpeg. */
export async function openProcessing(t: Pick<TestContext, "after">, options: ProcessingWorldOptions = {}) {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "reelpost-processing-"));
  const settings = streamSettings();
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...videosTestMigrations, ...chunksMigrations]);
  const { aroundObjects = (objects) => objects } = options;
  const objects = aroundObjects(await openWriteOnceObjects({ folder: join(folder, "objects") }));
  const events = createLocalEvents({ log: silentLog });
  const jobs = createJobs({ db, clock: systemClock, ids: randomIds, events, log: silentLog });
  const waiting = new Map<string, (() => void)[]>();
  events.subscribe("stream.video", (uid) => {
    for (const look of waiting.get(uid) ?? []) look();
  });
  const videos = createVideos({
    db,
    objects,
    jobs,
    events,
    clock: systemClock,
    ids: randomIds,
    log: silentLog,
    settings: TEST_STREAM_SETTINGS,
    ...options.videos,
  });
  const real = openTools(t as TestContext);
  const tools = options.around?.(real) ?? real;
  const probe = createProbe({ tools, objects, settings, folder });
  const segments = createSegments({
    tools,
    objects,
    clock: systemClock,
    log: silentLog,
    concurrency: 2,
    scratch: join(folder, "scratch"),
    videoExists: async (uid) => (await videos.find(uid)) !== undefined,
    ...options.segments,
  });
  const processing = createProcessing({
    videos,
    probe,
    segments,
    db,
    jobs,
    objects,
    log: silentLog,
    ...options.processing,
  });
  videos.onDeleted(processing.onVideoDeleted);
  if (options.start !== false) processing.start();
  let closed = false;
  async function close() {
    if (closed) return;
    closed = true;
    await processing.close();
    await segments.close();
    await real.close();
    await videos.close();
    await events.close();
    await db.close();
  }
  t.after(async () => {
    await close();
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  });

  /** Resolves as soon as the row satisfies `wanted`. */
  function until(uid: string, wanted: (video: Video) => boolean): Promise<Video> {
    return new Promise((resolve, reject) => {
      const look = () =>
        videos.find(uid).then((video) => (video !== undefined && wanted(video) ? resolve(video) : undefined), reject);
      waiting.set(uid, [...(waiting.get(uid) ?? []), look]);
      look();
    });
  }

  async function upload(path: string, draft: Parameters<typeof videos.create>[1] = {}): Promise<string> {
    const { uid } = await videos.create(ACCOUNT, draft);
    const key = `stream/${uid}/source`;
    const bytes = await readFile(path);
    await objects.put(key, bytes);
    await videos.uploaded(uid, { key, size: bytes.length });
    return uid;
  }

  async function names(uid: string): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of objects.list(`stream/${uid}/`)) found.push(key.slice(`stream/${uid}/`.length));
    return found;
  }

  return { folder, videos, objects, jobs, segments, processing, upload, until, names, close, account: ACCOUNT };
}
