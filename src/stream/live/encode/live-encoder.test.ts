import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { clip, countFrames, needsFfmpeg, runFfmpeg, X264 } from "../../../../test/support/media.ts";
import { openTools } from "../../media/media.testing.ts";
import type { LiveMedia } from "../../media/port.ts";
import type { MediaTools } from "../../media/port.ts";
import { MediaRunError } from "../../media/run-error.ts";
import { picture } from "../hub/hub.testing.ts";
import type { MediaPacket } from "../packets.ts";
import { keysOf, encodedUpTo, openEncoding, packetsOf, shownTimes, until } from "./encode.testing.ts";

const ZERO_DELAY = [...X264, "-bf", "0"];
const B_FRAMES = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "2"];
const none: Pick<MediaTools, "live"> = { live: () => assert.fail("something was encoded") };
const near = (actual: readonly number[], expected: readonly number[], within: number) => {
  assert.equal(actual.length, expected.length);
  for (const [i, time] of actual.entries())
    assert.ok(Math.abs(time - expected[i]!) <= within, `${i}: ${time} instead of ${expected[i]}`);
};

/** An endless publisher: repeats the same packets with later times. */
const again = (packets: readonly MediaPacket[], round: number, seconds: number) =>
  packets.map((packet) => ({
    ...packet,
    dts: packet.dts + round * seconds * 1_000_000,
    pts: packet.pts + round * seconds * 1_000_000,
  }));

