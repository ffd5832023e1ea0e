import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clip, type ClipRecipe, countFrames, mediaClips, needsFfmpeg, X264 } from "../../../test/support/media.ts";
import type { MediaModel } from "../model.ts";
import { framesOnGrid, openProbe, probeClip, rate, refused, rungs } from "./probe.testing.ts";

const shape = ({ video }: MediaModel) =>
  video && {
    size: `${video.width}x${video.height}`,
    rotation: video.rotation,
    interlaced: video.interlaced,
    hdr: video.hdr,
    passthrough: video.passthrough,
  };

describe("frames match those that ffmpeg counts", needsFfmpeg, () => {
  const constant: Record<string, [ClipRecipe, string]> = {
    "23.976": [{ fps: "24000/1001" }, "24000/1001"],
    "24": [{ fps: "24" }, "24"],
    "25": [{ fps: "25" }, "25"],
    "29.97": [{ fps: "30000/1001", seconds: 5 }, "30000/1001"],
    "50": [{ fps: "50" }, "50"],
    "59.94": [{ fps: "60000/1001" }, "60000/1001"],
    "60": [{ fps: "60" }, "60"],
    "29.97 fps with millisecond timestamps": [{ fps: "30000/1001", seconds: 5, extension: "mkv" }, "30000/1001"],
    "30 fps with millisecond timestamps": [{ fps: "30", seconds: 5, extension: "mkv" }, "30"],
    "B-frames": [{ video: ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "3"] }, "30"],
    "index at the end": [{ output: ["-movflags", "-faststart"] }, "30"],
    "index at the start": [{ output: ["-movflags", "+faststart"] }, "30"],
    fragments: [{ output: ["-movflags", "+frag_keyframe+empty_moov+delay_moov+default_base_moof"] }, "30"],
    "a single frame": [{ seconds: 1, fps: "1", audio: false }, "24000/1001"],
  };
  for (const [name, [recipe, expected]] of Object.entries(constant)) {
    test(name, async (t) => {
      const { model, path } = await probeClip(t, recipe);
      assert.equal(rate(model), expected);
      assert.equal(model.segments.frames, await framesOnGrid(path, model));
      if (recipe.fps !== "1") assert.equal(model.segments.frames, await countFrames(path));
    });
  }

  test("at low frame rates, which are preserved, and at high ones, which are reduced", async (t) => {
    for (const [fps, expected] of [
      ["15", "15"],
      ["12", "12"],
      ["12.5", "25/2"],
      ["10", "10"],
      ["15000/1001", "15000/1001"],
      ["27", "30000/1001"],
      ["40", "50"],
      ["120", "60"],
      ["100", "50"],
      ["1000", "50"],
    ] as const) {
      const { model, path } = await probeClip(t, { fps, seconds: 2, size: "64x64", audio: false });
      assert.deepEqual([fps, rate(model)], [fps, expected]);
      assert.equal(model.segments.frames, await framesOnGrid(path, model), fps);
    }
  });

  test("at variable frame rates", async (t) => {
    const jittery = (milliseconds: number): ClipRecipe => ({
      seconds: 6,
      audio: false,
      filter: `settb=1/1000,setpts=round(${milliseconds}*N+6*sin(7*N))`,
      video: [...X264, "-enc_time_base", "1/1000"],
      output: ["-fps_mode", "passthrough"],
    });
    const sparse = await probeClip(t, jittery(43));
    assert.equal(rate(sparse.model), "25");
    assert.equal(rate((await probeClip(t, jittery(100))).model), "24000/1001");
    assert.equal(sparse.model.segments.frames, await framesOnGrid(sparse.path, sparse.model));
    const dropped = await probeClip(t, {
      seconds: 6,
      audio: false,
      filter: "select='gt(mod(n,11),2)'",
      output: ["-fps_mode", "vfr"],
      extension: "mkv",
    });
    assert.equal(rate(dropped.model), "30");
    assert.equal(dropped.model.segments.frames, await framesOnGrid(dropped.path, dropped.model));
  });

  test("with an edit list that begins in the middle of a GOP", async (t) => {
    const { model, path } = await probeClip(t, {
      inputs: ["-ss", "1.5", "-i", await clip({ seconds: 6, keyframeSeconds: 3 })],
      video: ["-c", "copy"],
      audio: [],
    });
    assert.equal(model.segments.frames, await countFrames(path));
    assert.equal(model.segments.frames, await framesOnGrid(path, model));
    assert.equal(model.source.start, 0);
  });
});

