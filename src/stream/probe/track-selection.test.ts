import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AAC, clip, type ClipRecipe, mediaClips, needsFfmpeg, X264 } from "../../../test/support/media.ts";
import type { MediaModel } from "../model.ts";
import { openProbe, probeClip } from "./probe.testing.ts";

describe("the tracks", needsFfmpeg, () => {
  test("of a video without audio include no audio track", async (t) =>
    assert.equal((await probeClip(t, mediaClips.silent)).model.audio, undefined));

  test("of an audio-only file have a grid of 25 per second and no ladder", async (t) => {
    const recipes: ClipRecipe[] = [
      mediaClips.soundOnly,
      { video: false, extension: "mp3", audio: ["-c:a", "libmp3lame"] },
      { video: false, extension: "wav", audio: ["-c:a", "pcm_s16le"] },
      { video: false, extension: "ogg", audio: ["-c:a", "libvorbis"] },
      { video: false, extension: "flac", audio: ["-c:a", "flac"] },
    ];
    for (const recipe of recipes) {
      const { model } = await probeClip(t, { ...recipe, seconds: 9 });
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

  test("do not include a cover image as video", async (t) => {
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
      const { model } = await probeClip(t, {
        inputs: ["-i", sound, "-i", cover, "-map", "0:a", "-map", "1:v"],
        video: ["-c", "copy", "-disposition:v:0", "attached_pic"],
        audio: [],
        extension,
      });
      assert.deepEqual([model.video, model.audio?.channels, model.segments.fps.num], [undefined, 2, 25], extension);
    }
  });

  test("are the file's default ones, even if others are larger; without a default, the first audio track is used", async (t) => {
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
    const preferred = await probeClip(t, {
      inputs,
      extension: "mkv",
      audio: [...AAC, "-metadata:s:a:0", "language=deu", "-disposition:v:0", "0", "-disposition:v:1", "default"],
    });
    assert.deepEqual(
      [preferred.model.video?.stream, preferred.model.audio?.stream, preferred.model.audio?.language],
      [1, 2, "de"],
    );
    const largest = await probeClip(t, {
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

  test("include audio in several languages, even in a file that is indexed first", async (t) => {
    for (const extension of ["mp4", "mkv", "ts"]) {
      const { model } = await probeClip(t, { inputs, extension, audio: [...AAC, ...tags] });
      const { stream, codec, language } = model.moreAudio![0]!;
      assert.deepEqual(
        [model.audio?.language, model.moreAudio!.length, stream, codec, language],
        ["en", 1, 2, "aac", "de"],
        extension,
      );
    }
    assert.equal((await probeClip(t, {})).model.moreAudio, undefined);
  });

  test("include one text subtitle track per language, and no forced ones", async (t) => {
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
      const { model } = await probeClip(t, {
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

describe("passthrough is offered", needsFfmpeg, () => {
  const passes = (model: MediaModel) => [model.video?.passthrough, model.audio?.passthrough];

  test("for H.264 and AAC in mp4, unless the video is changed", async (t) => {
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

  test("only if players can play the file", async (t) => {
    const recipes: Record<string, [ClipRecipe, boolean, boolean]> = {
      "10 bits": [{ video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p10le"] }, false, true],
      "another codec": [{ video: ["-c:v", "mpeg4"] }, false, true],
      "sparse key frames": [{ seconds: 12, keyframeSeconds: 20, video: [...X264, "-g", "1000"] }, false, true],
      fragments: [{ output: ["-movflags", "+frag_keyframe+empty_moov"] }, false, false],
      "another container": [{ extension: "mkv" }, false, false],
      "six channels": [{ audio: ["-c:a", "aac", "-ac", "6"] }, true, false],
      "another audio codec": [{ audio: ["-c:a", "libmp3lame"] }, true, false],
      "an excessive bitrate": [
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
      assert.deepEqual([name, ...passes((await probeClip(t, recipe)).model)], [name, video, audio]);
  });
});