describe("runs", needsFfmpeg, () => {
  for (const [name, video] of [
    ["without B-frames", ZERO_DELAY],
    ["with B-frames", B_FRAMES],
  ] as const) {
    test(`pass the source through, ${name}: every frame at its time, audio in sync`, async (t) => {
      const { tracks, packets } = await packetsOf(await clip({ video: [...video] }), { round: 1000 });
      const encoding = await openEncoding(t, { tools: none, ladder: [] });
      encoding.publication.configure(tracks);
      encoding.send(packets);
      await encoding.finish();
      const [taken] = encoding.runs;
      assert.deepEqual(
        taken!.run.renditions.map(({ name: of }) => of),
        ["source", "audio"],
      );
      assert.equal(taken!.run.keyFrames, "source");
      assert.equal(taken!.ended, true);
      const pictures = packets.filter(({ kind }) => kind === "video");
      const source = await encoding.whole(taken!, "source");
      near(
        await shownTimes(source),
        pictures.map(({ pts }) => pts / 1_000_000).toSorted((a, b) => a - b),
        1e-6,
      );
      assert.equal(await countFrames(source), pictures.length);
      const sound = packets.filter(({ kind }) => kind === "audio");
      near(
        await shownTimes(await encoding.whole(taken!, "audio")),
        sound.map(({ pts }) => pts / 1_000_000),
        0.003,
      );
      near(
        keysOf(taken!, "source"),
        pictures.filter(({ key }) => key).map(({ dts }) => dts / 1_000_000),
        1e-6,
      );
      assert.ok(taken!.fragments.every(({ duration }) => duration <= 0.334));
      // Audio is cut at the presentation time of key frames, within half a frame.
      const cuts = taken!.fragments.filter(({ rendition }) => rendition === "audio").map(({ time }) => time);
      for (const { time, offset = 0 } of taken!.fragments
        .filter(({ rendition, key }) => rendition === "source" && key)
        .slice(1))
        assert.ok(
          cuts.some((cut) => Math.abs(cut - time - offset) < 0.011),
          `no cut at ${time + offset}: ${cuts}`,
        );
    });

    test(`encode smaller renditions, ${name}: the same frames, key frames at the same times`, async (t) => {
      const { tracks, packets } = await packetsOf(
        await clip({ size: "640x480", fps: "30000/1001", video: [...video] }),
        { round: 1000 },
      );
      const encoding = await openEncoding(t, { tools: openTools(t), ladder: ["240p", "360p", "720p"] });
      encoding.publication.configure(tracks);
      encoding.send(packets);
      await encodedUpTo(encoding.runs[0]!, 3.2);
      await encoding.finish();
      const [taken] = encoding.runs;
      assert.deepEqual(
        taken!.run.renditions.map(({ name: of, width, height }) => [of, width, height]),
        [
          ["source", 640, 480],
          ["360p", 480, 360],
          ["240p", 320, 240],
          ["audio", undefined, undefined],
        ],
      );
      const times = await shownTimes(await encoding.whole(taken!, "source"));
      for (const rendition of ["240p", "360p"]) {
        const path = await encoding.whole(taken!, rendition);
        near(await shownTimes(path), times, 1e-6);
        near(keysOf(taken!, rendition), keysOf(taken!, "source"), 1e-9);
        assert.equal(await countFrames(path), times.length);
      }
      assert.ok(keysOf(taken!, "source").length === 2);
      assert.equal(encoding.admission.inUse(), 0);
      assert.deepEqual(encoding.notes, [[]]);
    });
  }

  test("encode VP9 and Opus in the size of the source, with a key frame every two seconds and audio in sync", async (t) => {
    const { tracks, packets } = await packetsOf(
      await clip({
        seconds: 5,
        video: ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "300k"],
        audio: ["-c:a", "libopus", "-b:a", "64k"],
        keyframeSeconds: 5,
      }),
    );
    const encoding = await openEncoding(t, { tools: openTools(t), ladder: [] });
    encoding.publication.configure(tracks);
    encoding.send(packets);
    await encodedUpTo(encoding.runs[0]!, 4.2);
    await encoding.finish();
    const [taken] = encoding.runs;
    assert.equal(taken!.run.keyFrames, "encoder");
    assert.deepEqual(
      taken!.run.renditions.map(({ name, width }) => [name, width]),
      [
        ["source", 320],
        ["audio", undefined],
      ],
    );
    near(keysOf(taken!, "source"), [0, 2, 4], 1e-6);
    near(
      await shownTimes(await encoding.whole(taken!, "source")),
      packets.filter(({ kind }) => kind === "video").map(({ pts }) => pts / 1_000_000),
      1e-4,
    );
    const received = await shownTimes(await encoding.whole(taken!, "audio"));
    near(
      received,
      received.map((_, i) => (i * 1024) / 48_000),
      1e-4,
    );
    assert.ok(received.at(-1)! > 4.9, String(received.at(-1)));
  });

  for (const [codec, video] of [
    [
      "HEVC",
      [
        "-c:v",
        "libx265",
        "-preset",
        "ultrafast",
        "-x265-params",
        "log-level=none:bframes=0",
        "-pix_fmt",
        "yuv420p10le",
        "-tag:v",
        "hvc1",
      ],
    ],
    ["AV1", ["-c:v", "libsvtav1", "-preset", "10", "-pix_fmt", "yuv420p"]],
  ] as const) {
    test(`pass 360p ${codec} through and add the same frames as 8-bit 4:2:0 H.264`, async (t) => {
      const { tracks, packets } = await packetsOf(await clip({ size: "640x360", seconds: 3, video: [...video] }), {
        round: 1000,
      });
      const encoding = await openEncoding(t, { tools: openTools(t), ladder: ["360p", "720p"] });
      encoding.publication.configure(tracks);
      encoding.send(packets);
      await encodedUpTo(encoding.runs[0]!, 2.2);
      await encoding.finish();
      const [taken] = encoding.runs;
      assert.deepEqual(
        taken!.run.renditions.map(({ name, width, height }) => [name, width, height]),
        [
          ["source", 640, 360],
          ["360p", 640, 360],
          ["audio", undefined, undefined],
        ],
      );
      near(keysOf(taken!, "360p"), keysOf(taken!, "source"), 1e-9);
      const path = await encoding.whole(taken!, "360p");
      near(await shownTimes(path), await shownTimes(await encoding.whole(taken!, "source")), 1e-6);
      const [stream] = (
        JSON.parse((await runFfmpeg(["-show_streams", "-of", "json", path], "ffprobe")).toString()) as {
          streams: { codec_name: string; pix_fmt: string; profile: string }[];
        }
      ).streams;
      assert.deepEqual([stream!.codec_name, stream!.pix_fmt, stream!.profile], ["h264", "yuv420p", "High"]);
    });
  }

  test("keep a gap of nine seconds in H.264 and Opus: frames at their times, and silence between", async (t) => {
    const { tracks, packets } = await packetsOf(
      await clip({ size: "640x480", seconds: 2, video: ZERO_DELAY, audio: ["-c:a", "libopus", "-b:a", "64k"] }),
      { round: 1000 },
    );
    const encoding = await openEncoding(t, { tools: openTools(t), ladder: ["240p"] });
    encoding.publication.configure(tracks);
    encoding.send(packets);
    encoding.send(again(packets, 1, 11));
    await encodedUpTo(encoding.runs[0]!, 12.2);
    await encoding.finish();
    const [taken, ...more] = encoding.runs;
    assert.equal(more.length, 0);
    const times = await shownTimes(await encoding.whole(taken!, "source"));
    assert.equal(times[60], 11);
    near(await shownTimes(await encoding.whole(taken!, "240p")), times, 1e-6);
    near(keysOf(taken!, "240p"), keysOf(taken!, "source"), 1e-9);
    const received = await shownTimes(await encoding.whole(taken!, "audio"));
    near(
      received,
      received.map((_, i) => (i * 1024) / 48_000),
      1e-4,
    );
    assert.ok(received.at(-1)! > 12.8 && received.at(-1)! < 13.1, String(received.at(-1)));
  });

  for (const ppm of [-5000, 5000]) {
    test(`follow an audio clock that is off by ${ppm} ppm`, async (t) => {
      const { tracks, packets } = await packetsOf(
        await clip({ seconds: 6, video: false, audio: ["-c:a", "libopus", "-b:a", "64k"] }),
        { round: 1000 },
      );
      const encoding = await openEncoding(t, { tools: openTools(t), ladder: [] });
      encoding.publication.configure({ audio: tracks.audio! });
      encoding.send(
        packets.map((packet) => ({
          ...packet,
          dts: packet.dts * (1 + ppm / 1_000_000),
          pts: packet.pts * (1 + ppm / 1_000_000),
        })),
      );
      await encodedUpTo(encoding.runs[0]!, 5);
      await encoding.finish();
      const { time, duration } = encoding.runs[0]!.fragments.at(-1)!;
      const end = ((packets.at(-1)!.dts + 20_000) / 1_000_000) * (1 + ppm / 1_000_000);
      assert.ok(Math.abs(time + duration - end) < 0.05, `${time + duration} s instead of ${end}`);
    });
  }

  test("continue the source when the encoder is killed; the next key frame begins a run with a new encoder, and finally without one", async (t) => {
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
      encoding.send(again(packets, round, 2));
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
      frames += (await shownTimes(await encoding.whole(taken, "source"))).length;
      assert.equal(keysOf(taken, "source")[0], 0);
      assert.equal(taken.run.started, encoding.runs[0]!.run.started + i * 2000);
    }
    assert.equal(frames, 6 * packets.filter(({ kind }) => kind === "video").length);
    assert.match(encoding.session().health().notes![0]!, /^360p is not encoded: the encoder failed repeatedly/);
  });
});

