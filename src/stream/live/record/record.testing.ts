import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { type Db, migrate, openSqlite, type ObjectStore } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import type { LiveFragment, LiveRendition, LiveRun } from "../fragments.ts";
import type { LiveSegment, CutSegment } from "../timeline.ts";
import { recordMigrations } from "./record-table.ts";
import { createRecordings, type RecordingsDeps } from "./recordings.ts";

export const VIDEO = "c".repeat(32);
export const TEST_RENDITIONS: LiveRendition[] = [
  {
    name: "source",
    kind: "video",
    codecs: "avc1.64001f",
    peakBandwidth: 1_000_000,
    averageBandwidth: 900_000,
    width: 320,
    height: 180,
    frameRate: 25,
  },
  { name: "audio", kind: "audio", codecs: "mp4a.40.2", peakBandwidth: 128_000, averageBandwidth: 128_000, channels: 2 },
];

export const testRun = (letter: string, more: Partial<LiveRun> = {}): LiveRun => ({
  id: letter.repeat(32),
  started: 1000,
  renditions: TEST_RENDITIONS,
  keyFrames: "source",
  ...more,
});

/** Opens recordings on a real database (default: a separate SQLite) and real objects. */
export async function openRecordings(
  t: Pick<TestContext, "after">,
  {
    db,
    around = (objects) => objects,
    ...more
  }: Partial<Omit<RecordingsDeps, "db">> & { db?: Db; around?: (objects: ObjectStore) => ObjectStore } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-record-"));
  const own = db ?? openSqlite({ path: join(folder, "test.db") });
  if (db === undefined) await migrate(own, recordMigrations);
  const clock = createManualClock(Date.UTC(2026, 10, 23));
  const objects = more.objects ?? (await openWriteOnceObjects({ folder: join(folder, "objects") }));
  t.after(async () => {
    if (db === undefined) await own.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const parts: RecordingsDeps = { db: own, clock, log: silentLog, ...more, objects: around(objects) };
  return { recordings: createRecordings(parts), parts, clock, objects, db: own };
}

interface TestSegment {
  fragments: LiveFragment[];
  cut: CutSegment;
}

/**
 * Returns two seconds of a run: four fragments of video, the first with a key frame, and four of audio, slightly late
 * as usual.
 */
export function testSegment(
  run: LiveRun,
  n: number,
  { runIndex = 0, start = n * 2, size = 1000 }: { runIndex?: number; start?: number; size?: number } = {},
): TestSegment {
  const fragments: LiveFragment[] = [];
  for (let i = 0; i < 4; i++) {
    fragments.push({ rendition: "source", time: start + i / 2, duration: 0.5, key: i === 0, bytes: randomBytes(size) });
    fragments.push({
      rendition: "audio",
      time: start + i / 2 + 0.01,
      duration: 0.5,
      key: true,
      bytes: randomBytes(size / 10),
    });
  }
  const segment: LiveSegment = {
    n,
    run: runIndex,
    start,
    durations: { source: 2, audio: 2 },
    starts: { source: start, audio: start + 0.01 },
  };
  const of = (name: string) => fragments.filter(({ rendition }) => rendition === name).map(({ bytes }) => bytes);
  return { fragments, cut: { run: run.id, segment, bytes: { source: of("source"), audio: of("audio") } } };
}

export const joinFragments = (fragments: readonly LiveFragment[], name: string): Buffer =>
  Buffer.concat(fragments.filter(({ rendition }) => rendition === name).map(({ bytes }) => bytes));

export async function keysOf(objects: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list(prefix)) keys.push(key.slice(prefix.length));
  return keys;
}
