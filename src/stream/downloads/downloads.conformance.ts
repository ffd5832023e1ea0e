import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { clip, mediaClips, needsFfmpeg, runFfmpeg, type ClipRecipe } from "../../../test/support/media.ts";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import type { Segments } from "../encode/port.ts";
import { streamErrors } from "../errors.ts";
import { createSourcePassthrough } from "../passthrough/passthrough.ts";
import { bufferBytes } from "../passthrough/segment-bytes.ts";
import type { SegmentBytes } from "../playback/port.ts";
import type { Video } from "../videos/video.ts";
import { openVideos, testModel, videosTestMigrations } from "../videos/videos.testing.ts";
import { createDownloads, type Downloads, type DownloadsDeps } from "./downloads.ts";
import { assertClean } from "./downloads.testing.ts";
import { downloadsMigrations } from "./downloads-table.ts";
import { downloadKey } from "./make.ts";
import type { Download } from "./types.ts";

const ACCOUNT = "a".repeat(32);
const REORDERED = [
  "-c:v",
  "libx264",
  "-preset",
  "veryfast",
  "-pix_fmt",
  "yuv420p",
  "-x264-params",
  "bframes=3:b-adapt=0",
];
const SOURCE: ClipRecipe = { ...mediaClips.ntsc, video: REORDERED };

