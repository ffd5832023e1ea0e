import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { clip, type ClipRecipe, countFrames, mediaClips, needsFfmpeg } from "../../../test/support/media.ts";
import { mountSmallDisk } from "../../../test/support/small-disk.ts";
import { UserError } from "../../kernel/index.ts";
import { streamSettings } from "../media/media.testing.ts";
import { MediaRunError } from "../media/run-error.ts";
import { createProbe, type ProbedVideo } from "./probe.ts";
import { ProbeRejected } from "./refused.ts";
import { framesOnGrid, openProbe, probeClip, refused, rungs } from "./probe.testing.ts";

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
    "an HTML page": "<!doctype html><title>Not found</title>".repeat(50),
    zeros: Buffer.alloc(100_000),
    "an HLS playlist": listing,
    "an ffconcat script": "ffconcat version 1.0\nfile '/etc/passwd'\n",
    "a concat file list": "file '/etc/passwd'\n",
    "a DASH manifest":
      '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"></MPD>',
    captions: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n",
    "an SDP file": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 9 RTP/AVP 96\n",
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

  test("is rejected if it is truncated before its index", async (t) => {
    await assert.rejects(probeClip(t, { keep: 0.6 }), refused(MALFORMED, /no index/));
  });

  test("counts up to its last complete frame if it is truncated and its index is at the front", async (t) => {
    const { model, path } = await probeClip(t, {
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

  test("counts up to the truncation if it is a recording", async (t) => {
    const { model, path } = await probeClip(t, { seconds: 8, keep: 0.5, extension: "mkv" });
    assert.equal(model.segments.frames, await framesOnGrid(path, model));
    assert.ok(model.duration < 5 && model.duration > 2, String(model.duration));
  });

  test("is rejected if it has an index without media", async (t) => {
    const whole = await readFile(await clip({ output: ["-movflags", "+faststart"] }));
    await assert.rejects(
      (await openProbe(t)).probeBytes(whole.subarray(0, whole.indexOf("mdat", 0, "latin1") + 4)),
      refused(MALFORMED),
    );
  });

  test("is rejected if it has too many tracks", async (t) => {
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
      (err) => err instanceof ProbeRejected && ["ERR_MALFORMED_VIDEO", "ERR_NON_VIDEO"].includes(err.code),
    );
  });

  test("is rejected if its video has more pixels than 8192 x 4320, but 8K is accepted", async (t) => {
    const flat = (size: string): ClipRecipe => ({
      inputs: ["-f", "lavfi", "-i", `color=size=${size}:rate=10:duration=0.3`],
      video: ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"],
      audio: false,
      extension: "mov",
    });
    await assert.rejects(probeClip(t, flat("9000x8000")), refused(MALFORMED, /more than 8192x4320/));
    const { model } = await probeClip(t, flat("7680x4320"));
    assert.deepEqual(rungs(model), [
      "240p 426x240",
      "360p 640x360",
      "480p 854x480",
      "720p 1280x720",
      "1080p 1920x1080",
    ]);
  });

  test("is rejected if it is encrypted", async (t) => {
    const key = "00112233445566778899aabbccddeeff";
    await assert.rejects(
      probeClip(t, { output: ["-encryption_scheme", "cenc-aes-ctr", "-encryption_key", key, "-encryption_kid", key] }),
      refused(MALFORMED, /encrypted/),
    );
  });
});

describe("the duration", needsFfmpeg, () => {
  test("is too short if it is less than a tenth of a second", async (t) => {
    await assert.rejects(
      probeClip(t, { seconds: 0.05, fps: "60", audio: false }),
      refused("ERR_DURATION_TOO_SHORT", /0\.050 seconds/),
    );
    assert.equal((await probeClip(t, { seconds: 0.1, audio: false })).model.segments.frames, 3);
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

  test("is too long if a single frame lasts eleven hours", async (t) => {
    await assert.rejects(
      probeClip(t, {
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
      refused("ERR_DURATION_EXCEED_CONSTRAINT", /4 seconds long; at most 3/),
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
  await assert.rejects(closed.probeFile(path), (err) => !(err instanceof ProbeRejected));
});

test("a full disk is not attributed to the file", needsFfmpeg, async (t) => {
  const disk = mountSmallDisk(t, 4);
  if (disk === undefined) return t.skip("cannot mount a small disk here");
  const { tools, objects } = await openProbe(t);
  const probe = createProbe({ tools, objects, settings: streamSettings(), folder: disk.folder });
  await objects.put("stream/a/source", await readFile(await clip(mediaClips.transportStream)));
  const video: ProbedVideo = { uid: "a", sourceKey: "stream/a/source", watermark: null };
  disk.fill();
  await assert.rejects(probe.probe(video), (err) => !(err instanceof ProbeRejected));
  disk.free();
  assert.equal((await probe.probe(video)).segments.frames, 120);
  assert.deepEqual(await readdir(disk.folder), []);
});

test("an ordinary file is probed with one run of ffprobe and its index, not its media data", needsFfmpeg, async (t) => {
  const { tools, objects } = await openProbe(t);
  await objects.put("stream/a/source", await readFile(await clip(mediaClips.hd)));
  const runs: string[] = [];
  let octets = 0;
  const probe = createProbe({
    tools: {
      ...tools,
      ffprobe: (run) => (runs.push("ffprobe"), tools.ffprobe(run)),
      ffmpeg: (run) => (runs.push("ffmpeg"), tools.ffmpeg(run)),
      live: () => assert.fail("a probe is not a long run"),
    },
    objects: {
      ...objects,
      async open(key) {
        const source = (await objects.open(key))!;
        const counted = (piece: Buffer) => ((octets += piece.length), piece);
        return {
          size: source.size,
          bytes: () => assert.fail("all was read"),
          read: (range) => source.read(range).map(counted),
        };
      },
    },
    settings: streamSettings(),
    folder: "/nowhere",
  });
  const model = await probe.probe({ uid: "a", sourceKey: "stream/a/source", watermark: null });
  assert.equal(model.segments.frames, 180);
  assert.deepEqual(runs, ["ffprobe"]);
  const { size } = (await objects.open("stream/a/source"))!;
  assert.ok(octets > 0 && octets < size / 20, `${octets} of ${size} octets were read`);
});

test("a video gets the selected hardware encoder, unless a rendition is too small for it", needsFfmpeg, async (t) => {
  const selection = { encoder: "h264_vaapi" } as const;
  const { probeFile } = await openProbe(t, {}, (tools) => ({
    ...tools,
    ready: async () => ({
      ...(await tools.ready()),
      h264: { selected: () => selection, tested: Promise.resolve(selection), deselect: () => false },
    }),
  }));
  assert.equal((await probeFile(await clip({ size: "320x180" }))).h264Encoder, "h264_vaapi");
  assert.equal((await probeFile(await clip({ size: "160x90" }))).h264Encoder, undefined);
  assert.equal((await probeFile(await clip({ video: false }))).h264Encoder, undefined);
});
