import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { clip, type ClipRecipe, mediaClips, needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import { silentLog, UserError } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import type { DeliveryContext } from "../delivery/route.ts";
import { openProbe } from "../probe/probe.testing.ts";
import { testVideo } from "../videos/videos.testing.ts";
import type { Video } from "../videos/video.ts";
import { createThumbnails } from "./thumbnails.ts";
import { readTime } from "./image-request.ts";

/** Two seconds of red, then two of blue; the right half is black. */
const HALVES: ClipRecipe = {
  inputs: [
    "-f",
    "lavfi",
    "-i",
    "color=red:s=320x180:r=30:d=2[a];color=blue:s=320x180:r=30:d=2[b];[a][b]concat=n=2:v=1,drawbox=x=160:w=160:h=180:color=black:t=fill[out0]",
  ],
  audio: false,
  keyframeSeconds: 1,
};

async function open(t: TestContext, recipe: ClipRecipe, more: Partial<Video> = {}, maxStoredImages?: number) {
  const { tools, objects, probeFile } = await openProbe(t);
  const { uid } = testVideo();
  const model = await probeFile(await clip(recipe), { uid });
  // Objects of a video are stored under its own uid; the test's probe stored its file elsewhere.
  const video = testVideo({ model, state: "ready", ...more });
  let runs = 0;
  const counted = { ...tools, ffmpeg: (run: Parameters<typeof tools.ffmpeg>[0]) => (runs++, tools.ffmpeg(run)) };
  const thumbnails = createThumbnails({
    tools: counted,
    objects,
    videos: { find: async (requested) => (requested === uid ? video : undefined) },
    log: silentLog,
    ...(maxStoredImages !== undefined && { maxStoredImages }),
  });

  /** Resolves with the response that a viewer receives. */
  async function get(path: string, shown: Video = video): Promise<{ bytes: Buffer; type: string; cache: unknown }> {
    const [name, query] = path.split("?");
    const route = thumbnails.routes.find((one) =>
      new RegExp(`^${one.path.replace("{sheet}", "([^/]+)")}$`).test(`thumbnails/${name}`),
    )!;
    const answer = { bytes: Buffer.alloc(0), type: "", cache: undefined as unknown };
    await route.handle({
      video: shown,
      params: { sheet: /-([^-]+)\.jpg$/.exec(name!)?.[1] ?? "" },
      query: new URLSearchParams(query),
      sendObject: async (object: ObjectHandle, about: { type: string; cache?: unknown }) =>
        void Object.assign(answer, { bytes: await object.bytes(), type: about.type, cache: about.cache }),
      sendText: (text: string, about: { type: string; cache?: unknown }) =>
        void Object.assign(answer, { bytes: Buffer.from(text), type: about.type, cache: about.cache }),
    } as unknown as DeliveryContext);
    return answer;
  }
  return { get, thumbnails, video, objects, runs: () => runs };
}

/**
 * Red; five seconds of blue and five seconds of white from second 15; then red again. A key frame every ten seconds.
 */
const BETWEEN: ClipRecipe = {
  inputs: [
    "-f",
    "lavfi",
    "-i",
    "color=red:s=320x180:r=30:d=15[a];color=blue:s=320x180:r=30:d=5[b];color=white:s=320x180:r=30:d=5[c];color=red:s=320x180:r=30:d=15[d];[a][b][c][d]concat=n=4:v=1[out0]",
  ],
  audio: false,
  keyframeSeconds: 10,
  output: ["-g", "1000"],
};

/** Opens a section of a file, like a clip. */
async function openClip(t: TestContext, recipe: ClipRecipe, start: number, end: number) {
  const world = await open(t, recipe, { clip: { start, end } });
  const model = { ...world.video.model!, duration: end - start, source: { ...world.video.model!.source, start } };
  return { ...world, get: (path: string) => world.get(path, { ...world.video, model }) };
}

/** Decodes an image: its frames, size and selected pixels of the first frame. */
async function seen(t: TestContext, bytes: Buffer) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-image-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "image");
  await writeFile(path, bytes);
  // Every PPM states its size, so one run of ffmpeg suffices: a start takes a tenth of a second.
  const images = await runFfmpeg(["-i", path, "-fps_mode", "passthrough", "-c:v", "ppm", "-f", "image2pipe", "pipe:1"]);
  const [header, width, height] = /^P6\s(\d+) (\d+)\s255\s/.exec(images.toString("latin1", 0, 32))!;
  const frames = images.length / (header.length + Number(width) * Number(height) * 3);
  const pixels = images.subarray(header.length);
  const codec = bytes.readUInt16BE() === 0xffd8 ? "mjpeg" : bytes.toString("latin1", 0, 3).toLowerCase();
  const colour = (x: number, y: number) => {
    const at = (Math.floor(y * Number(height)) * Number(width) + Math.floor(x * Number(width))) * 3;
    const [red, green, blue] = pixels.subarray(at, at + 3);
    return red! > 150
      ? green! > 150
        ? "white"
        : "red"
      : blue! > 150
        ? "blue"
        : Math.max(red!, green!, blue!) < 90
          ? "black"
          : `${red},${green},${blue}`;
  };
  return { codec, size: `${width}x${height}`, frames, colour };
}

