import assert from "node:assert/strict";
import { test } from "node:test";
import { clip, countFrames, mediaClips, needsFfmpeg } from "../../../test/support/media.ts";
import { countObjectRequests } from "../../store/objects/counted.testing.ts";
import { streamErrors } from "../errors.ts";
import type { MediaTools } from "../media/port.ts";
import { MediaRunError } from "../media/run-error.ts";
import { chunkCount } from "./chunks.ts";
import { openProcessing } from "./processing.testing.ts";

/** Ten segments in two chunks; each chunk takes one second after the probe has finished. */
const long = () =>
  clip({
    seconds: 38,
    size: "160x90",
    fps: "25",
    video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-b:v", "200k"],
  });

test("an upload becomes playable, then ready, with every listed segment present", needsFfmpeg, async (t) => {
  const { upload, until, names, segments } = await openProcessing(t);
  const uid = await upload(await clip({ ...mediaClips.ntsc, size: "640x360" }));
  const playable = await until(uid, ({ readyToStream }) => readyToStream);
  assert.equal(playable.state, "inprogress");
  assert.ok(await segments.findStored(playable, "360p", 0));
  assert.ok(await segments.findStored(playable, "audio", 0));
  const { model, state, pctComplete } = await until(uid, (video) => video.state === "ready");
  assert.deepEqual([state, pctComplete, model!.ladder.map(({ name }) => name)], ["ready", 100, ["240p", "360p"]]);
  assert.equal(model!.segments.frames, await countFrames(await clip({ ...mediaClips.ntsc, size: "640x360" })));
  const expected = ["240p", "360p", "audio"].flatMap((rendition) =>
    ["0.m4s", "1.m4s", "2.m4s", "init.mp4"].map((name) => `${rendition}/${name}`),
  );
  assert.deepEqual((await names(uid)).filter((name) => name !== "source").sort(), expected.sort());
});

test("encoding needs about one object store request per segment", needsFfmpeg, async (t) => {
  let counts: ReturnType<typeof countObjectRequests>["counts"] | undefined;
  const { upload, until } = await openProcessing(t, {
    aroundObjects: (store) => {
      const counted = countObjectRequests(store);
      ({ counts } = counted);
      return counted.objects;
    },
  });
  const uid = await upload(await long());
  const video = await until(uid, ({ state }) => state === "ready");
  const { ladder, audio, segments, duration } = video.model!;
  const renditions = ladder.length + (audio === undefined ? 0 : 1);
  const total = Object.values(counts!).reduce((sum, count) => sum + count, 0);
  t.diagnostic(
    `${JSON.stringify(counts)} for ${renditions} renditions and ${duration} s: ` +
      `${Math.round((total * 600) / duration)} requests per 10 minutes`,
  );
  // The source, the initialization segments and the segments. A few more, because some segments are encoded early for
  // players.
  const stored = 1 + renditions * (1 + segments.count);
  assert.ok(counts!.put >= stored && counts!.put <= stored + 2 * renditions, `${counts!.put} puts`);
  assert.deepEqual([counts!.list, counts!.delete, counts!.copy], [0, 0, 0]);
  assert.ok(total <= 1.5 * renditions * segments.count + 10, `${total} requests`);
});

test("processes audio without video, and video without audio", needsFfmpeg, async (t) => {
  const { upload, until, names } = await openProcessing(t);
  const [sound, silent] = [await upload(await clip(mediaClips.soundOnly)), await upload(await clip(mediaClips.silent))];
  await Promise.all([sound, silent].map((uid) => until(uid, ({ state }) => state === "ready")));
  assert.ok((await names(sound)).includes("audio/0.m4s"));
  assert.ok(!(await names(silent)).some((name) => name.startsWith("audio/")));
});

test(
  "a file that is not a video fails with the reason code that clients know, and is not retried",
  needsFfmpeg,
  async (t) => {
    let runs = 0;
    const { upload, until } = await openProcessing(t, {
      around: (tools) => ({ ...tools, ffprobe: (run) => (runs++, tools.ffprobe(run)) }),
    });
    const { errorReason } = await until(await upload(import.meta.filename), ({ state }) => state === "error");
    assert.equal(errorReason?.code, "ERR_NON_VIDEO");
    const before = runs;
    const { errorReason: length } = await until(
      await upload(await clip(), { maxDurationSeconds: 2 }),
      ({ state }) => state === "error",
    );
    assert.equal(length?.code, "ERR_DURATION_EXCEED_CONSTRAINT");
    assert.ok(runs > before);
  },
);