describe("files of which an indexed copy is made first", needsFfmpeg, () => {
  const MPEG2 = ["-c:v", "mpeg2video", "-b:v", "1M", "-pix_fmt", "yuv420p"];
  const containers: Record<string, { recipe: ClipRecipe; format: string; frames?: number }> = {
    "a transport stream": { recipe: mediaClips.transportStream, format: "mov" },
    "an interlaced transport stream": {
      recipe: {
        fps: "25",
        extension: "ts",
        filter: "setfield=tff",
        video: [...MPEG2, "-flags", "+ildct+ilme", "-top", "1"],
        audio: ["-c:a", "mp2", "-b:a", "128k"],
      },
      format: "matroska",
    },
    "a program stream": {
      recipe: { fps: "25", extension: "vob", video: MPEG2, audio: ["-c:a", "ac3", "-b:a", "128k"] },
      format: "mov",
    },
    "an AVI file": {
      recipe: {
        fps: "25",
        extension: "avi",
        video: ["-c:v", "mpeg4", "-b:v", "500k", "-bf", "2"],
        audio: ["-c:a", "libmp3lame", "-b:a", "96k"],
      },
      format: "mov",
    },
    "an AVI file with H.264": { recipe: { fps: "25", extension: "avi" }, format: "mov" },
    "a Flash video": { recipe: { extension: "flv", audio: ["-c:a", "aac", "-ar", "44100"] }, format: "mov" },
    "a Flash video with Sorenson H.263": {
      recipe: {
        extension: "flv",
        video: ["-c:v", "flv", "-b:v", "500k"],
        audio: ["-c:a", "libmp3lame", "-ar", "44100"],
      },
      format: "matroska",
    },
    Theora: {
      recipe: { extension: "ogv", video: ["-c:v", "libtheora", "-b:v", "500k"], audio: ["-c:a", "libvorbis"] },
      format: "matroska",
    },
    "Windows Media": {
      recipe: { extension: "wmv", video: ["-c:v", "wmv2", "-b:v", "500k"], audio: ["-c:a", "wmav2", "-b:a", "96k"] },
      format: "matroska",
    },
    "an animated GIF": {
      recipe: { seconds: 2, fps: "10", extension: "gif", video: ["-c:v", "gif"], audio: false },
      format: "mov",
      frames: 20,
    },
    "a browser recording": { recipe: { ...mediaClips.webm, output: ["-live", "1"] }, format: "matroska" },
    "a browser recording with H.264": {
      recipe: { extension: "mkv", output: ["-live", "1"], audio: ["-c:a", "libopus"] },
      format: "mov",
    },
  };
  for (const [name, { recipe, format, frames }] of Object.entries(containers)) {
    test(name, async (t) => {
      const path = await clip(recipe);
      const { probeFile, objects } = await openProbe(t);
      const model = await probeFile(path);
      assert.match(model.source.key, /^stream\/0{31}1\/mezzanine\.[0-9a-f]{32}\.(mp4|mkv)$/);
      assert.deepEqual(
        [model.source.format, model.source.originalKey],
        [format, "stream/00000000000000000000000000000001/source"],
      );
      assert.equal(model.source.size, (await objects.open(model.source.key))!.size);
      const kept = (await objects.leaseFile(model.source.key))!.path;
      // If the video starts later than the file, or its rate changes midway, ffmpeg loses the duration of the last
      // frame.
      if (model.source.start === 0 && frames === undefined)
        assert.equal(model.segments.frames, await framesOnGrid(kept, model));
      assert.equal(model.segments.frames, frames ?? (recipe.fps === "25" ? 100 : 120));
      assert.equal(model.video?.interlaced, name.includes("interlaced"));
      assert.equal(await countFrames(kept), await countFrames(path));
    });
  }

  test("include video without key frames for minutes, which is encoded once", async (t) => {
    const { model } = await probeClip(t, {
      seconds: 100,
      fps: "5",
      size: "64x64",
      keyframeSeconds: 1000,
      video: [...X264, "-g", "10000"],
      audio: false,
    });
    assert.match(model.source.key, /mezzanine\.[0-9a-f]{32}\.mp4$/);
    assert.ok(model.video!.keyframeInterval <= 2.5, String(model.video!.keyframeInterval));
    assert.ok(Math.abs(model.duration - 100) < 0.2);
  });

  test("are probed concurrently without interference, and nothing is left in the folder", async (t) => {
    const { probeFile } = await openProbe(t);
    const path = await clip(mediaClips.transportStream);
    const models = await Promise.all([probeFile(path), probeFile(path)]);
    assert.deepEqual(
      models.map(({ segments }) => segments.frames),
      [120, 120],
    );
  });
});

