import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { clip, mediaClips, needsFfmpeg, runFfmpeg, type ClipRecipe } from "../../../test/support/media.ts";
import { silentLog } from "../../kernel/index.ts";
import { readFragments, readInit } from "../../protocol/mp4/index.ts";
import { openFsObjects, type ObjectStore } from "../../store/index.ts";
import { assertClean } from "../downloads/downloads.testing.ts";
import { timescaleOf } from "../encode/codecs.ts";
import type { MediaModel } from "../model.ts";
import type { SourceRung } from "../playback/port.ts";
import type { Video } from "../videos/video.ts";
import { testModel, testVideo } from "../videos/videos.testing.ts";
import { createSourcePassthrough } from "./passthrough.ts";

/** B-frames used as references by other B-frames, so that decoding order differs substantially from display order. */
const REORDERED = [
  "-c:v",
  "libx264",
  "-preset",
  "veryfast",
  "-pix_fmt",
  "yuv420p",
  "-x264-params",
  "bframes=4:b-adapt=0:b-pyramid=normal:scenecut=0",
];
/** Without duplicated frames before the first frame. */
const AS_THEY_COME = [...REORDERED, "-fps_mode", "passthrough"];
const two = (video: string[], sound: string[]) => [
  ...video,
  "-f",
  "lavfi",
  "-i",
  "testsrc2=size=320x180:rate=25:duration=9",
  ...sound,
  "-f",
  "lavfi",
  "-i",
  "sine=frequency=440:sample_rate=44100:duration=9",
];

interface Packet {
  pts: number;
  size: number;
}

async function setUp(t: TestContext, recipe: ClipRecipe, more: Partial<Video> = {}, model: Partial<MediaModel> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-passthrough-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = await clip(recipe);
  const objects = await openFsObjects({ folder });
  await objects.put("stream/x/source", await readFile(path));
  const { video } = testModel();
  const audio = { stream: 1, codec: "aac", channels: 2, sampleRate: 48_000, passthrough: true };
  const source = testVideo({
    sourceKey: "stream/x/source",
    model: testModel(4, { video: { ...video!, passthrough: true }, audio, ...model }),
    ...more,
  });
  return {
    folder,
    path,
    objects,
    video: source,
    rung: createSourcePassthrough({ objects, log: silentLog, enabled: true }),
  };
}

/**
 * Resolves with everything that is played: the initialization segment and all media segments, with the data of each
 * sample.
 */
async function assemble(rung: SourceRung, video: Video, track: "video" | "audio") {
  const { segments } = (await rung.of(video))![track]!;
  const init = await buffer((await rung.segment(video, track, "init"))!.read());
  const parts = [init];
  const samples: { pts: number; size: number; sync: boolean }[] = [];
  const offsets: number[] = [];
  const timescale = init.readUInt32BE(init.indexOf("mdhd") + 24);
  for (const n of segments.keys()) {
    const segment = (await rung.segment(video, track, n))!;
    const bytes = await buffer(segment.read());
    assert.equal(bytes.length, segment.size);
    const [fragment, ...others] = await readFragments(
      async (start, length) => bytes.subarray(start, start + length),
      bytes.length,
    );
    assert.deepEqual(others, []);
    let { time } = fragment!;
    for (let i = 0; i < fragment!.count; i++) {
      offsets.push(fragment!.shifts[i]!);
      samples.push({
        pts: (time + fragment!.shifts[i]!) / timescale,
        size: fragment!.sizes[i]!,
        sync: fragment!.syncs[i] === 1,
      });
      time += fragment!.durations[i]!;
    }
    parts.push(bytes);
  }
  assert.equal(await rung.segment(video, track, segments.length), undefined);
  return { bytes: Buffer.concat(parts), samples, offsets, segments };
}

