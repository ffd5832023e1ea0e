import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clip, countFrames, needsFfmpeg, runFfmpeg } from "../../../../test/support/media.ts";
import { openTools } from "../../media/media.testing.ts";
import {
  keyFrameTimesOf,
  waitUntilEncoded,
  openEncoding,
  packetsOf,
  presentationTimes,
  ZERO_DELAY,
  none,
  assertNear,
  repeatPackets,
} from "./encode.testing.ts";

const B_FRAMES = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "2"];

describe("live encodings", needsFfmpeg, () => {
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
      assertNear(
        await presentationTimes(source),
        pictures.map(({ pts }) => pts / 1_000_000).toSorted((a, b) => a - b),
        1e-6,
      );
      assert.equal(await countFrames(source), pictures.length);
      const sound = packets.filter(({ kind }) => kind === "audio");
      assertNear(
        await presentationTimes(await encoding.whole(taken!, "audio")),
        sound.map(({ pts }) => pts / 1_000_000),
        0.003,
      );
      assertNear(
        keyFrameTimesOf(taken!, "source"),
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

    test(`encode smaller renditions, ${name}: the same frames, with key frames at the same times`, async (t) => {
      const { tracks, packets } = await packetsOf(
        await clip({ size: "640x480", fps: "30000/1001", video: [...video] }),
        { round: 1000 },
      );
      const encoding = await openEncoding(t, { tools: openTools(t), ladder: ["240p", "360p", "720p"] });
      encoding.publication.configure(tracks);
      encoding.send(packets);
      await waitUntilEncoded(encoding.runs[0]!, 3.2);
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
      const times = await presentationTimes(await encoding.whole(taken!, "source"));
      for (const rendition of ["240p", "360p"]) {
        const path = await encoding.whole(taken!, rendition);
        assertNear(await presentationTimes(path), times, 1e-6);
        assertNear(keyFrameTimesOf(taken!, rendition), keyFrameTimesOf(taken!, "source"), 1e-9);
        assert.equal(await countFrames(path), times.length);
      }
      assert.ok(keyFrameTimesOf(taken!, "source").length === 2);
      assert.equal(encoding.admission.inUse(), 0);
      assert.deepEqual(encoding.notes, [[]]);
    });
  }

  test("encode VP9 and Opus at the resolution of the source, with a key frame every two seconds and audio in sync", async (t) => {
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
    await waitUntilEncoded(encoding.runs[0]!, 4.2);
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
    assertNear(keyFrameTimesOf(taken!, "source"), [0, 2, 4], 1e-6);
    assertNear(
      await presentationTimes(await encoding.whole(taken!, "source")),
      packets.filter(({ kind }) => kind === "video").map(({ pts }) => pts / 1_000_000),
      1e-4,
    );
    const received = await presentationTimes(await encoding.whole(taken!, "audio"));
    assertNear(
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
      await waitUntilEncoded(encoding.runs[0]!, 2.2);
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
      assertNear(keyFrameTimesOf(taken!, "360p"), keyFrameTimesOf(taken!, "source"), 1e-9);
      const path = await encoding.whole(taken!, "360p");
      assertNear(await presentationTimes(path), await presentationTimes(await encoding.whole(taken!, "source")), 1e-6);
      const [stream] = (
        JSON.parse((await runFfmpeg(["-show_streams", "-of", "json", path], "ffprobe")).toString()) as {
          streams: { codec_name: string; pix_fmt: string; profile: string }[];
        }
      ).streams;
      assert.deepEqual([stream!.codec_name, stream!.pix_fmt, stream!.profile], ["h264", "yuv420p", "High"]);
    });
  }

  test("preserve a gap of nine seconds in H.264 and Opus, with frames at their times and silence in between", async (t) => {
    const { tracks, packets } = await packetsOf(
      await clip({ size: "640x480", seconds: 2, video: ZERO_DELAY, audio: ["-c:a", "libopus", "-b:a", "64k"] }),
      { round: 1000 },
    );
    const encoding = await openEncoding(t, { tools: openTools(t), ladder: ["240p"] });
    encoding.publication.configure(tracks);
    encoding.send(packets);
    encoding.send(repeatPackets(packets, 1, 11));
    await waitUntilEncoded(encoding.runs[0]!, 12.2);
    await encoding.finish();
    const [taken, ...more] = encoding.runs;
    assert.equal(more.length, 0);
    const times = await presentationTimes(await encoding.whole(taken!, "source"));
    assert.equal(times[60], 11);
    assertNear(await presentationTimes(await encoding.whole(taken!, "240p")), times, 1e-6);
    assertNear(keyFrameTimesOf(taken!, "240p"), keyFrameTimesOf(taken!, "source"), 1e-9);
    const received = await presentationTimes(await encoding.whole(taken!, "audio"));
    assertNear(
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
      await waitUntilEncoded(encoding.runs[0]!, 5);
      await encoding.finish();
      const { time, duration } = encoding.runs[0]!.fragments.at(-1)!;
      const end = ((packets.at(-1)!.dts + 20_000) / 1_000_000) * (1 + ppm / 1_000_000);
      assert.ok(Math.abs(time + duration - end) < 0.05, `${time + duration} s instead of ${end}`);
    });
  }
});
