import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import {
  AAC,
  clip,
  type ClipRecipe,
  countFrames,
  mediaClips,
  needsFfmpeg,
  runFfmpeg,
  X264,
} from "../../../test/support/media.ts";
import { mountSmallDisk } from "../../../test/support/small-disk.ts";
import { UserError } from "../../kernel/index.ts";
import { streamSettings } from "../media/media.testing.ts";
import { MediaRunError } from "../media/run-error.ts";
import type { MediaModel } from "../model.ts";
import type { ErrorReason } from "../videos/video.ts";
import { createProbe, type ProbedVideo } from "./probe.ts";
import { openProbe } from "./probe.testing.ts";
import { ProbeRefused } from "./refused.ts";

const refused =
  (code: ErrorReason, words = /./) =>
  (err: unknown) => {
    assert.ok(err instanceof ProbeRefused, String(err));
    assert.deepEqual([err.code, words.test(err.message)], [code, true], err.message);
    return true;
  };

async function probed(t: TestContext, recipe: ClipRecipe): Promise<{ model: MediaModel; path: string }> {
  const [{ probeFile }, path] = await Promise.all([openProbe(t), clip(recipe)]);
  return { model: await probeFile(path), path };
}

/**
 * Frames that ffmpeg itself places on the grid when decoding the file from the beginning, excluding those before the
 * source's start.
 */
async function framesOnGrid(path: string, { segments: { fps }, source: { start } }: MediaModel): Promise<number> {
  const listed = await runFfmpeg([
    "-copyts",
    "-start_at_zero",
    "-i",
    path,
    "-map",
    "0:v:0",
    "-vf",
    `fps=fps=${fps.num}/${fps.den}:round=near:start_time=0,scale=16:16`,
    "-f",
    "framecrc",
    "-",
  ]);
  return (
    listed
      .toString()
      .split("\n")
      .filter((line) => /^\d/.test(line)).length - Math.round((start * fps.num) / fps.den)
  );
}

const shape = ({ video }: MediaModel) =>
  video && {
    size: `${video.width}x${video.height}`,
    rotation: video.rotation,
    interlaced: video.interlaced,
    hdr: video.hdr,
    passthrough: video.passthrough,
  };
const rungs = ({ ladder }: MediaModel) => ladder.map(({ name, width, height }) => `${name} ${width}x${height}`);
const rate = ({ segments: { fps } }: MediaModel) => (fps.den === 1 ? String(fps.num) : `${fps.num}/${fps.den}`);