/** Encoders that never read or write anything. */
function hanging() {
  const fails: ((err: Error) => void)[] = [];
  const tools: Pick<MediaTools, "live"> = {
    live() {
      const { promise, reject } = Promise.withResolvers<never>();
      promise.catch(() => {});
      fails.push(reject);
      return {
        stdin: new PassThrough({ highWaterMark: 1 }),
        done: promise,
        kill: () => reject(new MediaRunError("aborted", "killed")),
      };
    },
  };
  return { tools, fails };
}

test(
  "a hanging encoder does not block the broadcast; when its queue is too long or it lags for too long, runs with fewer renditions begin",
  needsFfmpeg,
  async (t) => {
    const { tracks, packets } = await packetsOf(
      await clip({ size: "640x480", video: ZERO_DELAY, seconds: 2, keyframeSeconds: 1 }),
      { round: 1000 },
    );
    const { tools, fails } = hanging();
    const encoding = await openEncoding(t, { tools, ladder: ["240p", "360p"] });
    encoding.publication.configure(tracks);
    encoding.send(packets);
    const [first] = encoding.runs;
    assert.ok(first!.fragments.filter(({ rendition }) => rendition === "source").length >= 5);
    fails[0]!(new MediaRunError("input", "too much waits"));
    await new Promise((resolve) => setImmediate(resolve));
    for (let round = 1; round < 5; round++) encoding.send(again(packets, round, 2));
    assert.equal(encoding.runs.length, 2);
    encoding.clock.advance(6500);
    // The lag is detected at a packet; the next key frame begins the run.
    encoding.send(again(packets, 5, 2));
    assert.deepEqual(
      encoding.runs.map(({ run }) => run.renditions.map(({ name }) => name)),
      [
        ["source", "360p", "240p", "audio"],
        ["source", "240p", "audio"],
        ["source", "audio"],
      ],
    );
    assert.deepEqual(encoding.notes.slice(1), [
      ["360p is not encoded: the encoder did not keep up."],
      ["240p and 360p are not encoded: the encoder did not keep up."],
    ]);
    assert.equal(encoding.admission.inUse(), 0);
    await encoding.finish();
    assert.ok(encoding.runs.every(({ ended }) => ended));
  },
);