describe("the picture geometry", needsFfmpeg, () => {
  const x265 = (transfer: string) => [
    "-c:v",
    "libx265",
    "-preset",
    "ultrafast",
    "-pix_fmt",
    "yuv420p10le",
    "-color_trc",
    transfer,
    "-color_primaries",
    "bt2020",
    "-colorspace",
    "bt2020nc",
    "-x265-params",
    `log-level=none:transfer=${transfer}:colorprim=bt2020:colormatrix=bt2020nc`,
    "-tag:v",
    "hvc1",
  ];
  const looks: Record<string, [ClipRecipe, Partial<NonNullable<ReturnType<typeof shape>>>, string[]?]> = {
    upright: [mediaClips.vertical, { size: "180x320" }, ["180p 180x320"]],
    "rotated by 90 degrees": [{ rotate: 90 }, { size: "180x320", rotation: 90, passthrough: false }, ["180p 180x320"]],
    "rotated by 180 degrees": [{ rotate: 180 }, { size: "320x180", rotation: 180, passthrough: false }],
    "rotated by 270 degrees": [{ rotate: 270 }, { size: "180x320", rotation: 270, passthrough: false }],
    "odd dimensions": [
      {
        filter: "scale=321:241,setsar=1,format=yuv444p",
        video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv444p"],
      },
      { size: "321x241", passthrough: false },
      ["240p 320x240"],
    ],
    "4:2:2": [{ video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv422p"] }, { passthrough: false }],
    "non-square pixels": [
      { size: "360x288", filter: "setsar=16/15", fps: "25" },
      { size: "384x288", passthrough: false },
      ["240p 320x240", "288p 384x288"],
    ],
    "perceptual quantizer": [
      { seconds: 1, video: x265("smpte2084") },
      { hdr: "pq", passthrough: false },
    ],
    "hybrid log-gamma": [
      { seconds: 1, video: x265("arib-std-b67") },
      { hdr: "hlg", passthrough: false },
    ],
    interlaced: [
      {
        fps: "25",
        filter: "setfield=tff",
        video: [...X264, "-flags", "+ildct+ilme", "-x264-params", "interlaced=1:tff=1"],
      },
      { interlaced: true, passthrough: false },
    ],
    tiny: [{ size: "16x16" }, { size: "16x16" }, ["16p 16x16"]],
    long: [{ size: "1600x64", seconds: 1 }, { size: "1600x64" }, ["64p 1600x64"]],
  };
  for (const [name, [recipe, expected, ladder]] of Object.entries(looks)) {
    test(name, async (t) => {
      const { model } = await probeClip(t, recipe);
      for (const [field, value] of Object.entries(expected))
        assert.equal(shape(model)![field as keyof typeof expected], value, field);
      if (ladder !== undefined) assert.deepEqual(rungs(model), ladder);
    });
  }
});

test("a clip is a part of its source", needsFfmpeg, async (t) => {
  const { probeFile } = await openProbe(t);
  const path = await clip(mediaClips.ntsc);
  const part = await probeFile(path, { clip: { start: 3, end: 8 } });
  assert.deepEqual([part.source.start, part.duration, part.segments.frames, part.segments.count], [3, 5, 150, 2]);
  assert.equal((await probeFile(path, { clip: { start: 8, end: 60 } })).duration, 2.01);
  await assert.rejects(probeFile(path, { clip: { start: 20, end: 30 } }), refused("ERR_DURATION_TOO_SHORT"));
});