async function keysByPrefix(objects: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list(prefix)) keys.push(key);
  return keys;
}

const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => "nothing",
    (err: unknown) => (err instanceof UserError ? `${err.kind} ${err.entry.http}` : String(err)),
  );

describe("thumbnails", needsFfmpeg, () => {
  test("default to the video's timestamp and to its native size, up to 640 pixels", async (t) => {
    const { get, video } = await open(t, HALVES);
    const { bytes, type, cache } = await get("thumbnail.jpg");
    const first = await seen(t, bytes);
    assert.deepEqual(
      [type, cache, first.codec, first.size, first.colour(0.2, 0.5), first.colour(0.8, 0.5)],
      ["image/jpeg", 300, "mjpeg", "320x180", "red", "black"],
    );
    const later = await seen(t, (await get("thumbnail.jpg", { ...video, thumbnailTimestampPct: 0.75 })).bytes);
    assert.equal(later.colour(0.2, 0.5), "blue");
    const large = await open(t, mediaClips.hd);
    assert.equal((await seen(t, (await large.get("thumbnail.jpg")).bytes)).size, "640x360");
  });

  test("accept a time in every form, and show the last frame for a time beyond the end", async (t) => {
    const { get } = await open(t, HALVES);
    for (const [time, colour] of [
      ["0s", "red"],
      ["1.9s", "red"],
      ["2s", "blue"],
      ["3", "blue"],
      ["0m3s", "blue"],
      ["4s", "blue"],
      ["1h", "blue"],
    ] as const) {
      const { bytes, cache } = await get(`thumbnail.jpg?time=${time}`);
      assert.deepEqual([time, (await seen(t, bytes)).colour(0.2, 0.5), cache], [time, colour, 86_400]);
    }
    assert.deepEqual(["8m", "5m2s", "1s", "1h12m27s", "90", "1.5s", "", "x", "-1", "1s5m", "1e3"].map(readTime), [
      480,
      302,
      1,
      4347,
      90,
      1.5,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("compute a missing dimension from the other, and apply each `fit` if both are given", async (t) => {
    const { get } = await open(t, HALVES);
    const look = async (query: string) => {
      const { size, colour } = await seen(t, (await get(`thumbnail.jpg?time=1s&${query}`)).bytes);
      return `${size} ${colour(0.1, 0.5)} ${colour(0.9, 0.5)} ${colour(0.1, 0.05)}`;
    };
    assert.equal(await look("height=90"), "160x90 red black red");
    assert.equal(await look("width=90"), "90x51 red black red");
    assert.equal(await look("width=200&height=200"), "200x200 red black red");
    assert.equal(await look("width=200&height=200&fit=clip"), "200x113 red black red");
    assert.equal(await look("width=200&height=200&fit=scale"), "200x200 red black red");
    assert.equal(await look("width=200&height=200&fit=fill"), "200x200 red black black");
  });

  test("are rotated like the video", async (t) => {
    const { get } = await open(t, { ...HALVES, rotate: 90 });
    const { size, colour } = await seen(t, (await get("thumbnail.jpg")).bytes);
    assert.deepEqual([size, colour(0.5, 0.2), colour(0.5, 0.8)], ["180x320", "red", "black"]);
  });

  test("include the watermark, and support unusual pixel formats", async (t) => {
    const { get, objects, video } = await open(t, HALVES);
    const png = await runFfmpeg([
      "-f",
      "lavfi",
      "-i",
      "color=white:s=50x50",
      "-frames:v",
      "1",
      "-c:v",
      "png",
      "-f",
      "image2pipe",
      "pipe:1",
    ]);
    const key = "stream/mark/watermark.png";
    await objects.put(key, png);
    const model = {
      ...video.model!,
      watermark: { key, width: 50, height: 50, opacity: 1, padding: 0.05, scale: 0.3, position: "upperRight" as const },
    };
    const { colour } = await seen(t, (await get("thumbnail.jpg?time=1s&height=178", { ...video, model })).bytes);
    assert.deepEqual([colour(0.88, 0.15), colour(0.2, 0.5)], ["white", "red"]);
    const x265 = [
      "-c:v",
      "libx265",
      "-preset",
      "ultrafast",
      "-pix_fmt",
      "yuv420p10le",
      "-x265-params",
      "log-level=none:transfer=smpte2084:colorprim=bt2020:colormatrix=bt2020nc",
      "-color_trc",
      "smpte2084",
    ];
    const odd: ClipRecipe[] = [
      { seconds: 1, video: x265, audio: false },
      {
        seconds: 1,
        filter: "scale=321:241,setsar=1,format=yuv444p",
        video: ["-c:v", "libx264", "-preset", "ultrafast"],
      },
      mediaClips.transportStream,
    ];
    for (const recipe of odd)
      assert.ok((await (await open(t, recipe)).get("thumbnail.jpg?time=0.5s")).bytes.length > 500);
  });

  test("can be animated", async (t) => {
    const { get } = await open(t, HALVES);
    const { bytes, type } = await get("thumbnail.gif?time=1s&height=90");
    const usual = await seen(t, bytes);
    // Only three of the five seconds exist.
    assert.deepEqual(
      [type, usual.codec, usual.size, usual.frames, usual.colour(0.2, 0.5)],
      ["image/gif", "gif", "160x90", 24, "red"],
    );
    assert.equal((await seen(t, (await get("thumbnail.gif?time=1s&height=90&duration=2s&fps=5")).bytes)).frames, 10);
  });

  test("reject invalid parameters before anything is started", async (t) => {
    const { get, video, runs } = await open(t, HALVES);
    const before = runs();
    for (const query of ["time=abc", "width=0", "height=99999", "width=1.5", "fit=cover", "height=-1"])
      assert.equal(await kindOf(get(`thumbnail.jpg?${query}`)), "badParameter 400", query);
    for (const query of ["duration=1h", "fps=1000", "fps=0", "fps=x", "height=2000"])
      assert.equal(await kindOf(get(`thumbnail.gif?${query}`)), "badParameter 400", query);
    assert.equal(await kindOf(get("storyboard-1.jpg")), "videoNotFound 404");
    assert.equal(await kindOf(get("storyboard-x.jpg")), "videoNotFound 404");
    const { video: _, ...sound } = video.model!;
    for (const path of ["thumbnail.jpg", "thumbnail.gif", "storyboard.vtt"]) {
      if (path !== "thumbnail.jpg")
        assert.equal(await kindOf(get(path, { ...video, model: { ...sound, ladder: [] } })), "noPictures 404");
      assert.equal(await kindOf(get(path, { ...video, model: null, state: "queued" })), "notReady 409");
    }
    assert.equal(runs(), before);
    assert.equal(
      await kindOf(
        get("thumbnail.jpg", {
          ...video,
          model: { ...video.model!, source: { ...video.model!.source, key: "stream/none/source" } },
        }),
      ),
      "imageFailed 424",
    );
  });

  test("show a waveform or the embedded cover for an audio-only video", async (t) => {
    // The audio starts with silence, so the left part of the waveform is a line.
    const quietThenLoud = ["-f", "lavfi", "-i", "aevalsrc='if(gt(t,2),sin(880*PI*t),0)':s=48000:d=4"];
    const plain = await open(t, {
      inputs: quietThenLoud,
      video: false,
      extension: "mp3",
      audio: ["-c:a", "libmp3lame"],
    });
    const waveform = await seen(t, (await plain.get("thumbnail.jpg?width=320&height=180")).bytes);
    assert.deepEqual(
      [
        waveform.codec,
        waveform.size,
        waveform.colour(0.75, 0.5) === waveform.colour(0.75, 0.02),
        waveform.colour(0.25, 0.4) === waveform.colour(0.25, 0.02),
      ],
      ["mjpeg", "320x180", false, true],
    );
    const covered = await open(t, {
      inputs: [...quietThenLoud, "-f", "lavfi", "-i", "color=red:s=200x200:d=1:r=1"],
      video: ["-map", "0:a", "-map", "1:v", "-c:v", "mjpeg", "-frames:v", "1", "-disposition:v", "attached_pic"],
      extension: "mp3",
      audio: ["-c:a", "libmp3lame"],
    });
    const cover = await seen(t, (await covered.get("thumbnail.jpg?width=320&height=180")).bytes);
    assert.deepEqual([cover.size, cover.colour(0.5, 0.5)], ["320x180", "red"]);
    assert.equal((await seen(t, (await plain.get("thumbnail.jpg")).bytes)).size, "640x360");
  });

  test("are rendered once for concurrent requests, and not stored above the limit", async (t) => {
    const { get, objects, runs, video, thumbnails } = await open(t, HALVES, {}, 2);
    const all = await Promise.all(Array.from({ length: 20 }, () => get("thumbnail.jpg?height=90")));
    assert.deepEqual([runs(), new Set(all.map(({ bytes }) => bytes.toString("hex"))).size], [1, 1]);
    await get("thumbnail.jpg?height=90");
    assert.equal(runs(), 1);
    assert.ok((await thumbnails.poster(video)).size > 0);
    assert.equal((await thumbnails.poster(video)).size, (await get("thumbnail.jpg")).bytes.length);
    assert.equal(runs(), 2);
    for (const time of [1, 2, 2]) assert.ok((await get(`thumbnail.jpg?time=${time}`)).bytes.length > 0);
    assert.equal(runs(), 5);
    assert.equal((await keysByPrefix(objects, `stream/${video.uid}/thumbs/`)).length, 2);
  });

  test("are not stored for a video that was deleted in the meantime", async (t) => {
    const { get, objects, video } = await open(t, HALVES);
    const gone = { ...video, uid: "f".repeat(32) };
    assert.ok((await get("thumbnail.jpg", gone)).bytes.length > 0);
    assert.deepEqual(await keysByPrefix(objects, `stream/${gone.uid}/`), []);
  });
});

describe("storyboards", needsFfmpeg, () => {
  test("have one thumbnail per second of a short video, and cues that reference its position", async (t) => {
    const { get } = await open(t, HALVES);
    const { bytes, type } = await get("storyboard.vtt");
    assert.equal(type, "text/vtt; charset=utf-8");
    assert.equal(
      bytes.toString(),
      [
        "WEBVTT\n",
        "00:00:00.000 --> 00:00:01.000\nstoryboard-0.jpg#xywh=0,0,160,90\n",
        "00:00:01.000 --> 00:00:02.000\nstoryboard-0.jpg#xywh=160,0,160,90\n",
        "00:00:02.000 --> 00:00:03.000\nstoryboard-0.jpg#xywh=320,0,160,90\n",
        "00:00:03.000 --> 00:00:04.000\nstoryboard-0.jpg#xywh=480,0,160,90\n",
      ].join("\n"),
    );
    const { size, colour } = await seen(t, (await get("storyboard-0.jpg")).bytes);
    assert.deepEqual(
      [size, ...[0, 1, 2, 3].map((i) => colour((i + 0.25) / 5, 0.5))],
      ["800x90", "red", "red", "blue", "blue"],
    );
  });

  test("repeat the only key frame of a video in every position of every sheet", async (t) => {
    const { get } = await open(t, {
      inputs: ["-f", "lavfi", "-i", "color=red:s=320x180:r=5:d=30[out0]"],
      audio: false,
      keyframeSeconds: 1000,
      output: ["-g", "1000"],
    });
    for (const [sheet, middleOfLast] of [
      [0, 0.9],
      [1, 0.5],
    ] as const)
      assert.equal(
        (await seen(t, (await get(`storyboard-${sheet}.jpg`)).bytes)).colour(0.9, middleOfLast),
        "red",
        `${sheet}`,
      );
  });

  for (const [start, end, colours] of [
    [15, 25, ["blue", "blue", "blue", "blue", "blue", "white", "white", "white", "white", "white"]],
    // Without a key frame, with one at the very start, with one at the very end, and with a fraction of a second.
    [16, 19, ["blue", "blue", "blue"]],
    [20, 25, ["white", "white", "white", "white", "white"]],
    [16, 20, ["blue", "blue", "blue", "blue"]],
    [15, 16.5, ["blue", "blue"]],
  ] as const) {
    test(`show nothing outside the clip ${start} to ${end}`, async (t) => {
      const { get } = await openClip(t, BETWEEN, start, end);
      const { colour } = await seen(t, (await get("storyboard-0.jpg")).bytes);
      const rows = Math.ceil(colours.length / 5);
      assert.deepEqual(
        colours.map((_, i) => colour(((i % 5) + 0.5) / 5, (Math.floor(i / 5) + 0.5) / rows)),
        colours,
      );
      for (const path of ["thumbnail.jpg?time=1h", "thumbnail.gif?time=1h", `thumbnail.jpg?time=${end - start}s`])
        assert.equal((await seen(t, (await get(path)).bytes)).colour(0.5, 0.5), colours.at(-1), path);
    });
  }

  test("show nothing outside a long clip, including on sheets assembled from distant frames", async (t) => {
    // The clip is white: three quarters of an hour that begin and end between two key frames.
    const long: ClipRecipe = {
      inputs: [
        "-f",
        "lavfi",
        "-i",
        "color=red:s=64x36:r=1:d=620[a];color=white:s=64x36:r=1:d=2700[b];color=red:s=64x36:r=1:d=280[c];[a][b][c]concat=n=3:v=1[out0]",
      ],
      audio: false,
      keyframeSeconds: 40,
      output: ["-g", "1000"],
    };
    const { get } = await openClip(t, long, 620, 3320);
    for (const [sheet, pictures] of [
      [0, 25],
      [7, 5],
    ] as const) {
      const { colour } = await seen(t, (await get(`storyboard-${sheet}.jpg`)).bytes);
      for (let i = 0; i < pictures; i++)
        assert.equal(
          colour(((i % 5) + 0.5) / 5, (Math.floor(i / 5) + 0.5) / Math.ceil(pictures / 5)),
          "white",
          `${sheet}: ${i}`,
        );
    }
  });

  test("read only the needed parts of a long video", async (t) => {
    const minutes = (n: number) => `${n * 60}`;
    // Half an hour of red, half an hour of blue, at one frame per second.
    const long: ClipRecipe = {
      inputs: [
        "-f",
        "lavfi",
        "-i",
        `color=red:s=64x36:r=1:d=${minutes(30)}[a];color=blue:s=64x36:r=1:d=${minutes(31)}[b];[a][b]concat=n=2:v=1[out0]`,
      ],
      audio: false,
      keyframeSeconds: 5,
    };
    const { get } = await open(t, long);
    const cues = (await get("storyboard.vtt")).bytes
      .toString()
      .split("\n")
      .filter((line) => line.includes("-->"));
    assert.equal(cues.length, 61 * 2);
    const [first, last] = [
      await seen(t, (await get("storyboard-0.jpg")).bytes),
      await seen(t, (await get("storyboard-4.jpg")).bytes),
    ];
    assert.deepEqual(
      [first.size, first.colour(0.1, 0.1), last.size, last.colour(0.1, 0.1)],
      ["800x450", "red", "800x450", "blue"],
    );
    assert.equal(await kindOf(get("storyboard-5.jpg")), "videoNotFound 404");
  });
});