async function fakeProgram(t: TestContext, script: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-program-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // If the tests run as root, programs run as a different user.
  await chmod(folder, 0o755);
  const path = join(folder, "program");
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

describe("unplayable files", needsFfmpeg, () => {
  const listing = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n";
  const files: Record<string, string | Buffer> = {
    "an empty file": "",
    noise: randomBytes(100_000),
    "a page": "<!doctype html><title>Not found</title>".repeat(50),
    zeros: Buffer.alloc(100_000),
    "a playlist": listing,
    "a concat script": "ffconcat version 1.0\nfile '/etc/passwd'\n",
    "a list of files": "file '/etc/passwd'\n",
    "a presentation":
      '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"></MPD>',
    captions: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n",
    "a session description": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 9 RTP/AVP 96\n",
  };
  for (const [name, bytes] of Object.entries(files)) {
    test(name, async (t) =>
      assert.rejects(
        (await openProbe(t)).probeBytes(bytes),
        refused("ERR_NON_VIDEO", /^The file was not recognized as a valid video file\./),
      ),
    );
  }

  test("an image", async (t) => {
    const png = await clip({
      seconds: 1,
      fps: "1",
      video: ["-c:v", "png"],
      audio: false,
      output: ["-frames:v", "1", "-f", "image2", "-update", "1"],
      extension: "png",
    });
    const jpeg = await clip({
      seconds: 1,
      fps: "1",
      video: ["-c:v", "mjpeg"],
      audio: false,
      output: ["-frames:v", "1", "-f", "image2", "-update", "1"],
      extension: "jpg",
    });
    for (const path of [png, jpeg])
      await assert.rejects((await openProbe(t)).probeFile(path), refused("ERR_NON_VIDEO"));
  });
});

describe("a corrupt file", needsFfmpeg, () => {
  const MALFORMED = "ERR_MALFORMED_VIDEO";

  test("a file truncated before its index", async (t) => {
    await assert.rejects(probed(t, { keep: 0.6 }), refused(MALFORMED, /no index/));
  });

  test("a truncated file with its index at the front counts up to its last complete frame", async (t) => {
    const { model, path } = await probed(t, {
      seconds: 8,
      keyframeSeconds: 1,
      keep: 0.5,
      output: ["-movflags", "+faststart"],
    });
    const frames = await countFrames(path);
    assert.ok(frames > 30 && frames < 200, String(frames));
    assert.equal(model.segments.frames, frames);
    assert.equal(model.segments.count, Math.ceil(frames / 120));
    assert.ok(Math.abs(model.duration - frames / 30) < 0.26, String(model.duration));
  });

  test("a truncated recording", async (t) => {
    const { model, path } = await probed(t, { seconds: 8, keep: 0.5, extension: "mkv" });
    assert.equal(model.segments.frames, await framesOnGrid(path, model));
    assert.ok(model.duration < 5 && model.duration > 2, String(model.duration));
  });

  test("an index without media", async (t) => {
    const whole = await readFile(await clip({ output: ["-movflags", "+faststart"] }));
    await assert.rejects(
      (await openProbe(t)).probeBytes(whole.subarray(0, whole.indexOf("mdat", 0, "latin1") + 4)),
      refused(MALFORMED),
    );
  });

  test("too many tracks", async (t) => {
    const one = await clip({ seconds: 0.5, audio: false });
    const copies = (count: number, extension: string) =>
      clip({
        inputs: ["-i", one, ...Array.from({ length: count }, () => ["-map", "0:v"]).flat()],
        video: ["-c", "copy"],
        audio: false,
        extension,
      });
    const { probeFile } = await openProbe(t);
    for (const extension of ["mp4", "mkv"]) {
      const model = await probeFile(await copies(60, extension));
      assert.deepEqual([model.video?.stream, model.segments.frames], [0, 15]);
    }
    await assert.rejects(
      probeFile(await copies(120, "mkv")),
      (err) => err instanceof ProbeRefused && ["ERR_MALFORMED_VIDEO", "ERR_NON_VIDEO"].includes(err.code),
    );
  });

  test("video with more pixels than 8192 x 4320, but not 8K", async (t) => {
    const flat = (size: string): ClipRecipe => ({
      inputs: ["-f", "lavfi", "-i", `color=size=${size}:rate=10:duration=0.3`],
      video: ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"],
      audio: false,
      extension: "mov",
    });
    await assert.rejects(probed(t, flat("9000x8000")), refused(MALFORMED, /more than 8192x4320/));
    const { model } = await probed(t, flat("7680x4320"));
    assert.deepEqual(rungs(model), [
      "240p 426x240",
      "360p 640x360",
      "480p 854x480",
      "720p 1280x720",
      "1080p 1920x1080",
    ]);
  });

  test("encrypted media", async (t) => {
    const key = "00112233445566778899aabbccddeeff";
    await assert.rejects(
      probed(t, { output: ["-encryption_scheme", "cenc-aes-ctr", "-encryption_key", key, "-encryption_kid", key] }),
      refused(MALFORMED, /encrypted/),
    );
  });
});

describe("the duration", needsFfmpeg, () => {
  test("less than a tenth of a second is too short", async (t) => {
    await assert.rejects(
      probed(t, { seconds: 0.05, fps: "60", audio: false }),
      refused("ERR_DURATION_TOO_SHORT", /0\.050 seconds/),
    );
    assert.equal((await probed(t, { seconds: 0.1, audio: false })).model.segments.frames, 3);
  });

  test("ignores headers that claim eleven hours", async (t) => {
    const file = await readFile(await clip());
    for (const [name, at] of [
      ["mvhd", 16],
      ["tkhd", 20],
      ["mdhd", 16],
    ] as const) {
      for (let box = file.indexOf(name, 0, "latin1"); box !== -1; box = file.indexOf(name, box + 4, "latin1")) {
        const scale = name === "tkhd" ? 1000 : file.readUInt32BE(box + 4 + 12);
        file.writeUInt32BE(Math.min(0xffff_ffff, 11 * 3600 * scale), box + 4 + at);
      }
    }
    const model = await (await openProbe(t)).probeBytes(file);
    assert.deepEqual([model.duration, model.segments.frames], [4, 120]);
  });

  test("a single frame for eleven hours is too long", async (t) => {
    await assert.rejects(
      probed(t, {
        seconds: 2,
        fps: "1",
        audio: false,
        filter: "setpts=N*39600/TB",
        output: ["-fps_mode", "passthrough"],
      }),
      refused("ERR_DURATION_EXCEED_CONSTRAINT", /at most 36000 are allowed/),
    );
    await assert.rejects(
      (await openProbe(t, { max_duration_seconds: 3 })).probeFile(await clip()),
      refused("ERR_DURATION_EXCEED_CONSTRAINT", /4 seconds long, at most 3/),
    );
  });

  test("is extended by longer audio, but not by the rest of an audio packet", async (t) => {
    const [pictures, sound] = [
      await clip({ seconds: 2, audio: false }),
      await clip({ seconds: 5, video: false, extension: "m4a" }),
    ];
    const joined = (extension: string) =>
      clip({
        inputs: ["-i", pictures, "-i", sound, "-map", "0:v", "-map", "1:a"],
        video: ["-c", "copy"],
        audio: [],
        extension,
      });
    for (const extension of ["mp4", "mkv"]) {
      const model = await (await openProbe(t)).probeFile(await joined(extension));
      assert.ok(Math.abs(model.duration - 5) < 0.05 && Math.abs(model.segments.frames - 150) <= 1, `${model.duration}`);
      assert.equal(model.segments.count, 2);
    }
  });
});

describe("frames match those that ffmpeg counts", needsFfmpeg, () => {
  const constant: Record<string, [ClipRecipe, string]> = {
    "23.976": [{ fps: "24000/1001" }, "24000/1001"],
    "24": [{ fps: "24" }, "24"],
    "25": [{ fps: "25" }, "25"],
    "29.97": [{ fps: "30000/1001", seconds: 5 }, "30000/1001"],
    "50": [{ fps: "50" }, "50"],
    "59.94": [{ fps: "60000/1001" }, "60000/1001"],
    "60": [{ fps: "60" }, "60"],
    "29.97 in milliseconds": [{ fps: "30000/1001", seconds: 5, extension: "mkv" }, "30000/1001"],
    "30 in milliseconds": [{ fps: "30", seconds: 5, extension: "mkv" }, "30"],
    "B-frames": [{ video: ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "3"] }, "30"],
    "index at the end": [{ output: ["-movflags", "-faststart"] }, "30"],
    "index in front": [{ output: ["-movflags", "+faststart"] }, "30"],
    fragments: [{ output: ["-movflags", "+frag_keyframe+empty_moov+delay_moov+default_base_moof"] }, "30"],
    "one frame": [{ seconds: 1, fps: "1", audio: false }, "24000/1001"],
  };
  for (const [name, [recipe, expected]] of Object.entries(constant)) {
    test(name, async (t) => {
      const { model, path } = await probed(t, recipe);
      assert.equal(rate(model), expected);
      assert.equal(model.segments.frames, await framesOnGrid(path, model));
      if (recipe.fps !== "1") assert.equal(model.segments.frames, await countFrames(path));
    });
  }

  test("preserves low frame rates and reduces high ones", async (t) => {
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
      const { model, path } = await probed(t, { fps, seconds: 2, size: "64x64", audio: false });
      assert.deepEqual([fps, rate(model)], [fps, expected]);
      assert.equal(model.segments.frames, await framesOnGrid(path, model), fps);
    }
  });

  test("variable frame rates", async (t) => {
    const jittery = (milliseconds: number): ClipRecipe => ({
      seconds: 6,
      audio: false,
      filter: `settb=1/1000,setpts=round(${milliseconds}*N+6*sin(7*N))`,
      video: [...X264, "-enc_time_base", "1/1000"],
      output: ["-fps_mode", "passthrough"],
    });
    const sparse = await probed(t, jittery(43));
    assert.equal(rate(sparse.model), "25");
    assert.equal(rate((await probed(t, jittery(100))).model), "24000/1001");
    assert.equal(sparse.model.segments.frames, await framesOnGrid(sparse.path, sparse.model));
    const dropped = await probed(t, {
      seconds: 6,
      audio: false,
      filter: "select='gt(mod(n,11),2)'",
      output: ["-fps_mode", "vfr"],
      extension: "mkv",
    });
    assert.equal(rate(dropped.model), "30");
    assert.equal(dropped.model.segments.frames, await framesOnGrid(dropped.path, dropped.model));
  });

  test("an edit list that begins in the middle of a GOP", async (t) => {
    const { model, path } = await probed(t, {
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
    "an AVI file of H.264": { recipe: { fps: "25", extension: "avi" }, format: "mov" },
    "a Flash video": { recipe: { extension: "flv", audio: ["-c:a", "aac", "-ar", "44100"] }, format: "mov" },
    "an old Flash video": {
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
    "an animation": {
      recipe: { seconds: 2, fps: "10", extension: "gif", video: ["-c:v", "gif"], audio: false },
      format: "mov",
      frames: 20,
    },
    "a recording of a browser": { recipe: { ...mediaClips.webm, output: ["-live", "1"] }, format: "matroska" },
    "a recording of a browser, H.264": {
      recipe: { extension: "mkv", output: ["-live", "1"], audio: ["-c:a", "libopus"] },
      format: "mov",
    },
  };
  for (const [name, { recipe, format, frames }] of Object.entries(containers)) {
    test(name, async (t) => {
      const path = await clip(recipe);
      const { probeFile, objects } = await openProbe(t);
      const model = await probeFile(path);
      assert.match(model.source.key, /^stream\/0{31}1\/mezzanine\.(mp4|mkv)$/);
      assert.deepEqual(
        [model.source.format, model.source.originalKey],
        [format, "stream/00000000000000000000000000000001/source"],
      );
      assert.equal(model.source.size, (await objects.open(model.source.key))!.size);
      const kept = (await objects.file(model.source.key))!;
      // If the video starts later than the file, or its rate changes midway, ffmpeg loses the duration of the last
      // frame.
      if (model.source.start === 0 && frames === undefined)
        assert.equal(model.segments.frames, await framesOnGrid(kept, model));
      assert.equal(model.segments.frames, frames ?? (recipe.fps === "25" ? 100 : 120));
      assert.equal(model.video?.interlaced, name.includes("interlaced"));
      assert.equal(await countFrames(kept), await countFrames(path));
    });
  }

  test("video without key frames for minutes is encoded once", async (t) => {
    const { model } = await probed(t, {
      seconds: 100,
      fps: "5",
      size: "64x64",
      keyframeSeconds: 1000,
      video: [...X264, "-g", "10000"],
      audio: false,
    });
    assert.match(model.source.key, /mezzanine\.mp4$/);
    assert.ok(model.video!.keyframeInterval <= 2.5, String(model.video!.keyframeInterval));
    assert.ok(Math.abs(model.duration - 100) < 0.2);
  });

  test("two concurrent probes do not interfere, and nothing is left in the folder", async (t) => {
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
    "turned by 90": [{ rotate: 90 }, { size: "180x320", rotation: 90, passthrough: false }, ["180p 180x320"]],
    "turned by 180": [{ rotate: 180 }, { size: "320x180", rotation: 180, passthrough: false }],
    "turned by 270": [{ rotate: 270 }, { size: "180x320", rotation: 270, passthrough: false }],
    "odd sizes": [
      {
        filter: "scale=321:241,setsar=1,format=yuv444p",
        video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv444p"],
      },
      { size: "321x241", passthrough: false },
      ["240p 320x240"],
    ],
    "4:2:2": [{ video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv422p"] }, { passthrough: false }],
    "pixels that are no squares": [
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
      const { model } = await probed(t, recipe);
      for (const [field, value] of Object.entries(expected))
        assert.equal(shape(model)![field as keyof typeof expected], value, field);
      if (ladder !== undefined) assert.deepEqual(rungs(model), ladder);
    });
  }
});

describe("the tracks", needsFfmpeg, () => {
  test("video without audio", async (t) => assert.equal((await probed(t, mediaClips.silent)).model.audio, undefined));

  test("audio only: a grid of 25 per second, no ladder", async (t) => {
    const recipes: ClipRecipe[] = [
      mediaClips.soundOnly,
      { video: false, extension: "mp3", audio: ["-c:a", "libmp3lame"] },
      { video: false, extension: "wav", audio: ["-c:a", "pcm_s16le"] },
      { video: false, extension: "ogg", audio: ["-c:a", "libvorbis"] },
      { video: false, extension: "flac", audio: ["-c:a", "flac"] },
    ];
    for (const recipe of recipes) {
      const { model } = await probed(t, { ...recipe, seconds: 9 });
      assert.deepEqual(
        [
          model.video,
          model.ladder,
          model.segments.fps,
          model.segments.framesPerSegment,
          model.segments.count,
          model.audio!.sampleRate > 0,
        ],
        [undefined, [], { num: 25, den: 1 }, 100, 3, true],
        String(recipe.extension),
      );
      assert.ok(Math.abs(model.duration - 9) < 0.1, `${recipe.extension}: ${model.duration}`);
    }
  });

  test("a cover image is not a video", async (t) => {
    const cover = await clip({
      seconds: 1,
      fps: "1",
      video: ["-c:v", "mjpeg"],
      audio: false,
      output: ["-frames:v", "1", "-f", "image2", "-update", "1"],
      extension: "jpg",
    });
    for (const [extension, codec] of [
      ["mp3", ["-c:a", "libmp3lame", "-ac", "2"]],
      ["m4a", AAC],
    ] as const) {
      const sound = await clip({ video: false, extension, audio: [...codec] });
      const { model } = await probed(t, {
        inputs: ["-i", sound, "-i", cover, "-map", "0:a", "-map", "1:v"],
        video: ["-c", "copy", "-disposition:v:0", "attached_pic"],
        audio: [],
        extension,
      });
      assert.deepEqual([model.video, model.audio?.channels, model.segments.fps.num], [undefined, 2, 25], extension);
    }
  });

  test("the file's default track takes precedence over a larger one; if there is no default, the first audio track is used", async (t) => {
    const inputs = [
      "-f",
      "lavfi",
      "-i",
      "testsrc2=size=640x360:duration=1",
      "-f",
      "lavfi",
      "-i",
      "testsrc2=size=320x180:duration=1",
      "-f",
      "lavfi",
      "-i",
      "sine=duration=1",
      "-f",
      "lavfi",
      "-i",
      "sine=duration=1",
      "-map",
      "0",
      "-map",
      "1",
      "-map",
      "2",
      "-map",
      "3",
    ];
    const preferred = await probed(t, {
      inputs,
      extension: "mkv",
      audio: [...AAC, "-metadata:s:a:0", "language=deu", "-disposition:v:0", "0", "-disposition:v:1", "default"],
    });
    assert.deepEqual(
      [preferred.model.video?.stream, preferred.model.audio?.stream, preferred.model.audio?.language],
      [1, 2, "de"],
    );
    const largest = await probed(t, {
      inputs,
      extension: "mkv",
      audio: [...AAC, "-disposition:v:0", "0", "-disposition:v:1", "0"],
    });
    assert.equal(largest.model.video?.stream, 0);
  });
});

describe("additional tracks of the file", needsFfmpeg, () => {
  const inputs = [
    "-f",
    "lavfi",
    "-i",
    "testsrc2=size=320x180:duration=2",
    "-f",
    "lavfi",
    "-i",
    "sine=duration=2",
    "-f",
    "lavfi",
    "-i",
    "sine=frequency=880:duration=2",
    "-map",
    "0",
    "-map",
    "1",
    "-map",
    "2",
  ];
  const tags = ["-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=ger"];

  test("finds audio in several languages, even in a file that is indexed first", async (t) => {
    for (const extension of ["mp4", "mkv", "ts"]) {
      const { model } = await probed(t, { inputs, extension, audio: [...AAC, ...tags] });
      const { stream, codec, language } = model.moreAudio![0]!;
      assert.deepEqual(
        [model.audio?.language, model.moreAudio!.length, stream, codec, language],
        ["en", 1, 2, "aac", "de"],
        extension,
      );
    }
    assert.equal((await probed(t, {})).model.moreAudio, undefined);
  });

  test("finds one text subtitle track per language, and no forced ones", async (t) => {
    const srt = `data:text/plain;base64,${Buffer.from("1\n00:00:00,500 --> 00:00:01,000\nhello\n").toString("base64")}`;
    const texts = [
      ...inputs.slice(0, -6),
      "-f",
      "srt",
      "-i",
      srt,
      "-map",
      "0",
      "-map",
      "1",
      "-map",
      "2",
      "-map",
      "3",
      "-map",
      "3",
      "-map",
      "3",
      "-map",
      "3",
    ];
    const about = [
      "-metadata:s:s:0",
      "language=eng",
      "-metadata:s:s:0",
      "title=Full",
      "-metadata:s:s:1",
      "language=eng",
      "-metadata:s:s:2",
      "language=fre",
      "-metadata:s:s:3",
      "language=ger",
      "-disposition:s:3",
      "forced",
    ];
    for (const [extension, codec] of [
      ["mp4", "mov_text"],
      ["mkv", "srt"],
    ] as const) {
      const { model } = await probed(t, {
        inputs: texts,
        extension,
        audio: [...AAC, ...tags, "-c:s", codec, ...about],
      });
      assert.deepEqual(
        model.subtitles?.map(({ stream, language }) => [stream, language]),
        [
          [3, "en"],
          [5, "fr"],
        ],
        extension,
      );
    }
  });
});

describe("passthrough", needsFfmpeg, () => {
  const passes = (model: MediaModel) => [model.video?.passthrough, model.audio?.passthrough];

  test("H.264 and AAC in mp4, unless the video is changed", async (t) => {
    const path = await clip();
    const { probeFile } = await openProbe(t);
    assert.deepEqual(passes(await probeFile(path)), [true, true]);
    assert.deepEqual(passes(await probeFile(path, { clip: { start: 1, end: 3 } })), [false, false]);
    const watermark = {
      uid: "0".repeat(32),
      name: "",
      size: 100,
      width: 10,
      height: 10,
      opacity: 1,
      padding: 0.05,
      scale: 0.15,
      position: "center",
      downloadedFrom: null,
      created: 0,
    } as const;
    const marked = await probeFile(path, { watermark });
    assert.equal(marked.video?.passthrough, false);
    assert.deepEqual(marked.watermark, {
      key: "stream/00000000000000000000000000000003/watermark.png",
      width: 10,
      height: 10,
      opacity: 1,
      padding: 0.05,
      scale: 0.15,
      position: "center",
    });
    assert.deepEqual(passes(await (await openProbe(t, { passthrough: false })).probeFile(path)), [false, false]);
  });

  test("not if players would have problems", async (t) => {
    const recipes: Record<string, [ClipRecipe, boolean, boolean]> = {
      "10 bits": [{ video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p10le"] }, false, true],
      "another codec": [{ video: ["-c:v", "mpeg4"] }, false, true],
      "key frames far apart": [{ seconds: 12, keyframeSeconds: 20, video: [...X264, "-g", "1000"] }, false, true],
      fragments: [{ output: ["-movflags", "+frag_keyframe+empty_moov"] }, false, false],
      "another container": [{ extension: "mkv" }, false, false],
      "six channels": [{ audio: ["-c:a", "aac", "-ac", "6"] }, true, false],
      "another sound": [{ audio: ["-c:a", "libmp3lame"] }, true, false],
      "too many bits": [
        {
          seconds: 1,
          size: "640x360",
          filter: "noise=alls=40:allf=t",
          video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-qp", "12"],
        },
        false,
        true,
      ],
    };
    for (const [name, [recipe, video, audio]] of Object.entries(recipes))
      assert.deepEqual([name, ...passes((await probed(t, recipe)).model)], [name, video, audio]);
  });
});

test("a clip is a part of its source", needsFfmpeg, async (t) => {
  const { probeFile } = await openProbe(t);
  const path = await clip(mediaClips.ntsc);
  const part = await probeFile(path, { clip: { start: 3, end: 8 } });
  assert.deepEqual([part.source.start, part.duration, part.segments.frames, part.segments.count], [3, 5, 150, 2]);
  assert.equal((await probeFile(path, { clip: { start: 8, end: 60 } })).duration, 2.01);
  await assert.rejects(probeFile(path, { clip: { start: 20, end: 30 } }), refused("ERR_DURATION_TOO_SHORT"));
});

test("errors unrelated to the file are not attributed to it", needsFfmpeg, async (t) => {
  const path = await clip();
  const { probeFile } = await openProbe(t, { ffprobe: "/nowhere/ffprobe" });
  await assert.rejects(probeFile(path), (err) => err instanceof UserError && err.kind === "mediaToolsMissing");
  // A confined program cannot send signals, so here the kernel terminates it.
  const killed = await fakeProgram(
    t,
    'case "$*" in *-version*) exec ffprobe -version;; *) ulimit -t 1; while :; do :; done;; esac',
  );
  await assert.rejects(
    (await openProbe(t, { ffprobe: killed, sandbox: "prlimit" })).probeFile(path),
    (err) => err instanceof MediaRunError && err.reason === "killed",
  );
  const closed = await openProbe(t);
  await closed.tools.ready();
  await closed.tools.close();
  await assert.rejects(closed.probeFile(path), (err) => !(err instanceof ProbeRefused));
});

test("a full disk is not attributed to the file", needsFfmpeg, async (t) => {
  const disk = mountSmallDisk(t, 4);
  if (disk === undefined) return t.skip("no small disk can be mounted here");
  const { tools, objects } = await openProbe(t);
  const probe = createProbe({ tools, objects, settings: streamSettings(), folder: disk.folder });
  await objects.put("stream/a/source", await readFile(await clip(mediaClips.transportStream)));
  const video: ProbedVideo = { uid: "a", sourceKey: "stream/a/source", watermark: null };
  disk.fill();
  await assert.rejects(probe.probe(video), (err) => !(err instanceof ProbeRefused));
  disk.free();
  assert.equal((await probe.probe(video)).segments.frames, 120);
  assert.deepEqual(await readdir(disk.folder), []);
});

test("an ordinary file is probed quickly", needsFfmpeg, async (t) => {
  const { probeFile, tools } = await openProbe(t);
  const path = await clip(mediaClips.hd);
  await tools.ready();
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    await probeFile(path);
    times.push(performance.now() - start);
  }
  // The best of five runs, because other processes share the CPUs. 60 ms on an idle machine.
  assert.ok(Math.min(...times) < 1500, times.join());
});