async function packetsOf(path: string, stream: "v:0" | "a:0"): Promise<Packet[]> {
  const { packets, format } = JSON.parse(
    (
      await runFfmpeg(
        ["-select_streams", stream, "-show_entries", "packet=pts_time,size:format=start_time", "-of", "json", path],
        "ffprobe",
      )
    ).toString(),
  ) as { packets: { pts_time: string; size: string }[]; format: { start_time: string } };
  // A video starts with whichever of its tracks starts first.
  return packets.map(({ pts_time, size }) => ({
    pts: Number(pts_time) - Number(format.start_time),
    size: Number(size),
  }));
}

const pictures = async (path: string): Promise<string> =>
  (
    await runFfmpeg([
      "-i",
      path,
      "-map",
      "0:v:0",
      "-fps_mode",
      "passthrough",
      "-f",
      "rawvideo",
      "-c:v",
      "rawvideo",
      "-f",
      "md5",
      "-",
    ])
  ).toString();

function assertSame(samples: { pts: number; size: number }[], packets: Packet[]) {
  assert.deepEqual(
    samples.map(({ size }) => size),
    packets.map(({ size }) => size),
  );
  for (const [i, { pts }] of samples.entries())
    assert.ok(
      Math.abs(pts - packets[i]!.pts) < 0.0006,
      `sample ${i} is presented at ${pts}, in the source at ${packets[i]!.pts}`,
    );
}

const offered: Record<string, ClipRecipe> = {
  "without B-frames": mediaClips.plain,
  "29.97 fps, reordered frames, index at the end": { ...mediaClips.ntsc, video: REORDERED },
  "index at the beginning": { seconds: 6, video: REORDERED, output: ["-movflags", "+faststart"] },
  QuickTime: { seconds: 6, video: REORDERED, extension: "mov" },
  "no edit list": { seconds: 6, video: REORDERED, output: ["-use_editlist", "0"] },
  "only key frames": {
    seconds: 5,
    video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "1"],
  },
  "variable frame rate": {
    seconds: 8,
    video: [...REORDERED, "-fps_mode", "vfr"],
    filter: "select='not(mod(n\\,3))+gt(mod(n\\,7)\\,3)'",
  },
  "audio starts before video": { inputs: two(["-itsoffset", "0.08"], []), video: AS_THEY_COME },
  "video starts before audio": { inputs: two([], ["-itsoffset", "0.09"]), video: AS_THEY_COME },
  "both start late": { inputs: two(["-itsoffset", "0.5"], ["-itsoffset", "0.47"]), video: AS_THEY_COME },
  silent: { ...mediaClips.silent, video: REORDERED },
};

