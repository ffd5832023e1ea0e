import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { openVideos, refusal, testModel, videosTestMigrations } from "./videos.testing.ts";

const [A, B] = ["a".repeat(32), "b".repeat(32)];

export function videosConformance(engine: TestEngine): void {
  test("a video progresses from upload to ready, and every process sees each step immediately", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const settled: string[] = [];
    const { videos, clock, jobs } = await openVideos(
      t,
      { db },
      { onSettled: async (video) => void settled.push(`${video.uid} ${video.state}`) },
    );
    const made = await videos.create(A, { creator: "me", meta: { name: "One" }, maxDurationSeconds: 60 });
    assert.match(made.uid, /^[0-9a-f]{32}$/);
    assert.deepEqual(await videos.get(A, made.uid), made);
    assert.match(await refusal(videos.get(B, made.uid)), /^videoNotFound/);
    assert.deepEqual(
      [made.state, made.duration, made.input, made.size, made.readyToStream],
      ["pendingupload", -1, { width: -1, height: -1 }, 0, false],
    );

    clock.advance(1000);
    const key = `stream/${made.uid}/source`;
    const queued = await videos.uploaded(made.uid, { key, size: 1000 });
    assert.deepEqual(
      [queued.state, queued.uploaded, queued.size, queued.sourceKey],
      ["queued", clock.now(), 1000, key],
    );
    assert.match(await refusal(videos.uploaded(made.uid, { key, size: 1000 })), /^alreadyUploaded/);
    const requested = Promise.withResolvers<unknown>();
    const worker = jobs.work("stream.process", { concurrency: 1, leaseMs: 10_000 }, async ({ payload }) =>
      requested.resolve(payload),
    );
    assert.deepEqual(await requested.promise, { uid: made.uid });
    await worker.stop();

    const model = testModel(12.5);
    const inProgress = await videos.modelled(made.uid, model);
    assert.deepEqual(
      [inProgress?.state, inProgress?.step, inProgress?.duration, inProgress?.input, inProgress?.model],
      ["inprogress", "encoding", 12.5, { width: 640, height: 360 }, model],
    );
    assert.equal((await videos.modelled(made.uid, testModel(99)))?.duration, 12.5, "the first model is kept");
    await videos.playable(made.uid);
    assert.equal((await videos.find(made.uid))!.readyToStreamAt, clock.now());
    await videos.progress(made.uid, 40);
    await videos.progress(made.uid, 30);
    assert.equal((await videos.find(made.uid))!.pctComplete, 40);
    await videos.finished(made.uid);
    const ready = (await videos.find(made.uid))!;
    assert.deepEqual(
      [ready.state, ready.pctComplete, ready.readyToStream, ready.step],
      ["ready", 100, true, undefined],
    );
    await videos.failed(made.uid, "ERR_UNKNOWN");
    await videos.finished(made.uid);
    assert.equal((await videos.find(made.uid))!.state, "ready");
    assert.deepEqual(settled, [`${made.uid} ready`]);
  });

  test("a change by another process is visible in this process", async (t) => {
    const { db, another } = await engine.open(t, videosTestMigrations);
    const here = await openVideos(t, { db });
    // Events on the same machine, like those that PostgreSQL delivers from another machine.
    const there = await openVideos(t, { db: await another() }, { events: here.events });
    const { uid } = await here.videos.create(A, { meta: { name: "before" } });
    assert.equal((await there.videos.get(A, uid)).meta["name"], "before");
    await here.videos.edit(A, uid, { meta: { name: "after" } });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await there.videos.get(A, uid)).meta["name"], "after");
    await here.videos.delete(A, uid);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await there.videos.find(uid), undefined);
  });

  test("progress is written at most twice a second, and the last value is always written", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos, clock, events } = await openVideos(t, { db });
    const { uid } = await videos.create(A, {});
    await videos.uploaded(uid, { key: "k", size: 1 });
    await videos.modelled(uid, testModel());
    let changes = 0;
    const written = Promise.withResolvers<void>();
    events.subscribe("stream.video", () => ++changes === 2 && written.resolve());
    await new Promise((resolve) => setImmediate(resolve));
    changes = 0;
    for (const pct of [10, 20, 30, 25]) await videos.progress(uid, pct);
    assert.equal((await videos.find(uid))!.pctComplete, 10);
    clock.advance(500);
    await written.promise;
    assert.equal((await videos.find(uid))!.pctComplete, 30);
    assert.equal(changes, 2);
    await videos.progress(uid, 60);
    await videos.finished(uid);
    clock.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await videos.find(uid))!.pctComplete, 100);
  });

  test("only one of several concurrent callers finishes an upload", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db });
    const { uid } = await videos.create(A, {});
    const results = await Promise.allSettled([1, 2, 3].map((size) => videos.uploaded(uid, { key: `k${size}`, size })));
    assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected", "rejected"]);
  });
}
