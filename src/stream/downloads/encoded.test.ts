import assert from "node:assert/strict";
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { clip, countFrames, mediaClips, needsFfmpeg, runFfmpeg, type ClipRecipe } from "../../../test/support/media.ts";
import { silentLog, systemClock } from "../../kernel/index.ts";
import type { AudioSource } from "../encode/port.ts";
import { createSegments } from "../encode/segments.ts";
import { openTools, streamSettings } from "../media/media.testing.ts";
import { createSourcePassthrough } from "../passthrough/passthrough.ts";
import { createProbe } from "../probe/probe.ts";
import { serveDelivery } from "../playback/playback.testing.ts";
import { testVideo } from "../videos/videos.testing.ts";
import { downloadRoutes } from "./delivery.ts";
import { assertClean } from "./downloads.testing.ts";
import { downloadKey } from "./make.ts";
import { muxFile } from "./mux.ts";
import { chooseRenditions } from "./rendition-source.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";

/** Probes and encodes with real tools; `audio` contains the added tracks. */
async function setUp(
  t: TestContext,
  recipe: ClipRecipe,
  {
    passthrough = false,
    audio,
  }: { passthrough?: boolean; audio?: (rendition: string) => AudioSource | undefined } = {},
) {
  const tools = openTools(t);
  const folder = mkdtempSync(join(tmpdir(), "reelpost-encoded-"));
  const objects = await openWriteOnceObjects({ folder: join(folder, "objects") });
  const key = "stream/x/source";
  await objects.put(key, createReadStream(await clip(recipe)));
  const unprobed = testVideo({ sourceKey: key, readyToStream: true });
  const model = await createProbe({ tools, objects, settings: streamSettings({ passthrough }), folder }).probe(
    unprobed,
  );
  const video = { ...unprobed, model };
  const segments = createSegments({
    tools,
    objects,
    clock: systemClock,
    log: silentLog,
    scratch: join(folder, "scratch"),
    ...(audio && { audio: { find: async (_, rendition) => audio(rendition) } }),
  });
  t.after(async () => {
    await segments.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const source = createSourcePassthrough({ objects, log: silentLog, enabled: passthrough });
  async function mux(type: "default" | "audio") {
    const file = await muxFile({
      renditions: await chooseRenditions(video, model, type, { segments, source }),
      kind: type === "audio" ? "M4A " : "isom",
      signal: new AbortController().signal,
      open: async (rendition, n) => (await rendition.open(n, new AbortController().signal))!,
    });
    const stored = await objects.put(downloadKey(video.uid, type, "b"), file.body());
    assert.equal(stored.size, file.size);
    return (await objects.leaseFile(downloadKey(video.uid, type, "b")))!.path;
  }
  return { video, model, segments, objects, folder, mux };
}

const lengths = async (path: string): Promise<number[]> =>
  (await runFfmpeg(["-show_entries", "stream=duration", "-of", "csv=p=0", path], "ffprobe"))
    .toString()
    .trim()
    .split("\n")
    .map(Number);

for (const [what, recipe, frames] of [
  ["29.97 fps", mediaClips.ntsc, 300],
  ["portrait", mediaClips.vertical, 120],
  ["silent", mediaClips.silent, 120],
] as const) {
  test(`a download of an encoded video has every frame (${what})`, needsFfmpeg, async (t) => {
    const { mux } = await setUp(t, recipe);
    const path = await mux("default");
    await assertClean(path);
    assert.equal(await countFrames(path), frames);
    const [pictures, sound] = await lengths(path);
    if (what !== "silent")
      assert.ok(Math.abs(pictures! - sound!) < 0.05, `video of ${pictures} s, audio of ${sound} s`);
  });
}

test("serves an audio-only download", needsFfmpeg, async (t) => {
  const { mux } = await setUp(t, mediaClips.soundOnly);
  for (const type of ["default", "audio"] as const) {
    const path = await mux(type);
    await assertClean(path);
    assert.ok(Math.abs((await lengths(path))[0]! - 4) < 0.1);
  }
});

test("an added track is padded with silence or cut to the duration of the video", needsFfmpeg, async (t) => {
  const tracks: Record<string, number> = { "audio-short": 1.5, "audio-long": 7 };
  const find = (rendition: string): AudioSource | undefined => {
    const duration = tracks[rendition];
    return duration === undefined
      ? undefined
      : {
          key: `stream/x/${rendition}-file`,
          format: "mov",
          stream: 0,
          codec: "aac",
          channels: 2,
          sampleRate: 48_000,
          duration,
        };
  };
  const { video, model, segments, objects, folder } = await setUp(t, mediaClips.plain, { audio: find });
  for (const [rendition, seconds] of Object.entries(tracks)) {
    await objects.put(find(rendition)!.key, createReadStream(await clip({ ...mediaClips.soundOnly, seconds })));
    const parts: Buffer[] = [];
    for (const n of ["init", ...Array.from({ length: model.segments.count }, (_, i) => i)] as const)
      parts.push(await (await segments.get(video, rendition, n))!.bytes());
    const path = join(folder, `${rendition}.mp4`);
    writeFileSync(path, Buffer.concat(parts));
    const received =
      Number(
        (await runFfmpeg(["-i", path, "-f", "null", "-progress", "pipe:1", "-"]))
          .toString()
          .match(/out_time_us=(\d+)/g)!
          .at(-1)!
          .split("=")[1],
      ) / 1e6;
    assert.ok(Math.abs(received - model.duration) < 0.05, `${rendition} is ${received} s long`);
  }
});

test(
  "a download is sent under the requested name, supports ranges, and returns 404 if there is none",
  needsFfmpeg,
  async (t) => {
    const { video: probed, objects, mux } = await setUp(t, mediaClips.plain, { passthrough: true });
    await mux("default");
    const video = { ...probed, meta: { name: "Äpfel & Birnen (final).mov", filename: "x.MOV" } };
    const row = (build: string, status: "ready" | "inprogress") => ({
      video_uid: video.uid,
      type: "default" as const,
      account_id: video.account,
      build,
      status,
      percent: 1,
      job: "",
      created_at: 0,
      modified_at: 0,
    });
    const table = {
      find: async (_: string, type: string) =>
        type === "default" ? row("b", "ready") : { ...row("b", "inprogress"), type: "audio" as const },
    };
    const failed = {
      ...video,
      uid: "f".repeat(32),
      state: "error" as const,
      errorReason: { code: "ERR_MALFORMED_VIDEO" as const, text: "" },
    };
    const clipped = { ...video, uid: "c".repeat(32), clip: { start: 1, end: 2 } };
    const origin = await serveDelivery(t, {
      videos: [video, failed, clipped],
      routes: downloadRoutes({ table, objects }),
    });
    const get = (path: string, headers: Record<string, string> = {}) => fetch(`${origin}${path}`, { headers });
    const whole = await get(`/${video.uid}/downloads/default.mp4`);
    assert.deepEqual(
      [whole.status, whole.headers.get("content-type"), whole.headers.get("content-disposition")],
      [200, "video/mp4", 'attachment; filename="A-pfel-Birnen-final.mp4"'],
    );
    const bytes = Buffer.from(await whole.arrayBuffer());
    assert.equal(bytes.length, Number(whole.headers.get("content-length")));
    const part = await get(`/${video.uid}/downloads/default.mp4?filename=my_Film-1`, { range: "bytes=10-19" });
    assert.deepEqual(
      [part.status, part.headers.get("content-disposition")],
      [206, 'attachment; filename="my_Film-1.mp4"'],
    );
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(10, 20)));
    for (const filename of ["a/b", "x".repeat(121), "", "a.mp4"])
      assert.equal(
        (await get(`/${video.uid}/downloads/default.mp4?filename=${encodeURIComponent(filename)}`)).status,
        400,
        filename,
      );
    assert.equal((await get(`/${video.uid}/downloads/audio.m4a`)).status, 404);
    assert.equal((await get(`/${failed.uid}/downloads/default.mp4`)).status, 424);
    const original = await get(`/${video.uid}/downloads/original`);
    assert.deepEqual(
      [original.status, original.headers.get("content-disposition")],
      [200, 'attachment; filename="A-pfel-Birnen-final.mov"'],
    );
    assert.equal((await original.arrayBuffer()).byteLength, (await objects.open(video.sourceKey!))!.size);
    // The source of a clip contains more than the clip.
    assert.equal((await get(`/${clipped.uid}/downloads/original`)).status, 404);
  },
);
