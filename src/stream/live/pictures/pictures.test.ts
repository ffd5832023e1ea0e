import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { clip, needsFfmpeg, runFfmpeg } from "../../../../test/support/media.ts";
import { createManualClock, UserError } from "../../../kernel/index.ts";
import type { Sendable } from "../../delivery/send-bytes.ts";
import type { DeliveryRoute, DeliveryContext } from "../../delivery/route.ts";
import { streamErrors } from "../../errors.ts";
import { openTools } from "../../media/media.testing.ts";
import { testModel, testVideo } from "../../videos/videos.testing.ts";
import type { Video } from "../../videos/video.ts";
import type { LiveTimeline } from "../timeline.ts";
import { createLivePackages } from "../package/packages.ts";
import { positionAt, segmentsFrom } from "./timeline-position.ts";
import { createLiveThumbnails } from "./pictures.ts";

const COLOURS = ["red", "green", "blue"] as const;
const RUN = "1".repeat(32);
const VIDEO = testVideo({
  uid: "a".repeat(32),
  liveInput: "b".repeat(32),
  state: "live-inprogress",
  readyToStream: true,
});

const timelineOf = (segments: number, ended = false): LiveTimeline => ({
  video: VIDEO.uid,
  ended,
  runs: [
    {
      id: RUN,
      started: 0,
      renditions: [
        {
          name: "source",
          kind: "video",
          codecs: "avc1.42c00d",
          peakBandwidth: 100_000,
          averageBandwidth: 100_000,
          width: 320,
          height: 180,
        },
        { name: "audio", kind: "audio", codecs: "mp4a.40.2", peakBandwidth: 1, averageBandwidth: 1 },
      ],
    },
  ],
  segments: Array.from({ length: segments }, (_, n) => ({
    n,
    run: 0,
    start: 100 + n,
    durations: { source: 1, audio: 1.01 },
  })),
});

/**
 * Opens a broadcast with one second of each colour; its times do not start at zero. Its segments of one second begin
 * with key frames, unless `keyframeSeconds` is larger.
 */
