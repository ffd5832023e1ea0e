import assert from "node:assert/strict";
import { test } from "node:test";
import { clip, countFrames, mediaClips, needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import type { BurnedWatermark, VideoRendition } from "../model.ts";
import { videoCodecs } from "./codecs.ts";
import { measurePsnr, modelOf, openEncoder, rung } from "./encode.testing.ts";

/** Resolves with the mean colour of a box in a frame: red, green and blue. */
async function colourAt(path: string, frame: number, x: number, y: number): Promise<number[]> {
  const raw = await runFfmpeg([
    "-i",
    path,
    "-vf",
    `select=eq(n\\,${frame}),crop=8:8:${x - 4}:${y - 4},scale=1:1:flags=area,format=rgb24`,
    "-frames:v",
    "1",
    "-f",
    "rawvideo",
    "pipe:1",
  ]);
  return [...raw];
}

test("every codec is encoded as codecs.ts declares, and its segments fit together", needsFfmpeg, async (t) => {
  const path = await clip({ ...mediaClips.ntsc, seconds: 3 });
  const { video, whole, tools, segments } = await openEncoder(t);
  const { encoders } = await tools.ready();
  const all: VideoRendition[] = [
    rung("180p", 320, 180),
    rung("180p-hevc", 320, 180, { codec: "hevc", bitrate: 300_000 }),
    rung("180p-av1", 320, 180, { codec: "av1", bitrate: 300_000 }),
  ];
  const ladder = all.filter(({ codec }) => encoders.has({ h264: "libx264", hevc: "libx265", av1: "libsvtav1" }[codec]));
  const of = await video(
    path,
    modelOf({
      seconds: 3,
      fps: { num: 30_000, den: 1001 },
      frames: await countFrames(path),
      ladder,
      segmentSeconds: 1,
      audio: false,
    }),
  );
  await segments.encodeMissing(of, [0], { signal: new AbortController().signal });
  for (const rendition of ladder) {
    const made = await whole(of, rendition.name, [2, 0, 1]);
    const found = await measurePsnr(made, path);
    assert.ok(Math.min(...found) > 26, `${rendition.name}: ${found.map((db) => db.toFixed(0)).join(" ")}`);
    const said = await runFfmpeg(
      ["-select_streams", "v:0", "-show_entries", "stream=codec_tag_string,profile,level", "-of", "default=nw=1", made],
      "ffprobe",
    );
    const {
      codec_tag_string: tag,
      profile,
      level,
    } = Object.fromEntries(
      said
        .toString()
        .trim()
        .split("\n")
        .map((line) => line.split("=")),
    ) as Record<string, string>;
    const codecs = videoCodecs(rendition, of.model!);
    const actual = {
      h264: `avc1.6400${Number(level).toString(16).padStart(2, "0")}`,
      hevc: `hvc1.1.6.L${level}.90`,
      av1: `av01.0.${level!.padStart(2, "0")}M.08`,
    }[rendition.codec];
    assert.equal(codecs, actual, `${tag} ${profile} ${level}`);
  }
});

test("a watermark has the configured position and opacity in every rung", needsFfmpeg, async (t) => {
  const path = await clip({
    inputs: ["-f", "lavfi", "-i", "color=black:size=640x360:rate=25:duration=3"],
    audio: false,
  });
  const world = await openEncoder(t);
  const png = await runFfmpeg([
    "-f",
    "lavfi",
    "-i",
    "color=red:size=100x50",
    "-frames:v",
    "1",
    "-c:v",
    "png",
    "-f",
    "image2pipe",
    "pipe:1",
  ]);
  const mark: Omit<BurnedWatermark, "position" | "key"> = {
    width: 100,
    height: 50,
    opacity: 0.5,
    padding: 0.1,
    scale: 0.25,
  };
  const places = {
    upperLeft: [144, 76],
    upperRight: [496, 76],
    lowerLeft: [144, 284],
    lowerRight: [496, 284],
    center: [320, 180],
  } as const;
  for (const [position, [x, y]] of Object.entries(places) as [
    BurnedWatermark["position"],
    readonly [number, number],
  ][]) {
    const model = modelOf({
      seconds: 3,
      fps: { num: 25, den: 1 },
      size: [640, 360],
      ladder: [rung("180p", 320, 180), rung("360p", 640, 360)],
      audio: false,
      segmentSeconds: 1,
    });
    const of = await world.video(path, model);
    const key = `stream/${of.uid}/watermark.png`;
    await world.objects.put(key, png);
    of.model!.watermark = { ...mark, key, position };
    await world.segments.encodeMissing(of, [0, 2], { signal: new AbortController().signal });
    for (const [name, share] of [
      ["180p", 0.5],
      ["360p", 1],
    ] as const) {
      const made = await world.whole(of, name);
      for (const frame of [0, 30, 70]) {
        const [red, green, blue] = await colourAt(made, frame, x * share, y * share);
        assert.ok(
          red! > 100 && red! < 150 && green! < 30 && blue! < 30,
          `${position} ${name} frame ${frame}: ${red} ${green} ${blue}`,
        );
      }
      const [far] = await colourAt(made, 30, (640 - x + (x === 320 ? 200 : 0)) * share, (360 - y) * share);
      assert.ok(far! < 30, `${position} ${name}: nothing on the opposite side`);
    }
  }
});

test("HDR is converted to SDR: white stays white, and colours are tagged correctly", needsFfmpeg, async (t) => {
  const pq = [
    "-c:v",
    "libx265",
    "-preset",
    "ultrafast",
    "-pix_fmt",
    "yuv420p10le",
    "-color_primaries",
    "bt2020",
    "-color_trc",
    "smpte2084",
    "-colorspace",
    "bt2020nc",
    "-x265-params",
    "log-level=error:keyint=25",
    "-tag:v",
    "hvc1",
  ];
  const path = await clip({ seconds: 2, fps: "25", video: pq, audio: false });
  const { video, whole, tools } = await openEncoder(t);
  if (!(await (await tools.ready()).tonemaps())) return t.skip("ffmpeg has no zscale");
  const model = modelOf({ seconds: 2, fps: { num: 25, den: 1 }, segmentSeconds: 1, audio: false });
  const of = await video(path, {
    ...model,
    video: { ...model.video!, codec: "hevc", hdr: "pq", pixelFormat: "yuv420p10le" },
  });
  const made = await whole(of, "180p", [1, 0]);
  const said = (
    await runFfmpeg(
      [
        "-select_streams",
        "v:0",
        "-show_entries",
        "stream=pix_fmt,color_space,color_transfer,color_primaries",
        "-of",
        "csv=p=0",
        made,
      ],
      "ffprobe",
    )
  )
    .toString()
    .trim();
  assert.equal(said, "yuv420p,bt709,bt709,bt709");
  assert.equal(await countFrames(made), 50);
});

test("only the video and audio of the source reach viewers, not its metadata", needsFfmpeg, async (t) => {
  const path = await clip({
    output: [
      "-metadata",
      "title=private",
      "-metadata",
      "location=+52.5+13.4/",
      "-metadata:s:v",
      "handler_name=private",
    ],
  });
  const { video, bytesOf } = await openEncoder(t);
  const of = await video(path, modelOf());
  for (const name of ["180p", "audio"])
    for (const n of ["init", 0] as const)
      assert.ok(!/private|52\.5/.test((await bytesOf(of, name, n)).toString("latin1")));
});
