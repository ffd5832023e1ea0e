import { createReadStream, statSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import { settingsSchema, type SettingsInput } from "../../src/kernel/settings.ts";
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  migrate,
  openFsObjects,
  openSqlite,
} from "../../src/store/index.ts";
import { createProbe } from "../../src/stream/probe/probe.ts";
import { chunksMigrations, createProcessing } from "../../src/stream/processing/index.ts";
import { createSegments, type SegmentsModule } from "../../src/stream/encode/segments.ts";
import { videosMigrations } from "../../src/stream/videos/videos-table.ts";
import { type Video } from "../../src/stream/index.ts";
import { createVideos } from "../../src/stream/videos/index.ts";
import { createMediaTools } from "../../src/stream/media/index.ts";

/** All components between an upload and its ladder, as in a server, in this process. */
interface Pipeline {
  segments: SegmentsModule;
  /** Registers a completed upload: resolves when it is stored and queued. */
  upload(path: string): Promise<string>;
  /** Resolves as soon as `wanted` returns true for the video. Rejects if it fails. */
  until(uid: string, wanted: (video: Video) => boolean): Promise<Video>;
  remove(uid: string): Promise<void>;
}

export async function openPipeline(
  kit: { dir: string; onStop(stop: () => Promise<void> | void): void },
  stream: SettingsInput["stream"] = {},
): Promise<Pipeline> {
  const folder = join(kit.dir, "pipeline");
  await mkdir(folder, { recursive: true });
  const settings = settingsSchema.parse({ stream }).stream;
  const db = openSqlite({ path: join(folder, "reelpost.sqlite") });
  kit.onStop(() => db.close());
  await migrate(db, [...jobsMigrations, ...videosMigrations, ...chunksMigrations]);
  const objects = await openFsObjects({ folder: join(folder, "objects") });
  const basics = { db, objects, clock: systemClock, ids: randomIds, log: silentLog };
  const events = createLocalEvents(basics);
  const jobs = createJobs({ ...basics, events });
  const videos = createVideos({ ...basics, jobs, events, settings });
  kit.onStop(() => videos.close());
  const tools = createMediaTools({ settings, log: silentLog });
  kit.onStop(() => tools.close());
  const probe = createProbe({ tools, objects, settings, folder });
  const segments = createSegments({
    ...basics,
    tools,
    scratch: join(folder, "scratch"),
    videoExists: async (uid) => (await videos.find(uid)) !== undefined,
  });
  kit.onStop(() => segments.close());
  const processing = createProcessing({ ...basics, videos, probe, segments, jobs });
  kit.onStop(() => processing.close());
  await tools.ready();
  processing.start();
  const account = "a".repeat(32);
  return {
    segments,
    async upload(path) {
      const { uid } = await videos.create(account, {});
      const key = `stream/${uid}/source`;
      await objects.put(key, createReadStream(path));
      await videos.uploaded(uid, { key, size: statSync(path).size });
      return uid;
    },
    until: (uid, wanted) =>
      new Promise((resolve, reject) => {
        const stop = events.subscribe("stream.video", () => void look());
        const look = async () => {
          const video = await videos.find(uid);
          if (video?.state === "error") reject(new Error(`the video failed: ${video.errorReason?.code}`));
          if (video !== undefined && wanted(video)) resolve(video);
          if (video === undefined || video.state === "error" || wanted(video)) stop();
        };
        look().catch(reject);
      }),
    async remove(uid) {
      await videos.delete(account, uid);
      await rm(join(folder, "objects", "stream", uid), { recursive: true, force: true });
    },
  };
}
