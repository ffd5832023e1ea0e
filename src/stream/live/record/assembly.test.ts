import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { clip, countFrames, needsFfmpeg, runFfmpeg } from "../../../../test/support/media.ts";
import { createDelivery } from "../../delivery/delivery.ts";
import { silentLog } from "../../../kernel/index.ts";
import { openTools, streamSettings } from "../../media/media.testing.ts";
import { createProbe } from "../../probe/probe.ts";
import type { Video } from "../../videos/video.ts";
import { openVideos } from "../../videos/videos.testing.ts";
import { createAssembly } from "./assembly.ts";
import { createClipFiles } from "./clip.ts";
import { combineFiles } from "./combine.ts";
import { recordClip } from "./real-run.testing.ts";
import { recordMigrations } from "./record-table.ts";
import { openRecordings, VIDEO } from "./record.testing.ts";

const ACCOUNT = "a".repeat(32);

/** Opens a recording of a test broadcast, and all components that assemble its file. */
async function open(t: TestContext) {
  const { videos, objects, jobs, db, events, clock } = await openVideos(t, undefined, { migrations: recordMigrations });
  const { recordings } = await openRecordings(t, { db, objects });
  const folder = join(process.env["TMPDIR"] ?? "/tmp", `reelpost-assembly-${process.pid}-${Math.random()}`);
  mkdirSync(folder);
  const tools = openTools(t);
  const probe = createProbe({ tools, objects, settings: streamSettings(), folder });
  // Without the background throttling that a server applies.
  const assembly = createAssembly({
    jobs,
    objects,
    videos: videos.live,
    recordings,
    probe,
    tools: { ffmpeg: (run) => tools.ffmpeg({ ...run, urgency: "soon" }) },
    folder,
    log: silentLog,
  });
  t.after(async () => {
    await assembly.close();
    await rm(folder, { recursive: true, force: true });
  });
  await videos.live.begin(ACCOUNT, VIDEO, { liveInput: "1".repeat(32) });
  const recording = await recordings.open(VIDEO);

  /** Ends the broadcast. Resolves with its video once it has a single file, and the path to the file. */
  async function finish(): Promise<{ video: Video; path: string }> {
    await recording.close();
    const { segments: _, width, height, ...summary } = await recordings.finish(VIDEO);
    await videos.live.recorded(VIDEO, { ...summary, input: { width, height }, scheduledDeletion: null });
    await assembly.enqueue(VIDEO);
    const whole = Promise.withResolvers<Video>();
    const look = async () => {
      const video = await videos.find(VIDEO);
      if (video?.model != null) whole.resolve(video);
    };
    events.subscribe("stream.video", () => void look().catch(whole.reject));
    assembly.start();
    const timer = setTimeout(() => whole.reject(new Error("no file in time")), 100_000);
    const video = await whole.promise.finally(() => clearTimeout(timer));
    return { video, path: (await objects.leaseFile(video.sourceKey!))!.path };
  }

  return { videos, recordings, recording, folder, finish, clock };
}

async function lengthsOf(path: string): Promise<Record<string, number>> {
  const { streams } = JSON.parse(
    (
      await runFfmpeg(["-show_entries", "stream=codec_type,start_time,duration", "-of", "json", path], "ffprobe")
    ).toString(),
  ) as { streams: { codec_type: string; start_time: string; duration: string }[] };
  return Object.fromEntries(
    streams.map(({ codec_type: type, start_time: start, duration }) => [type, Number(start) + Number(duration)]),
  );
}

const decoded = (path: string) => runFfmpeg(["-xerror", "-i", path, "-f", "null", "-"]);

test(
  "a recording with discontinuities but equal settings becomes one file without transcoding or gaps",
  needsFfmpeg,
  async (t) => {
    const { recording, finish } = await open(t);
    const source = await clip({});
    const next = await recordClip(recording, source, { run: "1" });
    await recordClip(recording, await clip({ seconds: 3 }), { run: "2", first: next });
    const { video, path } = await finish();
    await decoded(path);
    assert.equal(await countFrames(path), 210);
    const lengths = await lengthsOf(path);
    assert.ok(
      Math.abs(lengths["video"]! - 7) < 0.05 && Math.abs(lengths["audio"]! - lengths["video"]!) < 0.06,
      JSON.stringify(lengths),
    );
    assert.deepEqual(
      [video.state, video.model!.video!.passthrough, video.model!.source.start, video.model!.video!.width],
      ["ready", true, 0, 320],
    );
    assert.ok(Math.abs(video.duration - 7) < 0.05, String(video.duration));
  },
);