export function downloadsConformance(engine: TestEngine): void {
  /** Hooks run in order of registration: workers stop before their database is closed. */
  function closing(t: TestContext) {
    const open: Downloads[] = [];
    t.after(async () => void (await Promise.all(open.map((one) => one.close()))));
    return (parts: DownloadsDeps) => {
      const downloads = createDownloads(parts);
      open.push(downloads);
      return downloads;
    };
  }

  async function setUp(
    t: TestContext,
    { passes = true, assemble }: { passes?: boolean } & Pick<DownloadsDeps, "assemble"> = {},
  ) {
    const create = closing(t);
    const database = await engine.open(t, [...videosTestMigrations, ...downloadsMigrations]);
    const world = await openVideos(t, database);
    const { videos, objects, jobs, db } = world;
    const { uid } = await videos.create(ACCOUNT, { meta: { name: "Kurz & gut.mp4" } });
    const path = await clip(SOURCE);
    const key = `stream/${uid}/source`;
    await objects.put(key, await readFile(path));
    await videos.uploaded(uid, { key, size: 1 });
    const plain = testModel(10);
    await videos.modelled(uid, {
      ...plain,
      source: { ...plain.source, key },
      video: { ...plain.video!, passthrough: passes },
      audio: { stream: 1, codec: "aac", channels: 2, sampleRate: 48_000, passthrough: true },
    });
    await videos.playable(uid);
    const rung = createSourcePassthrough({ objects, log: silentLog, enabled: true });
    const segments = await ladderOf(async (video, n) => rung.segment(passing(video), "audio", n));
    const downloads = create({
      db,
      objects,
      jobs,
      videos,
      segments,
      source: rung,
      clock: systemClock,
      ids: randomIds,
      log: silentLog,
      ...(assemble && { assemble }),
    });
    /** Resolves once the worker has processed the download. */
    async function settled(type = "default"): Promise<Download> {
      for (;;) {
        const found = (await downloads.list(ACCOUNT, uid)).find((one) => one.type === type);
        if (found?.status !== "inprogress") return found!;
        await systemClock.sleep(20);
      }
    }
    const fileOf = async (type: "default" | "audio") => {
      const row = await db
        .tables<{ stream_downloads: { video_uid: string; type: string; build: string } }>()
        .selectFrom("stream_downloads")
        .selectAll()
        .where("video_uid", "=", uid)
        .where("type", "=", type)
        .executeTakeFirstOrThrow();
      return (await objects.leaseFile(downloadKey(uid, type, row.build)))!.path;
    };
    const objectsOf = async () => {
      let count = 0;
      for await (const _ of objects.list(`stream/${uid}/downloads/`)) count++;
      return count;
    };
    return { ...world, create, uid, path, segments, downloads, settled, fileOf, objectsOf };
  }

  describe("a download", needsFfmpeg, () => {
    test("of a ready recording is accepted, and starts once the recording has been merged into one file", async (t) => {
      const assembled: string[] = [];
      const { videos, objects, downloads, uid, path } = await setUp(t, {
        assemble: async (video) => void assembled.push(video),
      });
      const { model } = (await videos.find(uid))!;
      downloads.start();
      const recording = async (letter: string) => {
        const video = letter.repeat(32);
        await videos.live.begin(ACCOUNT, video, { liveInput: "f".repeat(32) });
        await videos.live.playable(video);
        await assert.rejects(
          downloads.create(ACCOUNT, video, "default"),
          (err: { kind?: string }) => err.kind === "notReady",
          "the video is still live",
        );
        await videos.live.recorded(video, {
          duration: 10,
          size: 1,
          input: { width: 320, height: 180 },
          scheduledDeletion: null,
        });
        assert.deepEqual(await downloads.create(ACCOUNT, video, "default"), [
          { type: "default", status: "inprogress", percentComplete: 0 },
        ]);
        await downloads.create(ACCOUNT, video, "audio");
        return video;
      };
      const statusesOf = async (video: string) =>
        Object.fromEntries((await downloads.list(ACCOUNT, video)).map(({ type, status }) => [type, status]));
      const kept = await recording("1");
      assert.deepEqual(assembled, [kept, kept]);
      const key = `stream/${kept}/source`;
      await objects.put(key, await readFile(path));
      const { audio: _, ...silent } = model!;
      await videos.live.assembled(kept, { key, size: 1, model: { ...silent, source: { ...silent.source, key } } });
      await downloads.resume(kept);
      for (;;) {
        const statuses = await statusesOf(kept);
        if (statuses["default"] === "inprogress") await systemClock.sleep(20);
        else {
          assert.deepEqual(statuses, { default: "ready", audio: "error" }, "the video has no audio");
          break;
        }
      }
      // This recording cannot be merged.
      const lost = await recording("2");
      await downloads.resume(lost);
      assert.deepEqual(await statusesOf(lost), { default: "error", audio: "error" });
    });

    test("of a passthrough source has its exact video and audio bytes", async (t) => {
      const { downloads, uid, settled, fileOf, path } = await setUp(t);
      assert.deepEqual(await downloads.create(ACCOUNT, uid, "default"), [
        { type: "default", status: "inprogress", percentComplete: 0 },
      ]);
      downloads.start();
      assert.deepEqual(await settled(), { type: "default", status: "ready", percentComplete: 100 });
      const file = await fileOf("default");
      assert.deepEqual(await pictures(file), await pictures(path));
      await assertClean(file);
      assert.deepEqual(await boxesOf(file), ["ftyp", "moov", "mdat"]);
    });

    test("of an encoded video is its largest rendition, with the encoded timestamps", async (t) => {
      const { downloads, uid, settled, fileOf, path } = await setUp(t, { passes: false });
      downloads.start();
      await downloads.create(ACCOUNT, uid, "default");
      assert.equal((await settled()).status, "ready");
      const file = await fileOf("default");
      await assertClean(file);
      assert.deepEqual(await shownAt(file), await shownAt(path));
      const { streams, format } = JSON.parse(
        (
          await runFfmpeg(
            ["-show_entries", "stream=codec_name,start_time,nb_frames:format=duration", "-of", "json", file],
            "ffprobe",
          )
        ).toString(),
      ) as { streams: Record<string, string>[]; format: { duration: string } };
      assert.deepEqual(
        streams.map(({ codec_name: codec, start_time: start, nb_frames: frames }) => [codec, Number(start), frames]),
        [
          ["h264", 0, "300"],
          ["aac", 0, "469"],
        ],
      );
      assert.ok(Math.abs(Number(format.duration) - 10.01) < 0.05, format.duration);
    });

    test("of audio is an M4A file", async (t) => {
      const { downloads, uid, settled, fileOf } = await setUp(t);
      downloads.start();
      await downloads.create(ACCOUNT, uid, "audio");
      assert.equal((await settled("audio")).status, "ready");
      const file = await fileOf("audio");
      await assertClean(file);
      assert.equal((await readFile(file)).toString("latin1", 8, 12), "M4A ");
      assert.equal(
        (await runFfmpeg(["-show_entries", "stream=codec_type", "-of", "csv=p=0", file], "ffprobe")).toString().trim(),
        "audio",
      );
    });

    test("waits while the encoder is overloaded", async (t) => {
      let busy = 3;
      const world = await setUp(t, { passes: false });
      const segments = await ladderOf(async () => undefined);
      const audioless: Pick<Segments, "get"> = {
        get: (...requested) =>
          busy-- > 0 ? Promise.reject(streamErrors.encoderBusy({ waiting: 9 })) : segments.get(...requested),
      };
      const { db, objects, jobs, videos, uid, create } = world;
      const silent = { get: videos.get, find: async (requested: string) => withoutSound(await videos.find(requested)) };
      const downloads = create({
        db,
        objects,
        jobs,
        videos: silent,
        segments: audioless,
        clock: { now: () => 0, sleep: async () => {} },
        ids: randomIds,
        log: silentLog,
      });
      await downloads.create(ACCOUNT, uid, "default");
      downloads.start();
      assert.equal((await world.settled()).status, "ready");
    });

    test("is built once however often it is requested", async (t) => {
      const { downloads, uid, settled, objectsOf } = await setUp(t);
      await Promise.all([1, 2, 3].map(() => downloads.create(ACCOUNT, uid, "default")));
      downloads.start();
      await settled();
      assert.deepEqual(await downloads.create(ACCOUNT, uid, "default"), [
        { type: "default", status: "ready", percentComplete: 100 },
      ]);
      assert.equal(await objectsOf(), 1);
      await downloads.create(ACCOUNT, uid, "audio");
      assert.deepEqual(
        (await downloads.list(ACCOUNT, uid)).map(({ type }) => type),
        ["default", "audio"],
      );
    });

    test("can be deleted, and created again", async (t) => {
      const { downloads, uid, settled, objectsOf } = await setUp(t);
      await downloads.create(ACCOUNT, uid, "default");
      await downloads.delete(ACCOUNT, uid, "default");
      assert.deepEqual(await downloads.list(ACCOUNT, uid), []);
      await downloads.create(ACCOUNT, uid, "default");
      downloads.start();
      assert.equal((await settled()).status, "ready");
      assert.equal(await objectsOf(), 1);
      await downloads.onVideoDeleted(uid);
      assert.deepEqual([await downloads.list(ACCOUNT, uid), await objectsOf()], [[], 0]);
    });

    test("that is deleted while it is being built leaves nothing behind", async (t) => {
      const { create, db, objects, jobs, videos, uid, objectsOf, segments } = await setUp(t, { passes: false });
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const slow: Pick<Segments, "get"> = {
        get: async (...requested) => (begin(), await released, segments.get(...requested)),
      };
      const downloads = create({
        db,
        objects,
        jobs,
        videos,
        segments: slow,
        clock: systemClock,
        ids: randomIds,
        log: silentLog,
      });
      await downloads.create(ACCOUNT, uid, "default");
      downloads.start();
      await begun;
      await downloads.delete(ACCOUNT, uid, "default");
      release();
      await downloads.close();
      assert.deepEqual([await downloads.list(ACCOUNT, uid), await objectsOf()], [[], 0]);
    });

    test("that fails has the status error, and is retried on the next request", async (t) => {
      const { create, db, objects, jobs, videos, uid, settled, segments } = await setUp(t, { passes: false });
      let broken = true;
      const sometimes: Pick<Segments, "get"> = {
        get: (...requested) =>
          broken ? Promise.reject(streamErrors.encodingFailed({ reason: "no" })) : segments.get(...requested),
      };
      const downloads = create({
        db,
        objects,
        jobs,
        videos,
        segments: sometimes,
        clock: systemClock,
        ids: randomIds,
        log: silentLog,
        backoff: () => 0,
      });
      await downloads.create(ACCOUNT, uid, "default");
      downloads.start();
      assert.equal((await settled()).status, "error");
      broken = false;
      assert.equal((await downloads.create(ACCOUNT, uid, "default"))[0]!.status, "inprogress");
      assert.equal((await settled()).status, "ready");
    });
  });

  test("rejects a download of a video that is not ready, and of audio that does not exist", async (t) => {
    const create = closing(t);
    const { videos, objects, jobs, db } = await openVideos(
      t,
      await engine.open(t, [...videosTestMigrations, ...downloadsMigrations]),
    );
    const downloads = create({
      db,
      objects,
      jobs,
      videos,
      segments: { get: async () => undefined },
      clock: systemClock,
      ids: randomIds,
      log: silentLog,
    });
    const { uid } = await videos.create(ACCOUNT, {});
    await assert.rejects(downloads.create(ACCOUNT, uid, "default"), /not ready/);
    await assert.rejects(downloads.create("b".repeat(32), uid, "default"), /Not Found/);
    await videos.uploaded(uid, { key: `stream/${uid}/source`, size: 1 });
    await videos.modelled(uid, testModel());
    await videos.playable(uid);
    await assert.rejects(downloads.create(ACCOUNT, uid, "audio"), /no audio/);
  });

  test("resumes an abandoned download", async (t) => {
    const create = closing(t);
    const { videos, objects, jobs, db, clock } = await openVideos(
      t,
      await engine.open(t, [...videosTestMigrations, ...downloadsMigrations]),
    );
    const requested: string[] = [];
    const counted = { ...jobs, enqueue: async (kind: string) => (requested.push(kind), "gone") };
    const downloads = create({
      db,
      objects,
      jobs: counted,
      videos,
      segments: { get: async () => undefined },
      clock,
      ids: randomIds,
      log: silentLog,
    });
    const { uid } = await videos.create(ACCOUNT, {});
    await videos.uploaded(uid, { key: `stream/${uid}/source`, size: 1 });
    await videos.modelled(uid, testModel());
    await videos.playable(uid);
    await downloads.create(ACCOUNT, uid, "default");
    await downloads.recover();
    assert.equal(requested.length, 1);
    clock.advance(61_000);
    await downloads.recover();
    assert.equal(requested.length, 2);
  });
}

