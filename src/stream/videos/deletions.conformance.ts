import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import type { Jobs, ObjectStore } from "../../store/index.ts";
import { openVideos, testModel, videosTestMigrations } from "./videos.testing.ts";

const A = "a".repeat(32);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

async function keysOf(objects: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list("stream/")) keys.push(key);
  return keys;
}

/** Records the enqueued jobs. */
function withLog({ enqueue, ...jobs }: Jobs, enqueued: string[]): Jobs {
  return {
    ...jobs,
    enqueue: async (kind, payload, options) => {
      const id = await enqueue(kind, payload, options);
      enqueued.push(`${kind} ${(payload as { uid: string }).uid}`);
      return id;
    },
  };
}

export function deletionsConformance(engine: TestEngine): void {
  test("a deleted video disappears immediately, and its data soon after, including data of other domains", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const enqueued: string[] = [];
    const { jobs, clock } = await openVideos(t, { db });
    const { videos, objects, folder } = await openVideos(t, { db }, { jobs: withLog(jobs, enqueued), clock });
    const { uid } = await videos.create(A, {});
    const other = (await videos.create(A, {})).uid;
    for (const key of [`stream/${uid}/source`, `stream/${uid}/360p/0.m4s`, `stream/${other}/source`])
      await objects.put(key, Buffer.from("x"));
    const cleaned: string[] = [];
    videos.onDeleted(async (id) => void cleaned.push(id));
    await videos.delete(A, uid);
    assert.equal(await videos.find(uid), undefined);
    videos.start();
    while (enqueued.length < 2) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([cleaned, await keysOf(objects)], [[uid], [`stream/${other}/source`]]);
    // Empty rendition folders are removed as well.
    assert.deepEqual(readdirSync(join(folder, "stream")), [other]);
    // An encoder that has not noticed the deletion writes another segment.
    await objects.put(`stream/${uid}/360p/1.m4s`, Buffer.from("x"));
    const listed = () =>
      db.tables<{ stream_deletions: { uid: string } }>().selectFrom("stream_deletions").select("uid").execute();
    assert.equal((await listed()).length, 1);
    clock.advance(10 * MINUTE);
    // Advances in small steps, because the lease must not expire while the job runs.
    while ((await listed()).length > 0) {
      clock.advance(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(cleaned, [uid, uid]);
    assert.deepEqual(readdirSync(join(folder, "stream")), [other]);
    assert.deepEqual(await keysOf(objects), [`stream/${other}/source`]);
  });

  test("after a process crash, processing, notifications and deletions resume", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const failingJobs: Jobs = {
      enqueue: () => Promise.reject(new Error("kill -9")),
      enqueueClaimed: () => assert.fail(),
      work: () => assert.fail(),
      get: () => assert.fail(),
    };
    const before = await openVideos(
      t,
      { db },
      { jobs: failingJobs, onSettled: () => Promise.reject(new Error("kill -9")) },
    );
    const uids: string[] = [];
    for (let i = 0; i < 4; i++) uids.push((await before.videos.create(A, {})).uid);
    const [queued, deleted, encoding, completed] = uids as [string, string, string, string];
    for (const uid of [queued, encoding, completed])
      await assert.rejects(before.videos.uploaded(uid, { key: "k", size: 1 }), /kill -9/);
    await assert.rejects(before.videos.delete(A, deleted), /kill -9/);
    for (const uid of [encoding, completed]) await before.videos.modelled(uid, testModel());
    await before.videos.finished(completed);

    const [enqueued, settled]: [string[], string[]] = [[], []];
    const { videos, clock } = await openVideos(
      t,
      { db },
      {
        jobs: withLog(before.jobs, enqueued),
        onSettled: async ({ uid, state }) => void settled.push(`${uid} ${state}`),
      },
    );
    await videos.recover();
    assert.deepEqual([enqueued, settled], [[], []], "a video between two writes is left alone");
    clock.advance(11_000);
    enqueued.length = 0;
    await videos.recover();
    assert.deepEqual([enqueued.sort(), settled], [[`stream.process ${queued}`], [`${completed} ready`]]);
    clock.advance(5 * MINUTE);
    enqueued.length = 0;
    await videos.recover();
    assert.deepEqual(
      [enqueued.sort(), settled],
      [[`stream.process ${encoding}`], [`${completed} ready`]],
      "a waiting job is not enqueued again, and a notification is not repeated",
    );
    enqueued.length = 0;
    clock.advance(60 * MINUTE);
    await videos.recover();
    assert.deepEqual(enqueued, [`stream.delete ${deleted}`]);
  });

  test("a video whose source is permanently lost fails", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos, clock } = await openVideos(t, { db });
    const clip = await videos.create(A, {}, "queued");
    const copy = await videos.create(A, {}, "downloading");
    clock.advance(59 * MINUTE);
    await videos.recover();
    assert.deepEqual(
      [(await videos.find(clip.uid))!.state, (await videos.find(copy.uid))!.state],
      ["queued", "downloading"],
    );
    clock.advance(2 * MINUTE);
    await videos.recover();
    assert.deepEqual(
      [(await videos.find(clip.uid))!.errorReason?.code, (await videos.find(copy.uid))!.state],
      ["ERR_UNKNOWN", "downloading"],
    );
    clock.advance(2 * DAY);
    await videos.recover();
    assert.equal((await videos.find(copy.uid))!.errorReason?.code, "ERR_FETCH_ORIGIN_ERROR");
  });

  test("videos are deleted on their scheduled date, and unused uploads when their URL expires", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const arriving = new Set<string>();
    const { videos, clock } = await openVideos(t, { db });
    videos.beforeExpiry(async (uid) => arriving.has(uid));
    const now = clock.now();
    const scheduled = await videos.create(A, { scheduledDeletion: now + 30 * DAY });
    const [never, slow, inTime] = [
      await videos.create(A, { uploadExpiry: now + MINUTE }),
      await videos.create(A, { uploadExpiry: now + MINUTE }),
      await videos.create(A, { uploadExpiry: now + MINUTE }),
    ];
    arriving.add(slow.uid);
    await videos.uploaded(inTime.uid, { key: "k", size: 1 });
    const left = async () => new Set((await videos.list(A)).map(({ uid }) => uid));
    await videos.sweep();
    assert.equal((await left()).size, 4);
    clock.advance(MINUTE);
    await videos.sweep();
    assert.deepEqual(await left(), new Set([scheduled.uid, slow.uid, inTime.uid]));
    assert.equal(await videos.find(never.uid), undefined);
    clock.advance(DAY);
    await videos.sweep();
    assert.deepEqual(await left(), new Set([scheduled.uid, inTime.uid]));
    clock.advance(29 * DAY);
    await videos.sweep();
    assert.deepEqual(await left(), new Set([inTime.uid]));
  });
}
