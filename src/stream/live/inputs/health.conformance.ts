import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import type { LiveHealth, LiveSession } from "../session.ts";
import { createLiveHealthReports } from "./health.ts";
import { liveInputsMigrations } from "./live-table.ts";

const [INPUT, OTHER] = ["1".repeat(32), "2".repeat(32)];
const health = (frameRate: number): LiveHealth => ({
  videoBitrate: 1,
  audioBitrate: 2,
  frameRate,
  keyFrameInterval: 2,
  longestKeyFrameInterval: 2,
  dropped: 0,
  lost: 0,
  bFrames: false,
  problems: [],
});

export function liveHealthConformance(engine: TestEngine): void {
  test("the health of a broadcast is available in every process, and deleted when it ends", async (t) => {
    const { db, another } = await engine.open(t, liveInputsMigrations);
    const clock = createManualClock(1_000_000);
    const live = new Map<string, number>([
      [INPUT, 25],
      [OTHER, 50],
    ]);
    const session = (uid: string) => ({ input: { uid }, health: () => health(live.get(uid)!) }) as LiveSession;
    const taking = createLiveHealthReports({
      db,
      clock,
      log: silentLog,
      sessions: {
        all: () => Array.from(live.keys(), session),
        of: (uid) => (live.has(uid) ? session(uid) : undefined),
      },
    });
    const asking = createLiveHealthReports({ db: await another(), clock, log: silentLog });
    assert.deepEqual([await taking.of(INPUT), await asking.of(INPUT)], [health(25), undefined]);
    await taking.publish();
    assert.deepEqual([await asking.of(INPUT), await asking.of(OTHER)], [health(25), health(50)]);
    live.set(INPUT, 24).delete(OTHER);
    clock.advance(10_000);
    await taking.publish();
    assert.deepEqual(
      [await asking.of(INPUT), await asking.of(OTHER), await taking.of(OTHER)],
      [health(24), health(50), health(50)],
    );
    clock.advance(10_000);
    assert.deepEqual([await asking.of(INPUT), await asking.of(OTHER)], [health(24), undefined]);
    live.clear();
    clock.advance(60_000);
    await taking.publish();
    assert.deepEqual(
      await db.tables<{ stream_live_health: object }>().selectFrom("stream_live_health").selectAll().execute(),
      [],
    );
    await taking.close();
    await asking.close();
  });

  test("keeps measurements of a broadcast for an hour", async (t) => {
    const { db, another } = await engine.open(t, liveInputsMigrations);
    const clock = createManualClock(10_000_000);
    let frameRate = 25;
    const session = { input: { uid: INPUT }, health: () => health(frameRate) } as LiveSession;
    const published: string[] = [];
    const taking = createLiveHealthReports({
      db,
      clock,
      log: silentLog,
      viewers: async () => 4,
      onPublished: (sessions) => void published.push(...sessions.map(({ input }) => input.uid)),
      sessions: { all: () => [session], of: () => session },
    });
    const asking = createLiveHealthReports({ db: await another(), clock, log: silentLog });
    const start = clock.now();
    await taking.publish();
    clock.advance(5000);
    frameRate = 30;
    await taking.publish();
    const samples = await asking.samples(INPUT, start);
    assert.deepEqual(
      samples.map(({ at, frameRate: rate, viewers }) => [at - start, rate, viewers]),
      [
        [0, 25, 4],
        [5000, 30, 4],
      ],
    );
    assert.equal((await asking.samples(INPUT, start + 1)).length, 1);
    assert.deepEqual(await asking.samples(OTHER, start), []);
    assert.deepEqual(published, [INPUT, INPUT]);
    clock.advance(3_600_000);
    await taking.publish();
    assert.equal((await asking.samples(INPUT, 0)).length, 2);
    await taking.close();
    await asking.close();
  });
}
