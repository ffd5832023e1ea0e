import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { clip, needsFfmpeg } from "../../../../test/support/media.ts";
import { createLog } from "../../../kernel/index.ts";
import { openTools } from "../../media/media.testing.ts";
import type { LiveMedia } from "../../media/port.ts";
import {
  waitUntilEncoded,
  keyFrameTimesOf,
  openEncoding,
  packetsOf,
  presentationTimes,
  until,
  ZERO_DELAY,
  none,
  assertNear,
  repeatPackets,
} from "./encode.testing.ts";

describe("live encodings", needsFfmpeg, () => {
  test("continue with the source when the encoder is killed; the next key frame is a discontinuity with a new encoder, or without one after repeated failures", async (t) => {
    const { tracks, packets } = await packetsOf(
      await clip({ size: "640x480", video: ZERO_DELAY, seconds: 2, keyframeSeconds: 1 }),
      { round: 1000 },
    );
    const real = openTools(t);
    const children: LiveMedia[] = [];
    const encoding = await openEncoding(t, {
      tools: {
        live: (run) => {
          const child = real.live(run);
          children.push(child);
          return child;
        },
      },
    });
    encoding.publication.configure(tracks);
    for (let round = 0; round < 6; round++) {
      encoding.send(repeatPackets(packets, round, 2));
      assert.equal(encoding.runs.length, Math.min(5, round + 1));
      if (round > 3) continue;
      await until(
        () => encoding.runs[round]!.fragments.some(({ rendition }) => rendition === "360p"),
        "a fragment from the encoder",
      );
      children.at(-1)!.kill();
      await children.at(-1)!.done.catch(() => {});
    }
    await encoding.finish();
    assert.equal(children.length, 4);
    assert.deepEqual(
      encoding.runs.map(({ run }) => run.renditions.length),
      [3, 3, 3, 3, 2],
    );
    assert.equal(new Set(encoding.runs.map(({ run }) => run.id)).size, 5);
    // The source is complete: the runs follow each other at key frames.
    let frames = 0;
    for (const [i, taken] of encoding.runs.entries()) {
      frames += (await presentationTimes(await encoding.whole(taken, "source"))).length;
      assert.equal(keyFrameTimesOf(taken, "source")[0], 0);
      assert.equal(taken.run.started, encoding.runs[0]!.run.started + i * 2000);
    }
    assert.equal(frames, 6 * packets.filter(({ kind }) => kind === "video").length);
    assert.match(encoding.session().health().notes![0]!, /^360p is not encoded: the encoder failed repeatedly/);
  });
});

test(
  "a hardware encoder that cannot be opened is replaced by software at the next key frame",
  needsFfmpeg,
  async (t) => {
    const { tracks, packets } = await packetsOf(
      await clip({ size: "640x480", video: ZERO_DELAY, seconds: 2, keyframeSeconds: 1 }),
      { round: 1000 },
    );
    const real = openTools(t);
    const children: LiveMedia[] = [];
    const log = new PassThrough({ encoding: "utf8" });
    let lines = "";
    log.on("data", (text: string) => (lines += text));
    const encoding = await openEncoding(t, {
      log: createLog({ destination: log }),
      tools: {
        // As if VA-API had passed its test at the start, and its device had failed since then.
        live: ({ args, ...run }) => {
          assert.ok(typeof args === "function");
          const child = real.live({ ...run, args: args("h264_vaapi") });
          children.push(child);
          return child;
        },
      },
    });
    encoding.publication.configure({ video: tracks.video! });
    const video = packets.filter(({ kind }) => kind === "video");
    encoding.send(video);
    await assert.rejects(children[0]!.done);
    encoding.send(repeatPackets(video, 1, 2));
    await waitUntilEncoded(encoding.runs[1]!, 1);
    await encoding.finish();
    assert.equal(children.length, 2, "the software encoder continues");
    assert.deepEqual(
      encoding.runs.map(({ run }) => run.renditions.map(({ name }) => name)),
      [
        ["source", "360p"],
        ["source", "360p"],
      ],
    );
    assert.deepEqual(encoding.notes.at(-1), []);
    assert.match(
      lines,
      /"encoder":"h264_vaapi","message":"[^"]+.*"live: hardware encoder failed, restarting with libx264 at the next key frame"/,
    );
  },
);

test(
  "changed tracks cause a discontinuity; above the encoder limit only the source is offered, with a note",
  needsFfmpeg,
  async (t) => {
    const { tracks, packets } = await packetsOf(
      await clip({ video: ZERO_DELAY, size: "640x480", seconds: 2, keyframeSeconds: 1 }),
      { round: 1000 },
    );
    const encoding = await openEncoding(t, { tools: openTools(t), encoders: 1 });
    const held = encoding.admission.admit(1);
    encoding.publication.configure(tracks);
    encoding.send(packets);
    held.release();
    encoding.publication.configure({ video: tracks.video! });
    encoding.send(repeatPackets(packets, 1, 2));
    await until(
      () => encoding.runs[1]?.fragments.some(({ rendition }) => rendition === "360p") === true,
      "a fragment from the encoder after the discontinuity",
    );
    await encoding.finish();
    assert.deepEqual(
      encoding.runs.map(({ run }) => run.renditions.map(({ name }) => name)),
      [
        ["source", "audio"],
        ["source", "360p"],
      ],
    );
    assert.deepEqual(encoding.notes, [["360p is not encoded: all encoders (live.encoders: 1) are in use."], []]);
    assert.ok(encoding.runs[1]!.fragments.some(({ rendition }) => rendition === "360p"));
  },
);

test("an encoding that starts mid-session has its own time origin and ends on request", needsFfmpeg, async (t) => {
  const { tracks, packets } = await packetsOf(await clip({ video: ZERO_DELAY, seconds: 2, keyframeSeconds: 1 }), {
    round: 1000,
  });
  const encoding = await openEncoding(t, { tools: none, ladder: [] });
  encoding.stop();
  encoding.publication.configure(tracks);
  encoding.send(packets);
  encoding.make(encoding.session());
  encoding.send(repeatPackets(packets, 1, 2));
  encoding.encodings[0]!.end();
  await encoding.encodings[0]!.done;
  encoding.send(repeatPackets(packets, 2, 2));
  const [taken, ...more] = encoding.runs;
  assert.equal(more.length, 0);
  assert.equal(taken!.ended, true);
  // From the key frame at one second onwards.
  assert.equal(taken!.run.started, encoding.session().started + 1000);
  assertNear(keyFrameTimesOf(taken!, "source"), [0, 1, 2], 1e-6);
  assert.equal((await presentationTimes(await encoding.whole(taken!, "source"))).length, 90);
  // An ended session is not encoded.
  const session = encoding.session();
  await encoding.finish();
  encoding.make(session);
  await encoding.encodings[1]!.done;
  assert.equal(encoding.runs.length, 1);
});

test("audio alone is offered without a video rendition", needsFfmpeg, async (t) => {
  const { tracks, packets } = await packetsOf(await clip({ video: ZERO_DELAY, seconds: 2, keyframeSeconds: 1 }), {
    round: 1000,
  });
  const encoding = await openEncoding(t, { tools: none });
  encoding.publication.configure({ audio: tracks.audio! });
  encoding.send(packets.filter(({ kind }) => kind === "audio"));
  await encoding.finish();
  assert.deepEqual(
    encoding.runs.map(({ run }) => run.renditions.map(({ name }) => name)),
    [["audio"]],
  );
  assert.equal(encoding.runs[0]!.fragments[0]!.time, 0);
});