const passing = (video: Video): Video => ({
  ...video,
  model: { ...video.model!, video: { ...video.model!.video!, passthrough: true } },
});
const withoutSound = (video: Video | undefined): Video | undefined => {
  if (video === undefined) return undefined;
  const { audio: _, ...model } = video.model!;
  return { ...video, model };
};

/** Resolves with renditions as encoded: negative composition offsets, no edit list, one fragment per segment. */
async function ladderOf(
  audio: (video: Video, n: number | "init") => Promise<SegmentBytes | undefined>,
): Promise<Pick<Segments, "get">> {
  if (needsFfmpeg.skip !== false) return { get: async () => undefined };
  const fragments = [
    "-video_track_timescale",
    "90000",
    "-movflags",
    "+cmaf+negative_cts_offsets+default_base_moof+empty_moov+frag_keyframe+skip_trailer",
  ];
  const bytes = await readFile(await clip({ ...SOURCE, audio: false, keyframeSeconds: 4, output: fragments }));
  const parts: Buffer[] = [];
  for (let at = 0, from = 0; at < bytes.length;) {
    at += bytes.readUInt32BE(at);
    const next = bytes.toString("latin1", at + 4, at + 8);
    if (next === "moof" || at >= bytes.length) parts.push(bytes.subarray(from, (from = at)));
  }
  return {
    async get(video, rendition, n) {
      const found =
        rendition === "audio"
          ? await audio(video, n)
          : rendition === "360p"
            ? parts[n === "init" ? 0 : n + 1]
            : undefined;
      return (found instanceof Buffer ? bufferBytes(found) : found) as Awaited<ReturnType<Segments["get"]>>;
    },
  };
}

async function pictures(path: string): Promise<{ pts: number; size: string }[]> {
  const said = await runFfmpeg(
    ["-select_streams", "v:0", "-show_entries", "packet=pts_time,size", "-of", "csv=p=0", path],
    "ffprobe",
  );
  return said
    .toString()
    .trim()
    .split("\n")
    .map((line) => line.split(","))
    .map(([pts, size]) => ({ pts: Math.round(Number(pts) * 1000) / 1000, size: size! }));
}

const shownAt = async (path: string) => (await pictures(path)).map(({ pts }) => pts).sort((a, b) => a - b);

async function boxesOf(path: string): Promise<string[]> {
  const bytes = await readFile(path);
  const types: string[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at))
    types.push(bytes.toString("latin1", at + 4, at + 8));
  return types;
}
