import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, test } from "node:test";
import { clip, needsFfmpeg, runFfmpeg, X264 } from "../../../../../test/support/media.ts";
import { readTags } from "../../../../protocol/flv/index.ts";
import { MESSAGE } from "../../../../protocol/rtmp/index.ts";
import { until } from "../fake-sessions.testing.ts";
import { openRtmp } from "./server.testing.ts";

/** Frames from one key frame to the next. */
const GROUP = 25;

describe("ffmpeg", needsFfmpeg, () => {
  for (const [name, options] of [
    ["RTMP, unmodified", []],
    ["RTMPS, with reordered frames", ["-bf", "2", "-b_strategy", "0"]],
  ] as const) {
    test(`publishes over ${name}, and every packet arrives with its timestamp`, async (t) => {
      const given = await openRtmp(t);
      const source = await clip({ seconds: 2, fps: "25", video: [...X264, ...options] });
      const listed = (
        await runFfmpeg(
          ["-show_entries", "packet=codec_type,pts_time,dts_time,size", "-of", "csv=p=0", source],
          "ffprobe",
        )
      )
        .toString()
        .trim()
        .split("\n")
        .map((line) => line.split(","));
      await runFfmpeg([
        "-i",
        source,
        "-c",
        "copy",
        "-f",
        "flv",
        `${name.startsWith("RTMPS") ? given.secureUrl : given.url}/key`,
      ]);
      const [got] = given.ingest.published;
      await until("the publication has ended", () => got!.ended !== undefined);
      assert.equal(got!.ended, "clean");
      assert.equal(got!.claim.protocol, name.startsWith("RTMPS") ? "rtmps" : "rtmp");
      assert.deepEqual([got!.claim.credential, got!.claim.address, got!.lost], ["key", "127.0.0.1", 0]);
      const [tracks] = got!.tracks;
      assert.deepEqual(
        [got!.tracks.length, tracks!.video!.codec, tracks!.video!.width, tracks!.video!.height],
        [1, "h264", 320, 180],
      );
      assert.deepEqual([tracks!.audio!.sampleRate, tracks!.audio!.channels], [48_000, 2]);
      for (const kind of ["video", "audio"] as const) {
        const sent = listed.filter(([type]) => type === kind);
        const packets = got!.packets.filter((packet) => packet.kind === kind);
        assert.deepEqual(
          packets.map(({ data }) => data.length),
          sent.map(([, , , size]) => Number(size)),
        );
        const offset = Number(sent[0]![2]) - packets[0]!.dts / 1e6;
        for (const [i, packet] of packets.entries()) {
          assert.ok(Math.abs(Number(sent[i]![2]) - offset - packet.dts / 1e6) < 0.0021, `decode time of ${kind} ${i}`);
          assert.ok(
            Math.abs(Number(sent[i]![1]) - offset - packet.pts / 1e6) < 0.0021,
            `presentation time of ${kind} ${i}`,
          );
        }
      }
      assert.deepEqual(got!.packets.filter(({ kind, key }) => kind === "video" && key).length, 1);
      assert.equal(
        got!.packets.some(({ pts, dts }) => pts > dts),
        name.startsWith("RTMPS"),
      );
    });
  }

  for (const secure of [false, true]) {
    test(`plays a broadcast over ${secure ? "RTMPS" : "RTMP"}, and ends with it`, async (t) => {
      const given = await openRtmp(t);
      const source = await clip({ seconds: 2, fps: String(GROUP), keyframeSeconds: 1 });
      const base = secure ? given.secureUrl : given.url;
      const publisher = spawn(
        "ffmpeg",
        [
          "-v",
          "error",
          "-nostdin",
          "-re",
          "-stream_loop",
          "-1",
          "-i",
          source,
          "-c",
          "copy",
          "-f",
          "flv",
          `${base}/key`,
        ],
        { stdio: "ignore" },
      );
      t.after(() => publisher.kill("SIGKILL"));
      await until("the broadcast is live", () => given.ingest.all().length > 0);
      const [got] = given.ingest.published;
      const pictureCount = () => got!.packets.filter(({ kind }) => kind === "video").length;
      const beforePlaying = pictureCount();
      const playing = runFfmpeg(["-i", `${base}/watch`, "-c", "copy", "-f", "flv", "-"]);
      await until("the player is connected", () => given.viewers.size === 1);
      const whilePlaying = pictureCount();
      await until("it has received two seconds", () => pictureCount() >= whilePlaying + 50);
      publisher.kill("SIGINT");
      const tags = [...readTags((await playing).subarray(13))];
      const pictures = tags.filter(({ type, data }) => type === MESSAGE.video && data[1] === 1);
      // A player begins with the latest key frame at the time it connects; every 25th frame is one.
      const [fewest, most] = [pictureCount() - whilePlaying + 1, pictureCount() - beforePlaying + GROUP];
      assert.ok(
        pictures.length >= fewest && pictures.length <= most,
        `${pictures.length} frames arrived, not ${fewest} to ${most}`,
      );
      assert.equal(pictures[0]!.data[0]! >> 4, 1, "the first frame is a key frame");
      const first = got!.packets.filter(({ kind }) => kind === "video").at(-pictures.length)!;
      const sent = got!.packets.slice(got!.packets.indexOf(first));
      const firstOctets = (packets: readonly { data: Buffer }[], header = 0) =>
        packets.map(({ data }) => data.toString("hex", header, header + 64));
      assert.deepEqual(firstOctets(pictures, 5), firstOctets(sent.filter(({ kind }) => kind === "video")));
      // data[1] is 0 for the AudioSpecificConfig, 1 for a frame (FLV 10.1, AACPacketType).
      const frames = tags.filter(({ type, data }) => type === MESSAGE.audio && data[1] === 1);
      assert.deepEqual(firstOctets(frames, 2), firstOctets(sent.filter(({ kind }) => kind === "audio")));
    });
  }

  test("loses no received data when it is killed mid-broadcast", async (t) => {
    const given = await openRtmp(t);
    const child = spawn(
      "ffmpeg",
      [
        "-v",
        "error",
        "-re",
        "-f",
        "lavfi",
        "-i",
        "testsrc2=size=320x180:rate=25",
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-g",
        "10",
        "-f",
        "flv",
        `${given.url}/key`,
      ],
      { stdio: "ignore" },
    );
    t.after(() => child.kill("SIGKILL"));
    await until("some frames have arrived", () => (given.ingest.published[0]?.packets.length ?? 0) > 10);
    child.kill("SIGKILL");
    await until("the publication has ended", () => given.ingest.published[0]!.ended !== undefined);
    assert.equal(given.ingest.published[0]!.ended, "broken");
    await until("its connection slot is free", () => given.server.load().admitted === 0);
  });

  test("receives an error message for an unknown key and for playback without a broadcast", async (t) => {
    const given = await openRtmp(t);
    const source = await clip({ seconds: 2, fps: "25" });
    await assert.rejects(
      runFfmpeg(["-i", source, "-c", "copy", "-f", "flv", `${given.url}/wrong`]),
      /Unknown stream key|Operation not permitted/,
    );
    await assert.rejects(
      runFfmpeg(["-i", `${given.url}/watch`, "-c", "copy", "-f", "flv", "-"]),
      /has no publisher|Operation not permitted|Input\/output error/,
    );
    await until("both connections are closed", () => {
      const { admitted, waiting } = given.server.load();
      return admitted === 0 && waiting === 0;
    });
  });
});
