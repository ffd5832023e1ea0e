import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { clip, mediaClips, needsFfmpeg } from "../../../test/support/media.ts";
import { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import type { MediaRun, MediaTools } from "../media/port.ts";
import { MediaRunError } from "../media/run-error.ts";
import { modelOf, openEncoder, rung } from "./encode.testing.ts";

/** A poll without a pause would take CPU time from the encoder. */
const POLL_MS = 20;
const ladder = [rung("90p", 160, 90), rung("180p", 320, 180)];
const tenSeconds = () => clip(mediaClips.ntsc);
const tenSegments = modelOf({ seconds: 10, fps: { num: 30_000, den: 1001 }, frames: 300, ladder, segmentSeconds: 1 });
const isError = (kind: string, http: number) => (err: unknown) =>
  err instanceof UserError && err.kind === kind && err.entry.http === http;

/** Blocks every run until it is released, and lists the blocked runs. */
function gated() {
  const waiting: { run: MediaRun; go(): void; fail(err: unknown): void }[] = [];
  const arrivals: (() => void)[] = [];
  let open = false;
  return {
    waiting,
    around: (tools: MediaTools): MediaTools => ({
      ...tools,
      async ffmpeg(run) {
        if (!open) {
          await new Promise<void>((go, fail) => {
            waiting.push({ run, go, fail });
            run.signal?.addEventListener("abort", () => fail(new MediaRunError("aborted", "not wanted")), {
              once: true,
            });
            for (const arrived of arrivals.splice(0)) arrived();
          });
        }
        return tools.ffmpeg(run);
      },
    }),
    async arrived(count: number) {
      while (waiting.length < count) await new Promise<void>((resolve) => arrivals.push(resolve));
    },
    open() {
      open = true;
      for (const { go } of waiting.splice(0)) go();
    },
  };
}

test(
  "five hundred concurrent viewers are served by few encoder runs, without delaying another video",
  needsFfmpeg,
  async (t) => {
    const { video, segments, runs } = await openEncoder(t);
    const of = await video(await tenSeconds(), tenSegments);
    const other = await video(await tenSeconds(), tenSegments);
    const order: string[] = [];
    const viewers = Array.from({ length: 500 }, (_, i) =>
      segments
        .get(of, i % 2 === 0 ? "90p" : "180p", Math.floor(i / 2) % 10)
        .then((handle) => (order.push("of"), handle)),
    );
    const one = segments.get(other, "90p", 5).then((handle) => (order.push("other"), handle));
    for (const handle of await Promise.all([...viewers, one])) assert.ok(handle !== undefined && handle.size > 500);
    // Five runs for twenty segments in batches of four, one for the other video, and some for look-ahead.
    assert.ok(runs.length <= 12, `${runs.length} runs`);
    assert.ok(order.indexOf("other") < 400, "the other video is scheduled in between");
  },
);

test("two segments are encoded ahead, after the requested ones and not beyond the end", needsFfmpeg, async (t) => {
  const { video, segments, runs } = await openEncoder(t);
  const of = await video(await tenSeconds(), tenSegments);
  await segments.get(of, "90p", 3);
  for (const n of [4, 5]) while ((await segments.findStored(of, "90p", n)) === undefined) await sleep(POLL_MS);
  assert.equal(runs.length, 2);
  assert.equal(await segments.findStored(of, "180p", 3), undefined);
  await segments.get(of, "180p", 9);
  assert.equal(await segments.get(of, "180p", 10), undefined);
  assert.equal(await segments.get(of, "180p", -1), undefined);
  assert.equal(await segments.get(of, "720p", 0), undefined);
});

test("audio is encoded ahead only after the video that a viewer waits for has begun", needsFfmpeg, async (t) => {
  const gate = gated();
  const { video, segments, runs } = await openEncoder(t, {
    around: (tools) => {
      const { ffmpeg } = gate.around(tools);
      return { ...tools, ffmpeg: (run) => (run.args.includes("libx264") ? ffmpeg(run) : tools.ffmpeg(run)) };
    },
  });
  const of = await video(await tenSeconds(), tenSegments);
  const picture = segments.get(of, "90p", 0);
  await gate.arrived(1);
  assert.ok(await segments.get(of, "audio", 0));
  await segments.get(of, "audio", 1, { lookahead: false });
  assert.equal(runs.length, 2, "each run encodes one segment");
  gate.open();
  await picture;
  while ((await segments.findStored(of, "audio", 2)) === undefined) await sleep(POLL_MS);
});

test(
  "a disconnected viewer cancels its queued and running requests, but not those of other viewers",
  needsFfmpeg,
  async (t) => {
    const gate = gated();
    const { video, segments, runs } = await openEncoder(t, { around: gate.around, concurrency: 1 });
    const of = await video(await tenSeconds(), tenSegments);
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
    const left = [
      assert.rejects(segments.get(of, "90p", 0, first), /left/),
      assert.rejects(segments.get(of, "180p", 5, second), /left/),
    ];
    const staying = segments.get(of, "90p", 8);
    const shared = [segments.get(of, "180p", 2), assert.rejects(segments.get(of, "180p", 2, third), /left/)] as const;
    await gate.arrived(1);
    second.abort(new Error("left"));
    third.abort(new Error("left"));
    first.abort(new Error("left"));
    await Promise.all(left);
    await gate.arrived(2);
    gate.open();
    assert.ok((await staying) !== undefined && (await shared[0]) !== undefined);
    await shared[1];
    assert.ok(
      !runs.some((args) => args.some((arg) => arg.includes("trim=start_pts=0:"))),
      "the first request was never run",
    );
    assert.ok(
      !runs.some((args) => args.some((arg) => arg.includes("trim=start_pts=150:"))),
      "the second request was never run",
    );
  },
);

test(
  "an initialization segment comes from a run that encodes the rendition, if there is one",
  needsFfmpeg,
  async (t) => {
    const gate = gated();
    const { video, segments, runs } = await openEncoder(t, { around: gate.around });
    const of = await video(await tenSeconds(), tenSegments);
    const segment = segments.get(of, "90p", 9);
    await gate.arrived(1);
    const inits = [segments.get(of, "90p", "init"), segments.get(of, "180p", "init")];
    await gate.arrived(2);
    gate.open();
    for (const handle of await Promise.all([segment, ...inits])) assert.ok(handle !== undefined);
    assert.equal(runs.length, 2);
  },
);

test("awaited segments take precedence over look-ahead", needsFfmpeg, async (t) => {
  const gate = gated();
  const { video, segments } = await openEncoder(t, { around: gate.around, concurrency: 2 });
  const of = await video(await tenSeconds(), tenSegments);
  const one = segments.get(of, "90p", 0);
  await gate.arrived(1);
  gate.waiting[0]!.go();
  await one;
  await gate.arrived(2);
  const ahead = gate.waiting[1]!.run;
  assert.equal(ahead.urgency, "soon");
  const both = [segments.get(of, "180p", 4), segments.get(of, "90p", 8)];
  await gate.arrived(4);
  assert.ok(ahead.signal!.aborted);
  gate.open();
  await Promise.all(both);
});

test(
  "a killed encoder process is restarted, and a failing one is reported while others continue",
  needsFfmpeg,
  async (t) => {
    let kills = 1;
    const killing = (tools: MediaTools): MediaTools => ({
      ...tools,
      ffmpeg: (run) =>
        run.args.some((arg) => arg.includes("scale=320:180")) && kills-- > 0
          ? Promise.reject(new MediaRunError("killed", "ffmpeg was killed", "/secret/path"))
          : tools.ffmpeg(run),
    });
    const { video, segments } = await openEncoder(t, { around: killing });
    const of = await video(await tenSeconds(), tenSegments);
    assert.ok(await segments.get(of, "180p", 0));
    kills = Infinity;
    await assert.rejects(
      segments.get(of, "180p", 6),
      (err) => isError("encodingFailed", 424)(err) && !/secret/.test(String(err)),
    );
    assert.ok(await segments.get(of, "90p", 6));
    kills = 0;
    assert.ok(await segments.get(of, "180p", 6), "the next request retries");
  },
);

test(
  "without ffmpeg the documented error is returned, and stored segments can still be played",
  needsFfmpeg,
  async (t) => {
    let missing = false;
    const world = await openEncoder(t, {
      around: (tools) => ({
        ...tools,
        ready: () =>
          missing
            ? Promise.reject(streamErrors.mediaToolsMissing({ reason: "ffmpeg is not on the PATH" }))
            : tools.ready(),
      }),
    });
    const of = await world.video(await tenSeconds(), tenSegments);
    assert.ok(await world.segments.get(of, "90p", 9));
    missing = true;
    await assert.rejects(world.segments.get(of, "90p", 0), isError("mediaToolsMissing", 503));
    assert.ok(await world.segments.get(of, "90p", 9));
    missing = false;
    assert.ok(await world.segments.get(of, "90p", 0));
  },
);

test("a video that another encoder has begun is not continued", needsFfmpeg, async (t) => {
  const { video, segments, runs } = await openEncoder(t);
  const of = await video(await tenSeconds(), { ...tenSegments, h264Encoder: "h264_nvenc" });
  await assert.rejects(segments.get(of, "90p", 0), isError("encoderMissing", 503));
  assert.equal(runs.length, 0);
  assert.ok(await segments.get(of, "audio", 0));
});

test("requests beyond the limit are rejected immediately, and accepted again later", needsFfmpeg, async (t) => {
  const gate = gated();
  const { video, segments } = await openEncoder(t, { around: gate.around, concurrency: 1, maxWaiting: 3 });
  const of = await video(await tenSeconds(), tenSegments);
  const waiting = [0, 2, 4].map((n) => segments.get(of, "90p", n));
  await gate.arrived(1);
  await assert.rejects(segments.get(of, "90p", 6), isError("encoderBusy", 503));
  const same = segments.get(of, "90p", 4);
  gate.open();
  await Promise.all([...waiting, same]);
  assert.ok(await segments.get(of, "90p", 6));
});

test(
  "encoding for a video deleted in the meantime ends without an error and leaves nothing behind",
  needsFfmpeg,
  async (t) => {
    let there = true;
    const gate = gated();
    const { video, segments, objects } = await openEncoder(t, { around: gate.around, videoExists: async () => there });
    const of = await video(await tenSeconds(), tenSegments);
    const requested = [segments.get(of, "90p", 0), segments.get(of, "audio", 0)];
    await gate.arrived(2);
    there = false;
    gate.open();
    assert.deepEqual(await Promise.all(requested), [undefined, undefined]);
    const kept: string[] = [];
    for await (const { key } of objects.list(`stream/${of.uid}/`)) kept.push(key);
    // Objects stored earlier are removed when the video is deleted.
    assert.deepEqual(
      kept.filter((key) => key !== `stream/${of.uid}/audio/init.mp4`),
      [`stream/${of.uid}/source`],
    );
    await objects.delete([of.sourceKey!]);
    await assert.rejects(segments.get(of, "90p", 5), isError("encodingFailed", 424));
  },
);

test(
  "a source shorter than its model shows a still frame, and a missing or invalid source is reported",
  needsFfmpeg,
  async (t) => {
    const { video, segments, bytesOf } = await openEncoder(t);
    const cut = await video(
      await clip({ ...mediaClips.ntsc, output: ["-movflags", "+faststart"], keep: 0.6 }),
      tenSegments,
    );
    assert.ok((await bytesOf(cut, "90p", 9)).length > 500);
    const none = await video(import.meta.filename, tenSegments);
    await assert.rejects(segments.get(none, "90p", 0), isError("encodingFailed", 424));
    await assert.rejects(segments.get(none, "audio", 0), isError("encodingFailed", 424));
  },
);

test(
  "closing ends running encoders, rejects waiting requests and removes the temporary folders",
  needsFfmpeg,
  async (t) => {
    const gate = gated();
    const { video, segments, folder, objects, parts } = await openEncoder(t, { around: gate.around, concurrency: 1 });
    const of = await video(await tenSeconds(), tenSegments);
    const waiting = [
      assert.rejects(segments.get(of, "90p", 0), isError("encodingFailed", 424)),
      assert.rejects(segments.get(of, "180p", 4), isError("encodingFailed", 424)),
    ];
    await gate.arrived(1);
    await segments.close();
    await Promise.all(waiting);
    await assert.rejects(segments.get(of, "90p", 0), isError("encodingFailed", 424));
    const { createSegments } = await import("./segments.ts");
    gate.open();
    const again = createSegments(parts);
    t.after(() => again.close());
    await again.encodeMissing(of, [0], { signal: new AbortController().signal });
    assert.deepEqual(await readdir(join(folder, "scratch")), []);
    assert.ok(await objects.open(`stream/${of.uid}/180p/0.m4s`));
  },
);
