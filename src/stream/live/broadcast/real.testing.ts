import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Clock, Ids, Log, UserError } from "../../../kernel/index.ts";
import { createJobs, createLocalEvents, jobsMigrations, migrate, openSqlite } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import { createVideos } from "../../videos/videos.ts";
import { videosMigrations } from "../../videos/videos-table.ts";
import { TEST_STREAM_SETTINGS } from "../../videos/videos.testing.ts";
import type { LiveFragment, LiveEncoder } from "../fragments.ts";
import { createLivePackages } from "../package/packages.ts";
import { recordMigrations } from "../record/record-table.ts";
import { createRecordings } from "../record/recordings.ts";
import type { LiveSession } from "../session.ts";
import { INPUT, testInput } from "./broadcast.testing.ts";
import { createBroadcastControllers } from "./broadcasts.ts";
import { broadcastMigrations, createLeasesTable } from "./leases-table.ts";

interface TestSession extends LiveSession {
  end(reason: UserError): void;
  onMade(listener: (fragment: LiveFragment) => void): void;
}

const RENDITIONS = [
  {
    name: "source",
    kind: "video",
    codecs: "avc1.64001f",
    peakBandwidth: 1_000_000,
    averageBandwidth: 1_000_000,
    width: 320,
    height: 180,
  },
  { name: "audio", kind: "audio", codecs: "mp4a.40.2", peakBandwidth: 100_000, averageBandwidth: 100_000, channels: 2 },
] as const;
/** Fragment duration; every fourth video fragment starts with a key frame. */
const EVERY_MS = 250;

/**
 * Real components except publishers and encoders: each publisher sends noise in real time, with a key frame every
 * second.
 */
export async function openBroadcasts({
  folder,
  clock,
  ids,
  log,
  mayWrite = Promise.resolve(),
}: {
  folder: string;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Recordings are not written before this promise resolves. */
  mayWrite?: Promise<void>;
}) {
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...videosMigrations, ...recordMigrations, ...broadcastMigrations]);
  const events = createLocalEvents({ log });
  const objects = await openWriteOnceObjects({ folder: join(folder, "objects") });
  const jobs = createJobs({ db, clock, ids, events, log });
  const settled: string[] = [];
  const errors: string[] = [];
  const videos = createVideos({
    db,
    objects,
    jobs,
    events,
    clock,
    ids,
    log,
    settings: TEST_STREAM_SETTINGS,
  });
  videos.onSettled(async ({ uid }) => void settled.push(uid));
  const recordings = createRecordings({
    db,
    objects: {
      ...objects,
      async put(...given) {
        await mayWrite;
        return objects.put(...given);
      },
    },
    clock,
    log,
    segmentSeconds: 2,
  });
  const packages = createLivePackages({ settings: { segment_seconds: 2, part_ms: 250 } });
  const listeners = new Set<(session: LiveSession) => void>();
  const sessions: LiveSession[] = [];
  const made = new Map<string, (fragment: LiveFragment) => void>();

  const encoder: LiveEncoder = {
    encode(session, begin) {
      const sink = begin({ id: ids.hex(), started: clock.now(), keyFrames: "source", renditions: RENDITIONS });
      for (const { name } of RENDITIONS) sink.init(name, Buffer.from(`init of ${name}`));
      const done = Promise.withResolvers<void>();
      let n = 0;
      const timer = setInterval(() => {
        for (const { name: rendition } of RENDITIONS) {
          const fragment = {
            rendition,
            time: (n * EVERY_MS) / 1000,
            duration: EVERY_MS / 1000,
            key: rendition === "audio" || n % 4 === 0,
            bytes: randomBytes(2000),
          };
          sink.fragment(fragment);
          if (rendition === "source") made.get(session.id)?.(fragment);
        }
        n++;
      }, EVERY_MS);
      const end = () => {
        clearInterval(timer);
        sink.end();
        done.resolve();
      };
      session.signal.addEventListener("abort", end, { once: true });
      return { end, done: done.promise };
    },
  };

  const input = testInput({ recording: { ...testInput().recording, timeoutSeconds: 1 } });
  const broadcasts = createBroadcastControllers({
    leases: createLeasesTable(db),
    clock,
    ids,
    log,
    reconnectSeconds: 120,
    isOnlyProcess: true,
    encoder,
    recordings,
    packages,
    videos: videos.live,
    endSession() {},
    assemble: async () => {},
    sessions: {
      all: () => sessions.filter(({ signal }) => !signal.aborted),
      onSession: (listener) => (listeners.add(listener), () => void listeners.delete(listener)),
    },
    inputs: { find: async (uid) => (uid === INPUT ? input : undefined), onChange: () => () => {} },
    status: { recordState: async () => {}, recordError: async (_uid, code) => void errors.push(code) },
  });

  function connectPublisher(): TestSession {
    const over = new AbortController();
    const id = ids.hex();
    const session: TestSession = {
      id,
      input,
      protocol: "rtmp",
      started: clock.now(),
      tracks: () => ({}),
      signal: over.signal,
      requestKeyFrame() {},
      health: () => {
        throw new Error("not expected in this test");
      },
      subscribe: () => {
        throw new Error("not expected in this test");
      },
      end: (reason) => over.abort(reason),
      onMade: (listener) => void made.set(id, listener),
    };
    sessions.push(session);
    for (const listener of listeners) listener(session);
    return session;
  }

  return {
    broadcasts,
    videos,
    recordings,
    packages,
    objects,
    connectPublisher,
    settled,
    errors,
    async close() {
      await broadcasts.close();
      packages.close();
      await videos.close();
      await events.close();
      await db.close();
    },
  };
}