test("a broadcast that needs encoding waits for a slot and checks for one every ten seconds", async (t) => {
  const encoding = await openEncoding(t, { tools: hanging().tools, encoders: 1 });
  const others = [encoding.admission.admit(1), encoding.admission.admit(1, 1)];
  encoding.publication.configure({ video: { codec: "vp8", config: Buffer.alloc(0), width: 1280, height: 720 } });
  encoding.send([picture(0, { key: true }), picture(1000, { key: true })]);
  assert.equal(encoding.runs.length, 0);
  assert.deepEqual(encoding.session().health().notes, [
    "The broadcast must be transcoded for playback, but is not: all encoders (live.encoders: 1) are in use.",
  ]);
  for (const other of others) other.release();
  encoding.send([picture(2000, { key: true })]);
  assert.equal(encoding.runs.length, 0);
  encoding.clock.advance(10_000);
  encoding.send([picture(3000), picture(4000, { key: true })]);
  assert.deepEqual(
    encoding.runs.map(({ run }) => [run.renditions.map(({ name, height }) => `${name} ${height}`), run.keyFrames]),
    [[["source 720"], "encoder"]],
  );
  assert.equal(encoding.runs[0]!.run.started, encoding.session().started + 4000);
  assert.deepEqual(encoding.session().health().notes, [
    "360p is not encoded: all encoders (live.encoders: 1) are in use.",
  ]);
  assert.equal(encoding.admission.inUse(), 1);
  await encoding.finish();
  assert.equal(encoding.admission.inUse(), 0);
});

test("a run waits at most one second for an encoder to exit, and loses no packet meanwhile", needsFfmpeg, async (t) => {
  const { tracks, packets } = await packetsOf(
    await clip({ size: "640x480", video: ZERO_DELAY, seconds: 2, keyframeSeconds: 1 }),
    { round: 1000 },
  );
  const encoding = await openEncoding(t, { tools: hanging().tools });
  encoding.publication.configure(tracks);
  encoding.send(packets);
  encoding.publication.configure({ video: tracks.video! });
  encoding.send(packets);
  assert.equal(encoding.runs.length, 1);
  const began = performance.now();
  await encoding.finish();
  assert.ok(performance.now() - began < 10_000);
  assert.deepEqual(
    encoding.runs.map(({ ended }) => ended),
    [true, true],
  );
  assert.equal((await shownTimes(await encoding.whole(encoding.runs[1]!, "source"))).length, 60);
});

test(
  "changed tracks begin another run; above the encoder limit only the source is offered, with a note",
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
    encoding.send(again(packets, 1, 2));
    await until(
      () => encoding.runs[1]?.fragments.some(({ rendition }) => rendition === "360p") === true,
      "a fragment from the encoder of the second run",
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

test("an encoding that begins in mid-session has its own time zero, and ends on request", needsFfmpeg, async (t) => {
  const { tracks, packets } = await packetsOf(await clip({ video: ZERO_DELAY, seconds: 2, keyframeSeconds: 1 }), {
    round: 1000,
  });
  const encoding = await openEncoding(t, { tools: none, ladder: [] });
  encoding.stop();
  encoding.publication.configure(tracks);
  encoding.send(packets);
  encoding.make(encoding.session());
  encoding.send(again(packets, 1, 2));
  encoding.encodings[0]!.end();
  await encoding.encodings[0]!.done;
  encoding.send(again(packets, 2, 2));
  const [taken, ...more] = encoding.runs;
  assert.equal(more.length, 0);
  assert.equal(taken!.ended, true);
  // From the key frame at one second onwards.
  assert.equal(taken!.run.started, encoding.session().started + 1000);
  near(keysOf(taken!, "source"), [0, 1, 2], 1e-6);
  assert.equal((await shownTimes(await encoding.whole(taken!, "source"))).length, 90);
  // An ended session is not encoded.
  const session = encoding.session();
  await encoding.finish();
  encoding.make(session);
  await encoding.encodings[1]!.done;
  assert.equal(encoding.runs.length, 1);
});

test("audio alone makes an audio-only run", needsFfmpeg, async (t) => {
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