describe("a passthrough source", needsFfmpeg, () => {
  for (const [what, recipe] of Object.entries(offered)) {
    test(`${what}: has every video and audio frame at its time`, async (t) => {
      const { rung, video, path, folder } = await setUp(
        t,
        recipe,
        {},
        recipe.audio === false ? { audio: undefined! } : {},
      );
      const shown = (await rung.of(video))!;
      assert.match(shown.video.codecs, /^avc1\.[0-9a-f]{6}$/);
      const cut = await assemble(rung, video, "video");
      assertSame(cut.samples, await packetsOf(path, "v:0"));
      const joined = join(folder, "video.mp4");
      writeFileSync(joined, cut.bytes);
      await assertClean(joined);
      assert.equal(await pictures(joined), await pictures(path));
      assert.equal(cut.segments[0]!.start, 0);
      for (const [n, { start, duration }] of cut.segments.entries())
        if (n > 0)
          assert.ok(
            Math.abs(cut.segments[n - 1]!.start + cut.segments[n - 1]!.duration - start) < 1e-6,
            `segment ${n} of ${duration} s`,
          );
      if (recipe.audio === false) return assert.equal(shown.audio, undefined);
      assert.equal(shown.audio!.codecs, "mp4a.40.2");
      const sound = await assemble(rung, video, "audio");
      const received = await packetsOf(path, "a:0");
      // Priming frames are missing: they precede the start of the video, or that of the track.
      const primed = received.length - sound.samples.length;
      assert.ok(primed <= 1, `${primed} audio frames are missing`);
      assertSame(sound.samples, received.slice(primed));
      writeFileSync(join(folder, "audio.mp4"), sound.bytes);
      await assertClean(join(folder, "audio.mp4"));
    });
  }

  test("an edit list avoids negative composition offsets without changing presentation times", async (t) => {
    const recipe = { ...mediaClips.ntsc, video: REORDERED };
    const { rung, video } = await setUp(t, recipe, {}, { editLists: true });
    const before = await setUp(t, recipe);
    const init = await readInit(await buffer((await rung.segment(video, "video", "init"))!.read()));
    const former = await readInit(await buffer((await before.rung.segment(before.video, "video", "init"))!.read()));
    assert.deepEqual([former.delay, init.delay! > 0], [undefined, true]);
    const [now, then] = [await assemble(rung, video, "video"), await assemble(before.rung, before.video, "video")];
    assert.equal(Math.min(...now.offsets), 0);
    assert.ok(
      Math.min(...then.offsets) < 0,
      "the clip has frames that are presented before frames that were decoded earlier",
    );
    assert.equal(now.offsets.length, then.offsets.length);
    for (const [i, offset] of now.offsets.entries())
      assert.ok(
        Math.abs((offset - init.delay!) / init.timescale - then.offsets[i]! / former.timescale) < 1.5 / init.timescale,
      );
    assert.deepEqual(
      now.segments.map(({ start, duration }) => [start, duration]),
      then.segments.map(({ start, duration }) => [start, duration]),
    );
    assert.deepEqual(init.timescale, timescaleOf({}, video.model!));
  });

  test("segments start with key frames and have a duration of a few seconds", async (t) => {
    const { rung, video } = await setUp(t, { ...mediaClips.ntsc, video: REORDERED });
    const { segments, samples } = await assemble(rung, video, "video");
    assert.deepEqual(
      segments.map(({ duration }) => duration.toFixed(3)),
      ["4.004", "4.004", "2.002"],
    );
    for (const { start } of segments) assert.equal(samples.find(({ pts }) => Math.abs(pts - start) < 1e-6)?.sync, true);
  });

  test("supports byte ranges within segments", async (t) => {
    const { rung, video } = await setUp(t, mediaClips.plain);
    const segment = (await rung.segment(video, "video", 0))!;
    const whole = await buffer(segment.read());
    await fc.assert(
      fc.asyncProperty(fc.nat(segment.size - 1), fc.nat(segment.size - 1), async (a, b) => {
        const [start, end] = a < b ? [a, b] : [b, a];
        assert.ok((await buffer(segment.read({ start, end }))).equals(whole.subarray(start, end + 1)));
      }),
      { numRuns: 40 },
    );
    assert.ok((await buffer(segment.read({ start: 7 }))).equals(whole.subarray(7)));
  });

  const refused: Record<string, ClipRecipe> = {
    fragmented: { output: ["-movflags", "+frag_keyframe+empty_moov"] },
    "in-band parameter sets (avc3)": { output: ["-tag:v", "avc3"] },
    "sparse key frames": {
      seconds: 25,
      size: "160x90",
      video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "9999"],
      keyframeSeconds: 100,
    },
    "4:2:2": { video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv422p"] },
    "MPEG-4 Part 2": { video: ["-c:v", "mpeg4"] },
    truncated: { seconds: 4, output: ["-movflags", "+faststart"], keep: 0.7 },
    "not an MP4 file": { extension: "mkv" },
    "video starts long after audio": { inputs: two(["-itsoffset", "0.5"], []), video: AS_THEY_COME },
  };
  for (const [what, recipe] of Object.entries(refused)) {
    test(`${what}: is not offered`, async (t) => {
      const { rung, video } = await setUp(t, recipe);
      assert.equal(await rung.of(video), undefined);
      assert.equal(await rung.segment(video, "video", 0), undefined);
    });
  }

  test("does not show frames that an edit list excludes", async (t) => {
    const whole = await clip({ ...mediaClips.ntsc, video: REORDERED });
    const { rung, video } = await setUp(t, {
      inputs: ["-ss", "1", "-i", whole],
      video: ["-c:v", "copy"],
      audio: ["-c:a", "copy"],
    });
    assert.equal(await rung.of(video), undefined);
  });

  test("does not start a segment at an open GOP, whose first frames need the previous one", async (t) => {
    const { rung, video } = await setUp(t, {
      seconds: 12,
      video: [...REORDERED.slice(0, -1), "bframes=3:open-gop=1:keyint=50:min-keyint=50:scenecut=0:b-adapt=0"],
      keyframeSeconds: 100,
    });
    const shown = await rung.of(video);
    if (shown === undefined) return;
    const { samples, segments } = await assemble(rung, video, "video");
    for (const { start } of segments) {
      const at = samples.findIndex(({ pts }) => Math.abs(pts - start) < 1e-6);
      assert.ok(
        samples.slice(at).every(({ pts }) => pts >= start - 1e-6),
        `frames presented before ${start} follow it`,
      );
    }
  });

  test("leaves audio that starts long after the video to the encoder", async (t) => {
    const { rung, video } = await setUp(t, { inputs: two([], ["-itsoffset", "0.5"]), video: AS_THEY_COME });
    assert.equal((await rung.of(video))!.audio, undefined);
  });

  test("leaves audio that players cannot decode to the encoder", async (t) => {
    const { rung, video } = await setUp(t, { extension: "mov", audio: ["-c:a", "pcm_s16le"] });
    const shown = await rung.of(video);
    assert.deepEqual([shown!.video.codecs.slice(0, 5), shown!.audio], ["avc1.", undefined]);
  });
});