test("a video waits for a missing ffmpeg, and is processed once it is installed", needsFfmpeg, async (t) => {
  let missing = true;
  const refused = Promise.withResolvers<void>();
  const away = <Run>(run: () => Promise<Run>): Promise<Run> => {
    if (!missing) return run();
    refused.resolve();
    return Promise.reject(streamErrors.mediaToolsMissing({ reason: "ffmpeg is not on the PATH" }));
  };
  const around = (tools: MediaTools): MediaTools => ({
    ...tools,
    ready: () => away(tools.ready),
    ffmpeg: (run) => away(() => tools.ffmpeg(run)),
    ffprobe: (run) => away(() => tools.ffprobe(run)),
  });
  const { upload, until, videos } = await openProcessing(t, { around });
  const uid = await upload(await clip());
  await refused.promise;
  assert.equal((await videos.find(uid))?.state, "queued");
  missing = false;
  await until(uid, ({ state }) => state === "ready");
});

test(
  "an encoder that is occasionally killed only delays the video, and one that always fails makes the video fail while others continue",
  needsFfmpeg,
  async (t) => {
    const counts = new Map<string, number>();
    let bad = "";
    const around = (tools: MediaTools): MediaTools => ({
      ...tools,
      ffmpeg(run) {
        const name = run.reads[0]!;
        const count = (counts.get(name) ?? 0) + 1;
        counts.set(name, count);
        if (bad !== "" && name.includes(bad))
          return Promise.reject(new MediaRunError("failed", "ffmpeg: Invalid data found"));
        return count % 2 === 1 ? Promise.reject(new MediaRunError("killed", "ffmpeg was killed")) : tools.ffmpeg(run);
      },
    });
    const { upload, until } = await openProcessing(t, { around });
    const uid = await upload(await clip());
    await until(uid, ({ state }) => state === "ready");
    const [first, second] = [await upload(await clip()), await upload(await clip(mediaClips.silent))];
    bad = first;
    const [failed] = await Promise.all([
      until(first, ({ state }) => state === "error"),
      until(second, ({ state }) => state === "ready"),
    ]);
    assert.equal(failed.errorReason?.code, "ERR_MALFORMED_VIDEO");
  },
);

test(
  "after a shutdown the encoding of the ladder resumes where it stopped, and no stored segment is encoded again",
  needsFfmpeg,
  async (t) => {
    const path = await long();
    const background: string[] = [];
    const recording = (tools: MediaTools): MediaTools => ({
      ...tools,
      ffmpeg(run) {
        if (run.urgency === "background" && run.args.includes("libx264"))
          background.push(run.args[run.args.indexOf("-filter_complex") + 1]!);
        return tools.ffmpeg(run);
      },
    });
    const first = await openProcessing(t, { around: recording });
    const uid = await first.upload(path);
    const reached = await first.until(uid, ({ pctComplete }) => pctComplete > 20);
    assert.equal(chunkCount(reached.model!), 2);
    await first.close();
    background.length = 0;
    const second = await openProcessing(t, { folder: first.folder, around: recording });
    const before = new Set(await second.names(uid));
    await second.videos.recover();
    await second.until(uid, ({ state }) => state === "ready");
    // Existing segments are excluded from the runs: their frames are outside all encoded ranges.
    for (const filter of background) {
      const ranges = [...filter.matchAll(/between\(pts,(\d+),(\d+)\)|trim=start_pts=(\d+):end_pts=(\d+)/g)].map(
        ([, a, b, c, d]) => [Number(a ?? c), Number(b === undefined ? d : Number(b) + 1)] as const,
      );
      const [trim, ...only] = ranges as [readonly [number, number], ...(readonly [number, number])[]];
      for (const [from, to] of only.length > 0 ? only : [trim])
        for (let n = Math.round(from / 100); n * 100 < to; n++)
          assert.ok(!before.has(`90p/${n}.m4s`), `segment ${n} was encoded twice`);
    }
    assert.ok(background.length > 0 && before.size > 2);
  },
);

test(
  "processing of a video deleted during encoding ends without an error, and none of its data remains",
  needsFfmpeg,
  async (t) => {
    const { upload, until, names, videos } = await openProcessing(t);
    videos.start();
    const uid = await upload(await long());
    await until(uid, ({ pctComplete }) => pctComplete > 5);
    await videos.delete("a".repeat(32), uid);
    const other = await upload(await clip());
    await until(other, ({ state }) => state === "ready");
    while ((await names(uid)).length > 0) await new Promise((resolve) => setImmediate(resolve));
  },
);
