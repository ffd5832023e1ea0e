import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { openVideos, refusal, testModel, videosTestMigrations } from "./videos.testing.ts";

const A = "a".repeat(32);
const [FIRST, SECOND] = ["1".repeat(32), "2".repeat(32)];
const INPUT = "f".repeat(32);

export function liveVideosConformance(engine: TestEngine): void {
  test("a broadcast is a video while it runs, ready when it has ended, and an ordinary video once it is stored in one file", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const settled: string[] = [];
    const { videos, clock } = await openVideos(
      t,
      { db },
      { onSettled: async ({ uid, state }) => void settled.push(`${uid} ${state}`) },
    );
    const draft = {
      liveInput: INPUT,
      meta: { name: "Show 23 Nov 26 03:04 UTC" },
      creator: "me",
      requireSignedURLs: true,
      allowedOrigins: ["Example.com"],
    };
    const made = await videos.live.begin(A, FIRST, draft);
    assert.deepEqual(
      [
        made.uid,
        made.state,
        made.liveInput,
        made.duration,
        made.readyToStream,
        made.requireSignedURLs,
        made.allowedOrigins,
      ],
      [FIRST, "live-inprogress", INPUT, -1, false, true, ["example.com"]],
    );
    assert.deepEqual(await videos.live.begin(A, FIRST, { liveInput: INPUT }), made, "repeating it changes nothing");
    assert.deepEqual(
      (await videos.list(A, { type: "live", liveInput: INPUT, states: ["live-inprogress"] })).map(({ uid }) => uid),
      [FIRST],
    );
    await videos.live.playable(FIRST);
    assert.equal((await videos.find(FIRST))!.readyToStreamAt, clock.now());
    assert.equal(
      await videos.live.assembled(FIRST, { key: "k", size: 1, model: testModel(8) }),
      undefined,
      "the broadcast has not ended",
    );

    clock.advance(8000);
    const recording = {
      duration: 8.25,
      size: 1000,
      input: { width: 640, height: 360 },
      scheduledDeletion: clock.now() + 30 * 86_400_000,
    };
    const ready = (await videos.live.recorded(FIRST, recording))!;
    assert.deepEqual(
      [
        ready.state,
        ready.duration,
        ready.size,
        ready.input,
        ready.pctComplete,
        ready.scheduledDeletion,
        ready.uploaded,
      ],
      ["ready", 8.25, 1000, recording.input, 100, recording.scheduledDeletion, clock.now()],
    );
    assert.equal(await videos.live.recorded(FIRST, recording), undefined);
    assert.deepEqual(await videos.storageUsage(A), { usedSeconds: 8.25, reservedSeconds: 0, videos: 1 });
    assert.deepEqual(settled, [`${FIRST} ready`]);

    const model = testModel(8.2);
    const whole = (await videos.live.assembled(FIRST, { key: `stream/${FIRST}/source`, size: 900, model }))!;
    assert.deepEqual(
      [whole.state, whole.sourceKey, whole.duration, whole.model],
      ["ready", `stream/${FIRST}/source`, 8.25, model],
    );
    assert.equal(await videos.live.assembled(FIRST, { key: "other", size: 900, model }), undefined);
    await videos.live.discard(FIRST);
    assert.ok(await videos.find(FIRST), "a stored video is not discarded");
    assert.deepEqual(settled, [`${FIRST} ready`]);
  });

  test("applies an input's access rules only to its own live videos", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db });
    const rulesOf = async (uid: string) => {
      const { requireSignedURLs, allowedOrigins } = (await videos.find(uid))!;
      return { requireSignedURLs, allowedOrigins };
    };
    await videos.live.begin(A, FIRST, { liveInput: INPUT });
    await videos.live.recorded(FIRST, {
      duration: 1,
      size: 1,
      input: { width: 0, height: 0 },
      scheduledDeletion: null,
    });
    await videos.live.begin(A, SECOND, { liveInput: INPUT, allowedOrigins: ["example.com"] });
    await videos.live.setAccessRules(A, INPUT, { requireSignedURLs: true });
    assert.deepEqual(await rulesOf(SECOND), { requireSignedURLs: true, allowedOrigins: ["example.com"] });
    await videos.live.setAccessRules(A, INPUT, { requireSignedURLs: false, allowedOrigins: [] });
    assert.deepEqual(await rulesOf(SECOND), { requireSignedURLs: false, allowedOrigins: [] });
    await videos.live.setAccessRules("b".repeat(32), INPUT, { requireSignedURLs: true });
    await videos.live.setAccessRules(A, "e".repeat(32), { requireSignedURLs: true });
    for (const uid of [FIRST, SECOND])
      assert.deepEqual(await rulesOf(uid), { requireSignedURLs: false, allowedOrigins: [] });
  });

  test("an empty broadcast leaves no video, and one that exceeds the quota is rejected", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const settings = { max_duration_seconds: 36_000, storage_minutes: 1, max_queued: 1, min_deletion_days: 30 };
    const { videos } = await openVideos(t, { db }, { settings });
    await videos.live.begin(A, FIRST, { liveInput: INPUT });
    await videos.live.discard(FIRST);
    assert.equal(await videos.find(FIRST), undefined);
    assert.equal((await videos.storageUsage(A)).videos, 0);
    await videos.live.begin(A, SECOND, { liveInput: INPUT });
    assert.deepEqual(await Promise.all([60, 61].map((seconds) => videos.live.hasQuotaFor(A, seconds))), [true, false]);
    await videos.live.recorded(SECOND, {
      duration: 60,
      size: 1,
      input: { width: 0, height: 0 },
      scheduledDeletion: null,
    });
    assert.match(await refusal(videos.live.begin(A, FIRST, { liveInput: INPUT })), /^quotaExceeded/);
    assert.equal(
      await videos.live.recorded(FIRST, {
        duration: 1,
        size: 1,
        input: { width: 0, height: 0 },
        scheduledDeletion: null,
      }),
      undefined,
    );
  });
}
