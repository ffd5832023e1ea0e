import assert from "node:assert/strict";
import { test } from "node:test";
import { clip, needsFfmpeg, runFfmpeg } from "../../../../../test/support/media.ts";
import {
  videoFrameHeader,
  readTags,
  aacFormat,
  writeAudioConfig,
  writeVideoConfig,
} from "../../../../protocol/flv/index.ts";
import { MESSAGE, writeAmf0 } from "../../../../protocol/rtmp/index.ts";
import { until } from "../fake-sessions.testing.ts";
import { createTestClient } from "./rtmp.testing.ts";
import { openRtmp, openPublisher, sendMessage, writeFrame, AAC_CONFIG, publishAudioOnly } from "./server.testing.ts";

const writePicture = (codec: "hevc", { data, ...about }: { key: boolean; composition: number; data: Buffer }) =>
  Buffer.concat([videoFrameHeader(codec, about), data]);

/** avcC and the first frames of an x264 encoding, as ffmpeg writes them to FLV. */
async function h264(size: `${number}x${number}` = "320x180") {
  const path = await clip({ seconds: 1, size, audio: false, extension: "flv" });
  const file = await runFfmpeg(["-i", path, "-c", "copy", "-f", "flv", "-"]);
  return [...readTags(file.subarray(13))].filter(({ type }) => type === MESSAGE.video).map(({ data }) => data);
}

test("a publisher that does not wait for responses loses no data, and neither do concurrent publishers", async (t) => {
  const given = await openRtmp(t);
  given.ingest.add("other", "other-watch");
  const frames = Array.from({ length: 200 }, (_, i) => Buffer.alloc(1000 + 37 * i, i));
  for (const key of ["key", "other"]) {
    const client = createTestClient(given.server.port!);
    t.after(() => client.socket.destroy());
    await client.open();
    client.command("publish", key, "live");
    publishAudioOnly(client);
    for (const [i, data] of frames.entries()) sendMessage(client, MESSAGE.audio, 20 * i, writeFrame("aac", data));
  }
  await until(
    "all frames have arrived",
    () =>
      given.ingest.published.length === 2 &&
      given.ingest.published.every(({ packets }) => packets.length === frames.length),
  );
  for (const { packets } of given.ingest.published)
    for (const [i, { data }] of packets.entries()) assert.ok(data.equals(frames[i]!), `frame ${i} is unchanged`);
});

test(
  "audio alone is live after a second; video that arrives later causes a discontinuity, as does a changed frame size",
  needsFfmpeg,
  async (t) => {
    const given = await openRtmp(t);
    const client = await openPublisher(t, given);
    sendMessage(client, MESSAGE.audio, 5, writeAudioConfig("aac", AAC_CONFIG)!);
    for (let time = 10; time <= 1100; time += 20)
      sendMessage(client, MESSAGE.audio, time, writeFrame("aac", Buffer.from("sound")));
    const [got] = given.ingest.published;
    await until("the first configuration has arrived", () => got!.tracks.length === 1);
    assert.deepEqual(got!.tracks[0], { audio: { codec: "aac", config: AAC_CONFIG, ...aacFormat(AAC_CONFIG)! } });
    const [small, large] = [await h264(), await h264("640x360")];
    for (const [i, tag] of [...small.slice(0, 3), small[0]!, ...large.slice(0, 3)].entries())
      sendMessage(client, MESSAGE.video, 1200 + 40 * i, tag);
    await until("all frames have arrived", () => got!.packets.filter(({ kind }) => kind === "video").length === 4);
    assert.deepEqual(
      got!.tracks.slice(1).map(({ video, audio }) => [video!.width, video!.height, audio!.codec]),
      [
        [320, 180, "aac"],
        [640, 360, "aac"],
      ],
    );
    client.command("deleteStream", 1);
    await until("the publication has ended", () => got!.ended === "clean");
    // The connection can be used for another stream.
    client.command("publish", "key", "live");
    await until("the second publication has started", () => given.ingest.published.length === 2);
  },
);

test("accepts codecs by their FourCC, writes four-octet NAL lengths, and unwraps 32-bit times", async (t) => {
  const given = await openRtmp(t);
  const client = await openPublisher(t, given);
  const hvcC = Buffer.alloc(23);
  // Two-octet lengths.
  hvcC[21] = 0xfd;
  client.peer.send(4, {
    type: MESSAGE.data,
    stream: 1,
    time: 0,
    data: writeAmf0("onMetaData", { width: 1280, height: 720, videocodecid: 1 }),
  });
  sendMessage(client, MESSAGE.video, 0xfffffff0, writeVideoConfig("hevc", hvcC));
  sendMessage(
    client,
    MESSAGE.video,
    0xfffffff0,
    writePicture("hevc", { key: true, composition: 40, data: Buffer.from([0, 1, 7, 0, 2, 8, 9]) }),
  );
  sendMessage(
    client,
    MESSAGE.video,
    0x10,
    writePicture("hevc", { key: false, composition: 0, data: Buffer.from([0, 1, 7]) }),
  );
  sendMessage(
    client,
    MESSAGE.video,
    0x20,
    writePicture("hevc", { key: false, composition: 0, data: Buffer.from([0, 9, 7]) }),
  );
  const [got] = given.ingest.published;
  await until("all frames have arrived", () => got!.lost === 1);
  assert.deepEqual([got!.tracks[0]!.video!.width, got!.tracks[0]!.video!.config[21]], [1280, 0xff]);
  assert.deepEqual(
    got!.packets.map(({ data }) => [...data]),
    [
      [0, 0, 0, 1, 7, 0, 0, 0, 2, 8, 9],
      [0, 0, 0, 1, 7],
    ],
  );
  assert.deepEqual(
    [got!.packets[0]!.pts - got!.packets[0]!.dts, got!.packets[1]!.dts - got!.packets[0]!.dts],
    [40_000, 32_000],
  );
});

test("an unsupported codec ends the broadcast with an error message", async (t) => {
  const given = await openRtmp(t);
  const client = await openPublisher(t, given);
  sendMessage(client, MESSAGE.video, 0, Buffer.from([0x12, 1, 2, 3]));
  await until("the connection is closed", () => client.closed);
  assert.match(client.status()!.description, /its video is Sorenson H\.263\. Publish H\.264 and AAC\./);
  assert.deepEqual(given.ingest.published[0]!.unsupported, ["video Sorenson H.263"]);
});

test("reports the backlog of a player as its lag", async (t) => {
  const given = await openRtmp(t);
  const client = await openPublisher(t, given);
  publishAudioOnly(client);
  await until("the broadcast is live", () => given.ingest.all().length > 0);
  const player = createTestClient(given.server.port!);
  await player.open();
  player.command("play", "watch");
  await until("playback has started", () => player.messages.some(({ type }) => type === MESSAGE.audio));
  assert.deepEqual(given.ingest.lags(), [0]);
  player.socket.pause();
  const chunk = writeFrame("aac", Buffer.alloc(1024 * 1024));
  for (let i = 0; i < 20; i++) sendMessage(client, MESSAGE.audio, 20 * i, chunk);
  await until("the player lags", () => given.ingest.lags()[0]! > 8 * 1024 * 1024);
  player.socket.resume();
  await until(
    "the player has received everything",
    () => player.messages.filter(({ data }) => data.length > 1024 * 1024).length === 20,
  );
  assert.deepEqual(given.ingest.lags(), [0]);
});
