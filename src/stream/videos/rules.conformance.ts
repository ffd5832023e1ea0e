import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import type { VideoChange, VideoDraft } from "./port.ts";
import type { Video } from "./video.ts";
import { openVideos, refusal, TEST_STREAM_SETTINGS, testModel, videosTestMigrations } from "./videos.testing.ts";

const [A, B] = ["a".repeat(32), "b".repeat(32)];
const DAY = 86_400_000;

export function rulesConformance(engine: TestEngine): void {
  test("invalid properties are rejected with an error that states the rule and the value, both on creation and on edits", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos, clock } = await openVideos(t, { db });
    const now = clock.now();
    const { uid } = await videos.create(A, {});
    const wrong: [VideoChange & VideoDraft, RegExp][] = [
      [{ creator: "c".repeat(65) }, /at most 64 characters, not 65/],
      [{ creator: "a\0b" }, /U\+0000/],
      [{ meta: { x: "y".repeat(16_380) } }, /at most 16384 bytes of JSON, not 16388/],
      [{ allowedOrigins: ["example.com/path"] }, /without a path, not "example.com\/path"/],
      [{ allowedOrigins: ["*"] }, /"\*"/],
      [{ allowedOrigins: ["a b"] }, /"a b"/],
      [{ allowedOrigins: Array.from({ length: 101 }, () => "a.example") }, /at most 100 entries, not 101/],
      [
        { scheduledDeletion: now + 3 * DAY },
        /30 to 1096 days after the video was created, but 2026-11-24T00:00:00.000Z is 3.00 days after/,
      ],
      [{ scheduledDeletion: now + 1097 * DAY }, /1097.00 days after/],
      [{ scheduledDeletion: Number.NaN }, /it is not a time/],
      [{ uploadExpiry: Number.NaN }, /uploadExpiry is not a time/],
      [{ thumbnailTimestampPct: 1.1 }, /from 0 to 1, not 1.1/],
      [{ thumbnailTimestampPct: Number.NaN }, /from 0 to 1/],
      [{ maxDurationSeconds: 0 }, /from 1 to 36000, not 0/],
      [{ maxDurationSeconds: 36_001 }, /from 1 to 36000, not 36001/],
      [{ maxDurationSeconds: 1.5 }, /whole number/],
    ];
    for (const [draft, text] of wrong) {
      assert.match(await refusal(videos.create(A, draft)), text);
      assert.match(await refusal(videos.edit(A, uid, draft)), text);
    }
    assert.match(
      await refusal(videos.edit(A, uid, { publicDetails: { logo: "javascript:alert(1)" } })),
      /publicDetails.logo must be an http or https URL/,
    );
    assert.equal((await videos.list(A)).length, 1);
  });

  test("an edit changes only the given properties, and only from the video's own account", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos, clock } = await openVideos(t, { db });
    const made = await videos.create(A, {
      creator: "ann",
      meta: { name: "a", more: "b\0\ud800" },
      allowedOrigins: ["HTTPS://Example.com/", "*.example.org", "localhost:3000", "[::1]:80"],
    });
    assert.deepEqual(made.allowedOrigins, ["example.com", "*.example.org", "localhost:3000", "[::1]:80"]);
    clock.advance(5);
    const later = clock.now() + 31 * DAY;
    const edited = await videos.edit(A, made.uid, {
      scheduledDeletion: later,
      requireSignedURLs: true,
      publicDetails: { title: "T" },
      thumbnailTimestampPct: 0.5,
    });
    assert.deepEqual(edited, {
      ...made,
      modified: clock.now(),
      scheduledDeletion: later,
      requireSignedURLs: true,
      thumbnailTimestampPct: 0.5,
      publicDetails: { ...made.publicDetails, title: "T" },
    });
    assert.deepEqual(await videos.get(A, made.uid), edited);
    const again = await videos.edit(A, made.uid, {
      scheduledDeletion: null,
      publicDetails: { share_link: "https://example.com/x", title: null },
      meta: {},
      creator: "",
    });
    assert.deepEqual(
      [again.scheduledDeletion, again.publicDetails, again.meta, again.creator],
      [null, { ...made.publicDetails, share_link: "https://example.com/x" }, {}, null],
    );
    const others = [
      () => videos.edit(B, made.uid, { meta: {} }),
      () => videos.delete(B, made.uid),
      () => videos.get(B, made.uid),
      () => videos.edit(A, "x\0", {}),
      () => videos.get(A, "x\0"),
      () => videos.delete(A, ""),
    ];
    for (const work of others) assert.match(await refusal(work()), /^videoNotFound: Not Found/);
  });

  test("minutes can be reserved until the quota is full", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db }, { settings: { ...TEST_STREAM_SETTINGS, storage_minutes: 10 } });
    const first = await videos.create(A, { maxDurationSeconds: 300 });
    const second = await videos.create(A, {});
    assert.equal(
      await refusal(videos.create(A, { maxDurationSeconds: 301 })),
      "quotaExceeded: Storage capacity exceeded: 5 of 10 minutes are used or reserved, 5.02 more requested",
    );
    assert.match(await refusal(videos.edit(A, second.uid, { maxDurationSeconds: 301 })), /^quotaExceeded/);
    await videos.edit(A, second.uid, { maxDurationSeconds: 300 });
    assert.match(await refusal(videos.create(A, {})), /^quotaExceeded: Storage capacity exceeded: 10 of/);
    await videos.create(B, { maxDurationSeconds: 600 });
    await videos.uploaded(first.uid, { key: "k", size: 1 });
    await videos.modelled(first.uid, testModel(30));
    await videos.create(A, { maxDurationSeconds: 270 });
    assert.match(await refusal(videos.create(A, { maxDurationSeconds: 1 })), /^quotaExceeded/);
    await videos.uploaded(second.uid, { key: "k", size: 1 });
    assert.equal((await videos.modelled(second.uid, testModel(290)))?.state, "inprogress");
  });

  test("only one of the videos whose duration is initially unknown may exceed the quota", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db }, { settings: { ...TEST_STREAM_SETTINGS, storage_minutes: 10 } });
    const [small, large, late] = [await videos.create(A, {}), await videos.create(A, {}), await videos.create(A, {})];
    const modelled = async ({ uid }: Video, seconds: number) => {
      await videos.uploaded(uid, { key: "k", size: 1 });
      return (await videos.modelled(uid, testModel(seconds)))?.state;
    };
    assert.deepEqual(
      [await modelled(small, 60), await modelled(large, 3600), await modelled(late, 1)],
      ["inprogress", "inprogress", undefined],
    );
    const { state, errorReason } = await videos.get(A, late.uid);
    assert.deepEqual(
      [state, errorReason],
      [
        "error",
        {
          code: "ERR_DURATION_EXCEED_CONSTRAINT",
          text: "Storage capacity exceeded: 61 of 10 minutes are used or reserved, 0 more requested",
        },
      ],
    );
    assert.equal((await videos.storageUsage(A)).usedSeconds, 3660);
  });

  test("concurrent creations do not exceed the available minutes", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db }, { settings: { ...TEST_STREAM_SETTINGS, storage_minutes: 5 } });
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, () => videos.create(A, { maxDurationSeconds: 60 })),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 5);
    assert.equal((await videos.storageUsage(A)).reservedSeconds, 300);
  });

  test("the number of queued videos is limited", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db }, { settings: { ...TEST_STREAM_SETTINGS, max_queued: 2 } });
    const [one, two] = [await videos.create(A, {}), await videos.create(A, {})];
    await videos.create(A, {});
    for (const { uid } of [one, two]) await videos.uploaded(uid, { key: "k", size: 1 });
    await videos.modelled(one.uid, testModel());
    assert.equal(
      await refusal(videos.create(A, {})),
      "tooManyQueued: Too many videos in the queue: 2 are queued or being encoded",
    );
    await videos.finished(one.uid);
    await videos.create(A, {});
    await videos.create(A, {}, "downloading");
    assert.match(
      await refusal(videos.create(A, {})),
      /^tooManyQueued/,
      "videos that are being downloaded count as well",
    );
    await videos.create(B, {});
  });

  test("the number of pending uploads is limited", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db }, { maxPending: 2 });
    const { uid } = await videos.create(A, {});
    await videos.create(A, {});
    assert.equal(await refusal(videos.create(A, {})), "tooManyPending: Too many pending uploads: the maximum is 2");
    await videos.create(A, {}, "downloading");
    await videos.create(B, {});
    await videos.uploaded(uid, { key: "k", size: 1 });
    await videos.create(A, {});
  });
}