async function open(t: TestContext, { keyframeSeconds = 1 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-pictures-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const source = await clip({
    inputs: COLOURS.flatMap((colour) => ["-f", "lavfi", "-i", `color=${colour}:s=320x180:r=25:d=1`]).concat(
      "-filter_complex",
      "[0][1][2]concat=n=3:v=1[out]",
      "-map",
      "[out]",
    ),
    audio: false,
    keyframeSeconds,
  });
  await runFfmpeg([
    "-i",
    source,
    "-c",
    "copy",
    "-output_ts_offset",
    "100",
    "-f",
    "hls",
    "-hls_time",
    ...(keyframeSeconds === 1 ? ["0.5"] : ["1", "-hls_flags", "split_by_time"]),
    "-hls_list_size",
    "0",
    "-hls_segment_type",
    "fmp4",
    "-hls_fmp4_init_filename",
    "init.mp4",
    "-hls_segment_filename",
    join(folder, "%d.m4s"),
    join(folder, "list.m3u8"),
  ]);
  const shown = { segments: 2, ended: false, missing: -1 };
  const clock = createManualClock(1_000_000);
  const scratch = join(folder, "scratch");
  const packages = createLivePackages({ settings: { segment_seconds: 1, part_ms: 1000 } });
  t.after(() => packages.close());
  const bytesOf = (what: number | { run: string }) =>
    readFileSync(join(folder, typeof what === "number" ? `${what}.m4s` : "init.mp4"));
  /** Packages the first segments in this process. */
  function broadcast(segments: number): void {
    const sink = packages.open(VIDEO.uid).run({
      id: RUN,
      started: 0,
      renditions: timelineOf(0).runs[0]!.renditions.slice(0, 1),
      keyFrames: "source",
    });
    sink.init("source", bytesOf({ run: RUN }));
    for (let n = 0; n < segments; n++)
      sink.fragment({
        rendition: "source",
        time: 100 + n,
        duration: 1,
        key: true,
        nextKey: 101 + n,
        bytes: bytesOf(n),
      });
  }
  let drawn = 0;
  const pictures = createLiveThumbnails({
    tools: openTools(t),
    clock,
    folder: scratch,
    packages,
    recordings: {
      timeline: async (uid) =>
        uid === VIDEO.uid && shown.segments > 0 ? timelineOf(shown.segments, shown.ended) : undefined,
      async stored(_video, _rendition, what) {
        if (what === shown.missing || shown.segments === 0) return undefined;
        if (typeof what === "number") drawn++;
        return { bytes: async () => bytesOf(what) };
      },
    },
  });
  const [still, moving] = pictures.wrap(
    ["jpg", "gif"].map((extension) => ({
      path: `thumbnails/thumbnail.${extension}`,
      purpose: "play",
      handle: () => Promise.reject(streamErrors.notReady({ state: "elsewhere" })),
    })),
  );
  const get = async (query = "", video = VIDEO) => {
    const answer = await ask(still!, query, video);
    return { ...answer, ...(await look(folder, answer.bytes)) };
  };
  const getGif = async (query = "", video = VIDEO) => {
    const answer = await ask(moving!, query, video);
    const path = join(folder, "seen.gif");
    writeFileSync(path, answer.bytes);
    const pixels = [
      ...(await runFfmpeg(["-i", path, "-vf", "scale=1:1", "-pix_fmt", "rgb24", "-f", "rawvideo", "pipe:1"])),
    ];
    const frames = Array.from({ length: pixels.length / 3 }, (_, n) => pixels.slice(3 * n, 3 * n + 3));
    return {
      type: answer.type,
      cache: answer.cache,
      frames: frames.length,
      colours: [...new Set(frames.map((frame) => COLOURS[frame.indexOf(Math.max(...frame))]!))],
    };
  };
  async function ask(route: DeliveryRoute, query: string, video: Video) {
    const answer = { bytes: Buffer.alloc(0), cache: undefined as unknown, type: "" };
    await route.handle({
      video,
      query: new URLSearchParams(query),
      sendObject: async (object: Sendable, about: { type: string; cache?: unknown }) =>
        void Object.assign(answer, { bytes: await buffer(object.read()), cache: about.cache, type: about.type }),
    } as unknown as DeliveryContext);
    assert.deepEqual(readdirSync(scratch), []);
    return answer;
  }
  return { get, getGif, shown, broadcast, clock, drawn: () => drawn };
}

async function look(folder: string, jpeg: Buffer): Promise<{ size: string; colour: string }> {
  const path = join(folder, "seen.jpg");
  writeFileSync(path, jpeg);
  const size = (await runFfmpeg(["-show_entries", "stream=width,height", "-of", "csv=p=0:s=x", path], "ffprobe"))
    .toString()
    .trim();
  const pixel = [
    ...(await runFfmpeg(["-i", path, "-vf", "scale=1:1", "-pix_fmt", "rgb24", "-f", "rawvideo", "pipe:1"])),
  ];
  return { size, colour: COLOURS[pixel.indexOf(Math.max(...pixel))]! };
}

test(
  "a running broadcast shows its latest or a requested frame, and its recording the chosen thumbnail",
  needsFfmpeg,
  async (t) => {
    const { get, shown, clock, drawn } = await open(t);
    const now = await get("height=90");
    assert.deepEqual([now.colour, now.size, now.cache], ["green", "160x90", 5]);
    shown.segments = 3;
    assert.equal((await get("height=90")).colour, "green");
    assert.equal(drawn(), 1, "the image is cached for a few seconds");
    clock.advance(5000);
    assert.equal((await get("height=90")).colour, "blue");
    for (const [time, colour] of [
      ["0s", "red"],
      ["0.96s", "red"],
      ["1.5s", "green"],
      ["2.5s", "blue"],
      ["1h", "blue"],
    ] as const)
      assert.equal((await get(`time=${time}`)).colour, colour, time);
    shown.ended = true;
    assert.equal((await get("", { ...VIDEO, state: "ready", thumbnailTimestampPct: 0.5 })).colour, "green");
  },
);

test("a running broadcast has a thumbnail before its first segment has been stored", needsFfmpeg, async (t) => {
  const { get, getGif, shown, broadcast } = await open(t);
  shown.segments = 0;
  broadcast(2);
  assert.equal((await get()).colour, "green");
  assert.equal((await get("time=0.5s")).colour, "red");
  assert.deepEqual((await getGif("duration=2s&fps=5")).colours, ["red", "green"]);
});

test("decodes from an earlier segment if the requested one has no key frame", needsFfmpeg, async (t) => {
  const { get, getGif, shown } = await open(t, { keyframeSeconds: 60 });
  shown.segments = 3;
  assert.equal((await get()).colour, "blue");
  assert.equal((await get("time=1.5s")).colour, "green");
  assert.deepEqual((await getGif("time=1s&duration=2s&fps=5")).colours, ["green", "blue"]);
});

test("a live thumbnail stays for a minute while newer frames cannot be decoded", needsFfmpeg, async (t) => {
  const { get, shown, clock } = await open(t);
  assert.equal((await get()).colour, "green");
  Object.assign(shown, { segments: 3, missing: 2 });
  const isImageFailed = (err: unknown) => err instanceof UserError && err.kind === "imageFailed";
  await assert.rejects(get("time=2.5s"), isImageFailed);
  clock.advance(59_000);
  assert.equal((await get()).colour, "green");
  clock.advance(1000);
  await assert.rejects(get(), isImageFailed);
});

test("reports that recording is off, not that nothing was broadcast", async () => {
  const input = { ...VIDEO, uid: VIDEO.liveInput!, state: "pendingupload" as const };
  const parts = {
    tools: {} as never,
    packages: { of: () => undefined },
    recordings: { timeline: async () => undefined, stored: async () => undefined },
    folder: tmpdir(),
    clock: createManualClock(0),
  };
  for (const [isRecorded, kind] of [
    [false, "liveNotRecorded"],
    [true, "liveNotBegun"],
  ] as const) {
    const [route] = createLiveThumbnails({ ...parts, isRecorded: async () => isRecorded }).wrap([
      { path: "thumbnails/thumbnail.gif", purpose: "play", handle: () => Promise.reject(streamErrors.liveNotBegun()) },
    ]);
    await assert.rejects(
      route!.handle({ video: input, query: new URLSearchParams() } as unknown as DeliveryContext),
      (err: unknown) => err instanceof UserError && err.kind === kind,
    );
  }
});

test(
  "serves the last seconds of a running broadcast, or those from a given time, as an animated GIF",
  needsFfmpeg,
  async (t) => {
    const { getGif, shown } = await open(t);
    shown.segments = 3;
    assert.deepEqual(await getGif("duration=2s&fps=10"), {
      type: "image/gif",
      cache: 5,
      frames: 20,
      colours: ["green", "blue"],
    });
    assert.deepEqual(await getGif("time=0s&duration=1.5s&fps=10"), {
      type: "image/gif",
      cache: 3600,
      frames: 15,
      colours: ["red", "green"],
    });
    // Longer than the current length of the broadcast.
    assert.deepEqual((await getGif("fps=4")).colours, ["red", "green", "blue"]);
    shown.ended = true;
    assert.deepEqual(
      (await getGif("duration=1s&fps=5", { ...VIDEO, state: "ready", thumbnailTimestampPct: 0.4 })).colours,
      ["green", "blue"],
    );
  },
);

test("segmentsFrom stops at a discontinuity and at a gap in the rendition", () => {
  const timeline = timelineOf(5);
  timeline.runs.push({ ...timeline.runs[0]!, id: "2".repeat(32) });
  timeline.segments[4]!.run = 1;
  const from = (n: number, offset: number, seconds: number) =>
    segmentsFrom(timeline, { run: timeline.runs[0]!, rendition: timeline.runs[0]!.renditions[0]!, n, offset }, seconds)
      .segments;
  assert.deepEqual([from(0, 0, 1), from(0, 0.5, 1), from(1, 0, 10)], [[0], [0, 1], [1, 2, 3]]);
  timeline.segments[2]!.durations = { audio: 1 };
  assert.deepEqual(from(0, 0, 10), [0, 1]);
});

test(
  "passes on requests for videos with a file, uploads and broadcasts that have not begun, and rejects invalid parameters",
  needsFfmpeg,
  async (t) => {
    const { get, shown } = await open(t);
    const elsewhere = (err: unknown) => err instanceof UserError && err.kind === "notReady";
    await assert.rejects(get("", { ...VIDEO, model: testModel() }), elsewhere);
    await assert.rejects(get("", testVideo()), elsewhere);
    await assert.rejects(get("", { ...VIDEO, uid: VIDEO.liveInput! }), elsewhere);
    await assert.rejects(get("time=soon"), (err: unknown) => err instanceof UserError && err.kind === "badParameter");
    shown.segments = 0;
    await assert.rejects(get(), elsewhere);
  },
);

test("reads the smallest sufficient rendition, and shows the next frame for moments without video", () => {
  const picture = (name: string, height: number) => ({
    name,
    kind: "video" as const,
    codecs: "avc1.42c00d",
    peakBandwidth: 1,
    averageBandwidth: 1,
    width: height * 2,
    height,
  });
  const timeline = timelineOf(0);
  timeline.runs = [{ id: RUN, started: 0, renditions: [picture("source", 1080), picture("360p", 360)] }];
  const pieces: Record<string, number>[] = [
    { "360p": 0, source: 0, audio: 2 },
    { source: 2 },
    { source: 2, "360p": 2 },
  ];
  timeline.segments = pieces.map((durations, n) => ({ n, run: 0, start: 2 * n, durations }));
  const at = (time: number | "latest", height: number) => {
    const position = positionAt(timeline, time, height);
    return position && [position.n, position.rendition.name, position.offset];
  };
  assert.deepEqual(at(0, 360), [1, "source", 0]);
  assert.deepEqual(at("latest", 360), [2, "360p", 0]);
  assert.deepEqual(at("latest", 361), [2, "source", 0]);
  assert.deepEqual(at("latest", 5000), [2, "source", 0]);
  timeline.segments.length = 1;
  assert.equal(at("latest", 360), undefined);
});