describe("a source is not offered", needsFfmpeg, () => {
  const watermark = {
    uid: "f".repeat(32),
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
  } as const;
  for (const [what, more] of [
    ["is not offered for a clip", { clip: { start: 1, end: 2 } }],
    ["is not offered with a watermark", { watermark }],
    ["is not offered before probing", { model: null }],
  ] as [string, Partial<Video>][]) {
    test(what, async (t) => {
      const { rung, video } = await setUp(t, mediaClips.plain, more);
      assert.equal(await rung.of(video), undefined);
    });
  }
});

test("the index of a source is read once, and the index cache is limited in size", needsFfmpeg, async (t) => {
  const { objects, video } = await setUp(t, mediaClips.plain);
  let opened = 0;
  const counted: Pick<ObjectStore, "open"> = { open: (key) => (opened++, objects.open(key)) };
  const rung = createSourcePassthrough({ objects: counted, log: silentLog, enabled: true, maxBytes: 6000 });
  await Promise.all([rung.of(video), rung.of(video), rung.of(video)]);
  assert.equal(opened, 1);
  const others = Array.from({ length: 5 }, (_, i) => ({ ...video, uid: String(i).repeat(32) }));
  for (const other of others) await rung.of(other);
  assert.equal(opened, 6);
  await rung.of(others[4]!);
  assert.equal(opened, 6);
  await rung.of(video);
  assert.equal(opened, 7);
});

test("at most three indexes are read concurrently", async () => {
  const { video } = testModel();
  const sources = Array.from({ length: 5 }, (_, i) =>
    testVideo({
      uid: String(i).repeat(32),
      sourceKey: `stream/${i}/source`,
      model: testModel(4, { video: { ...video!, passthrough: true } }),
    }),
  );
  const pending: (() => void)[] = [];
  const slow: Pick<ObjectStore, "open"> = {
    open: () => new Promise<undefined>((resolve) => void pending.push(() => resolve(undefined))),
  };
  const rung = createSourcePassthrough({ objects: slow, log: silentLog, enabled: true });
  const reads = sources.map((source) => rung.of(source));
  assert.equal(pending.length, 3);
  for (let n = 0; n < 3; n++) pending[n]!();
  await Promise.all(reads.slice(0, 3));
  assert.equal(pending.length, 5);
  for (const end of pending) end();
  assert.deepEqual(await Promise.all(reads), Array.from({ length: 5 }));
});
