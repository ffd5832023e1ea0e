import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createAccounts } from "../../src/accounts/index.ts";
import { randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import { settingsSchema } from "../../src/kernel/settings.ts";
import { migrations } from "../../src/server/index.ts";
import { createJobs, createLocalEvents, migrate, openFsObjects, openSqlite, type Db } from "../../src/store/index.ts";
import type { MediaModel } from "../../src/stream/model.ts";
import { createVideos } from "../../src/stream/videos/index.ts";

/** Bytes of one four-second segment: audio at 128 kbit/s, and the rungs at typical sizes with a capped rate. */
const SIZES = {
  audio: 64_000,
  "240p": 150_000,
  "360p": 320_000,
  "480p": 560_000,
  "720p": 1_120_000,
  "1080p": 2_000_000,
};
const SEGMENTS = 8;

export interface Library {
  /** Directory of the objects. */
  root: string;
  /** The account of the video, and a token with all permissions. */
  account: string;
  token: string;
  segments: { file: string; address: string; size: number }[];
}

/**
 * Creates a data directory with one video whose segments all exist, through the services of the server; only the bytes
 * of the segments are generated. Default database: SQLite in the directory. Closes the database.
 */
export async function createLibrary(directory: string, database?: Db): Promise<Library> {
  mkdirSync(directory, { recursive: true });
  const root = join(directory, "objects");
  const db = database ?? openSqlite({ path: join(directory, "reelpost.sqlite") });
  await migrate(db, migrations);
  const events = createLocalEvents({ log: silentLog });
  const objects = await openFsObjects({ folder: root });
  const parts = { db, objects, events, clock: systemClock, ids: randomIds, log: silentLog };
  const accounts = createAccounts(parts);
  const { account, token } = (await accounts.bootstrap())!;
  // All segments exist, so no encoding job is enqueued.
  const jobs = { ...createJobs(parts), enqueue: () => Promise.resolve("done") };
  const videos = createVideos({ ...parts, jobs, settings: settingsSchema.parse({}).stream });
  const { uid } = await videos.create(account.id, {});
  await videos.uploaded(uid, { key: `stream/${uid}/source`, size: 1 });
  await videos.modelled(uid, model);
  await videos.finished(uid);

  const segments: Library["segments"] = [];
  for (const [rendition, size] of Object.entries(SIZES)) {
    for (let n = 0; n < SEGMENTS; n++) {
      const file = `stream/${uid}/${rendition}/${n}.m4s`;
      await objects.put(file, randomBytes(size), { durable: false });
      segments.push({ file, address: `/${uid}/segments/${rendition}/${n}.m4s`, size });
    }
  }
  await videos.close();
  await accounts.close();
  await events.close();
  await db.close();
  return { root, account: account.id, token, segments };
}

const model: MediaModel = {
  version: 1,
  duration: 4 * SEGMENTS,
  source: { key: "stream/source", format: "mov", start: 0, size: 1 },
  video: {
    stream: 0,
    codec: "h264",
    pixelFormat: "yuv420p",
    width: 1920,
    height: 1080,
    rotation: 0,
    interlaced: false,
    bitrate: 8_000_000,
    keyframeInterval: 2,
    passthrough: false,
  },
  audio: { stream: 1, codec: "aac", channels: 2, sampleRate: 48_000, passthrough: false },
  segments: { fps: { num: 30, den: 1 }, framesPerSegment: 120, frames: 120 * SEGMENTS, count: SEGMENTS },
  ladder: Object.keys(SIZES)
    .filter((name) => name !== "audio")
    .map((name) => {
      const height = Number.parseInt(name, 10);
      return { name, codec: "h264", width: 2 * Math.round((height * 8) / 9), height, bitrate: 1_000_000 };
    }),
};
