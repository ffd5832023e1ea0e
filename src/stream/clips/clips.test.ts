import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../kernel/index.ts";
import { migrate, openSqlite } from "../../store/index.ts";
import { openVideos, refusal, testModel, videosTestMigrations } from "../videos/videos.testing.ts";
import type { Video, WatermarkProfile } from "../videos/video.ts";
import { createClips } from "./clips.ts";

const ACCOUNT = "a".repeat(32);
const profile = (uid: string): WatermarkProfile => ({
  uid,
  name: "",
  size: 1,
  width: 1,
  height: 1,
  opacity: 1,
  padding: 0,
  scale: 0,
  position: "center",
  downloadedFrom: null,
  created: 0,
});

async function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-clips-test-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, videosTestMigrations);
  const world = await openVideos(t, { db });
  t.after(async () => {
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { videos, objects, clock } = world;
  const clips = createClips({ videos, objects, clock, log: silentLog, findWatermark: async (_, uid) => profile(uid) });
  async function upload(
    duration: number,
    { start = 0, ...draft }: Parameters<typeof videos.create>[1] & { start?: number } = {},
  ): Promise<Video> {
    const { uid } = await videos.create(ACCOUNT, draft);
    const key = `stream/${uid}/source`;
    const { size } = await objects.put(key, Buffer.from(`film ${uid}`));
    await videos.uploaded(uid, { key, size });
    const model = testModel(duration);
    return (await videos.modelled(uid, { ...model, source: { ...model.source, key, start, size } }))!;
  }
  return { ...world, clips, upload };
}

test("a clip has the same bytes as its video and is queued for encoding from its start", async (t) => {
  const { clips, upload, objects, videos } = await setUp(t);
  const source = await upload(12.5, { meta: { name: "film" }, scheduledDeletion: null });
  const clip = await clips.create(ACCOUNT, {
    from: source.uid,
    start: 3,
    end: 13,
    meta: { name: "the best of it" },
    creator: "ann",
  });
  assert.deepEqual(
    [clip.state, clip.clippedFrom, clip.clip, clip.meta, clip.creator, clip.size],
    ["queued", source.uid, { start: 3, end: 12.5 }, { name: "the best of it" }, "ann", source.model!.source.size],
  );
  assert.deepEqual(await (await objects.open(clip.sourceKey!))!.bytes(), Buffer.from(`film ${source.uid}`));
  await videos.delete(ACCOUNT, source.uid);
  await objects.delete([source.sourceKey!]);
  assert.notEqual(await objects.open(clip.sourceKey!), undefined);
});

test("the times of a clip of a clip are relative to the start of the first clip", async (t) => {
  const { clips, upload } = await setUp(t);
  const first = await upload(10, { start: 100, clip: { start: 100, end: 110 } });
  assert.deepEqual((await clips.create(ACCOUNT, { from: first.uid, start: 2, end: 5 })).clip, { start: 102, end: 105 });
});

test("access rules and watermark are inherited unless specified, but the scheduled deletion is not", async (t) => {
  const { clips, upload, objects, clock } = await setUp(t);
  const source = await upload(10, {
    requireSignedURLs: true,
    allowedOrigins: ["example.com"],
    watermark: profile("1".repeat(32)),
    scheduledDeletion: clock.now() + 40 * 86_400_000,
  });
  await objects.put(`stream/${source.uid}/watermark.png`, Buffer.from("png"));
  const clip = await clips.create(ACCOUNT, { from: source.uid, start: 0, end: 1 });
  assert.deepEqual(
    [clip.requireSignedURLs, clip.allowedOrigins, clip.watermark?.uid, clip.scheduledDeletion],
    [true, ["example.com"], "1".repeat(32), null],
  );
  assert.notEqual(await objects.open(`stream/${clip.uid}/watermark.png`), undefined);
  const open = await clips.create(ACCOUNT, {
    from: source.uid,
    start: 0,
    end: 1,
    requireSignedURLs: false,
    allowedOrigins: [],
    watermark: "2".repeat(32),
  });
  assert.deepEqual([open.requireSignedURLs, open.allowedOrigins, open.watermark?.uid], [false, [], "2".repeat(32)]);
});

test("a range outside the video is rejected with an error that states the rule and the value", async (t) => {
  const { clips, upload, videos } = await setUp(t);
  const { uid: from } = await upload(9.97);
  for (const [start, end, says] of [
    [-1, 5, /startTimeSeconds.*-1/],
    [1.5, 5, /whole.*1\.5/],
    [5, 5, /endTimeSeconds.*greater than startTimeSeconds/],
    [2, 11, /endTimeSeconds \(11\).*9\.97/],
    [10, 12, /startTimeSeconds \(10\)/],
    [Number.NaN, 1, /NaN/],
  ] as const) {
    assert.match(await refusal(clips.create(ACCOUNT, { from, start, end })), says);
  }
  assert.match(await refusal(clips.create("b".repeat(32), { from, start: 0, end: 1 })), /^videoNotFound/);
  const { uid: pending } = await videos.create(ACCOUNT, {});
  assert.match(await refusal(clips.create(ACCOUNT, { from: pending, start: 0, end: 1 })), /^notReady/);
});

test("a clip whose source is being deleted leaves nothing behind", async (t) => {
  const { clips, upload, objects, videos } = await setUp(t);
  const { uid: from, sourceKey } = await upload(10);
  await objects.delete([sourceKey!]);
  assert.match(await refusal(clips.create(ACCOUNT, { from, start: 0, end: 1 })), /^videoNotFound/);
  assert.deepEqual(
    (await videos.list(ACCOUNT)).map(({ uid }) => uid),
    [from],
  );
});