test(
  "a recording whose frame size changes, or that partly lacks audio, is transcoded into one file",
  needsFfmpeg,
  async (t) => {
    const { recording, finish, folder } = await open(t);
    let next = await recordClip(recording, await clip({ seconds: 2, size: "160x120", fps: "25" }), {
      run: "1",
      size: [160, 120],
    });
    next = await recordClip(recording, await clip({}), { run: "2", first: next });
    await recordClip(recording, await clip({ seconds: 2, audio: false }), { run: "3", first: next, sound: false });
    const { video, path } = await finish();
    await decoded(path);
    assert.ok(Math.abs((await countFrames(path)) - 240) <= 3, "30 fps, the most common rate");
    const lengths = await lengthsOf(path);
    assert.ok(
      Math.abs(lengths["video"]! - 8) < 0.15 && Math.abs(lengths["audio"]! - 8) < 0.15,
      JSON.stringify(lengths),
    );
    assert.deepEqual(
      [video.model!.video!.width, video.model!.video!.height, video.model!.audio!.channels],
      [320, 180, 2],
    );
    assert.deepEqual(readdirSync(folder), []);
  },
);

test("combines any number of parts, a few at a time", needsFfmpeg, async (t) => {
  const { folder } = await open(t);
  const files = await Promise.all(
    [false, true, false].map(async (audio) => ({
      path: await clip({ seconds: 1, ...(!audio && { audio: false }) }),
      video: true,
      audio,
      duration: 1,
      fps: 29.5,
    })),
  );
  const path = await combineFiles(files, {
    tools: openTools(t),
    folder,
    frameSize: { width: 160, height: 90 },
    signal: new AbortController().signal,
    maxInputs: 2,
  });
  await decoded(path);
  assert.ok(Math.abs((await countFrames(path)) - 90) <= 2);
  const lengths = await lengthsOf(path);
  assert.ok(Math.abs(lengths["video"]! - lengths["audio"]!) < 0.15, JSON.stringify(lengths));
});

test("a few seconds of a running broadcast are available as a file immediately", needsFfmpeg, async (t) => {
  const { recording, recordings, videos, folder } = await open(t);
  await recordClip(recording, await clip({ seconds: 6 }), { run: "1" });
  const delivery = createDelivery({
    routes: createClipFiles({ recordings }),
    access: { check: async () => (await videos.find(VIDEO))! },
    address: () => "127.0.0.1",
    origin: () => "http://localhost",
    log: silentLog,
  });
  const server = createServer((request, response) => void delivery.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => new Promise((resolve) => server.close(resolve)));
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${VIDEO}/clip.mp4`;

  const answer = await fetch(`${at}?time=2.5s&duration=1s&filename=goal`);
  assert.deepEqual(
    [answer.status, answer.headers.get("content-type"), answer.headers.get("content-disposition")],
    [200, "video/mp4", 'attachment; filename="goal.mp4"'],
  );
  const bytes = Buffer.from(await answer.arrayBuffer());
  assert.equal(bytes.length, Number(answer.headers.get("content-length")));
  const path = join(folder, "clip.mp4");
  await writeFile(path, bytes);
  await decoded(path);
  assert.equal(await countFrames(path), 60);
  const part = await fetch(`${at}?time=2.5s&duration=1s`, { headers: { range: "bytes=100-5000" } });
  assert.equal(part.status, 206);
  assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(100, 5001));
  for (const [query, status] of [
    ["time=0s&duration=61s", 400],
    ["time=7s&duration=1s", 400],
    ["duration=3s", 400],
    ["time=0s&duration=3s&filename=a/b", 400],
    ["time=0s&duration=30s", 200],
  ] as const) {
    const { status: got, body } = await fetch(`${at}?${query}`);
    await body?.cancel();
    assert.equal(got, status, query);
  }
});
