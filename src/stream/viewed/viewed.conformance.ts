import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import type { DeliveryContext } from "../delivery/route.ts";
import { testModel, testVideo } from "../videos/videos.testing.ts";
import { createUploadSegmentDuration } from "./segment-duration.ts";
import { createViewedMinutes } from "./viewed.ts";
import { viewedMigrations } from "./viewed-table.ts";

const [A, B] = ["a".repeat(32), "b".repeat(32)];
const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 21, 22, 30);

async function open(t: TestContext, engine: TestEngine) {
  const { db, another } = await engine.open(t, viewedMigrations);
  const clock = createManualClock(START);
  const viewed = createViewedMinutes({ db, clock, log: silentLog });
  t.after(() => viewed.close());
  return { viewed, clock, other: async () => createViewedMinutes({ db: await another(), clock, log: silentLog }) };
}

export function viewedConformance(engine: TestEngine): void {
  test("minutes sent by several processes are aggregated by hour and by longer periods", async (t) => {
    const { viewed, clock, other } = await open(t, engine);
    const second = await other();
    for (const one of [viewed, second, viewed]) one.record(A, 60);
    viewed.record(B, 600);
    await Promise.all([viewed.flush(), second.flush()]);
    clock.advance(2 * HOUR);
    viewed.record(A, 30);
    await viewed.flush();
    viewed.record(A, 30);
    await viewed.close();
    const minutes = async (
      period: "hour" | "day" | "week" | "month" | "quarter" | "year",
      since = START,
      limit = 100,
    ) =>
      (await second.minutes(A, { since, until: clock.now(), period, limit })).map(({ begin, minutes: count }) => [
        new Date(begin).toISOString().slice(0, 13),
        count,
      ]);
    assert.deepEqual(await minutes("hour"), [
      ["2026-11-21T22", 3],
      ["2026-11-21T23", 0],
      ["2026-11-22T00", 1],
    ]);
    assert.deepEqual(await minutes("hour", START, 2), [
      ["2026-11-21T22", 3],
      ["2026-11-21T23", 0],
    ]);
    assert.deepEqual(await minutes("day"), [
      ["2026-11-21T00", 3],
      ["2026-11-22T00", 1],
    ]);
    assert.deepEqual(await minutes("week"), [["2026-11-16T00", 4]]);
    assert.deepEqual(await minutes("month", Date.UTC(2026, 9, 31)), [
      ["2026-10-01T00", 0],
      ["2026-11-01T00", 4],
    ]);
    assert.deepEqual(await minutes("quarter"), [["2026-10-01T00", 4]]);
    assert.deepEqual(await minutes("year", Date.UTC(2025, 1)), [
      ["2025-01-01T00", 0],
      ["2026-01-01T00", 4],
    ]);
    assert.deepEqual(await minutes("hour", clock.now() + 2 * HOUR), []);
    clock.advance(551 * 24 * HOUR);
    await second.flush();
    assert.deepEqual(
      await minutes("year", START),
      [
        ["2026-01-01T00", 0],
        ["2027-01-01T00", 0],
        ["2028-01-01T00", 0],
      ],
      "deleted after eighteen months",
    );
  });

  test("video segments count with their duration, but audio segments only in videos without a video track", async (t) => {
    const { viewed } = await open(t, engine);
    const silent = testModel(10);
    const { video: _, ...soundOnly } = silent;
    const length = createUploadSegmentDuration({
      of: async () => ({ video: { segments: [{ start: 0, duration: 2.5 }] } as never }),
    });
    const models = { video: silent, sound: { ...soundOnly, ladder: [] } };
    async function seconds(
      model: keyof typeof models,
      rendition: string,
      file: string,
      { method = "GET", statusCode = 200 } = {},
    ): Promise<number> {
      const account = `${model}${rendition}${file}${method}${statusCode}`.slice(0, 32);
      const viewing = {
        video: testVideo({ account, model: models[model] }),
        params: { rendition, file },
        request: { method },
        response: { statusCode },
      } as unknown as DeliveryContext;
      await viewed
        .watch({ path: "segments/{rendition}/{file}", purpose: "play", handle: async () => {} }, length)
        .handle(viewing);
      await viewed.flush();
      const [point] = await viewed.minutes(account, { since: START, until: START, period: "hour", limit: 1 });
      return Math.round(point!.minutes * 6000) / 100;
    }
    assert.deepEqual(
      [
        await seconds("video", "360p", "0.m4s"),
        await seconds("video", "360p", "2.m4s"),
        await seconds("video", "source", "0.m4s"),
        await seconds("sound", "audio", "1.m4s"),
      ],
      [4, 2, 2.5, 4],
    );
    assert.deepEqual(
      [
        await seconds("video", "audio", "0.m4s"),
        await seconds("video", "audio-x", "0.m4s"),
        await seconds("video", "source-audio", "0.m4s"),
        await seconds("video", "360p", "init.mp4"),
        await seconds("video", "360p", "3.m4s"),
        await seconds("video", "source", "7.m4s"),
      ],
      [0, 0, 0, 0, 0, 0],
    );
    assert.deepEqual(
      [
        await seconds("video", "360p", "0.m4s", { method: "HEAD" }),
        await seconds("video", "360p", "0.m4s", { statusCode: 206 }),
        await seconds("video", "360p", "0.m4s", { statusCode: 304 }),
      ],
      [0, 0, 0],
    );
    const other = { path: "watch", purpose: "page" as const, handle: async () => {} };
    assert.equal(viewed.watch(other, length), other);
  });
}
