import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { connect } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { createSecureContext } from "node:tls";
import * as fc from "fast-check";
import { clip, needsFfmpeg, runFfmpeg, X264 } from "../../../../../test/support/media.ts";
import { makeSelfSigned } from "../../../../certificates/index.ts";
import { silentLog, systemClock } from "../../../../kernel/index.ts";
import {
  audioFrameHeader,
  videoFrameHeader,
  readTags,
  aacFormat,
  writeAudioConfig,
  writeVideoConfig,
} from "../../../../protocol/flv/index.ts";
import { MESSAGE, writeAmf0 } from "../../../../protocol/rtmp/index.ts";
import { streamErrors } from "../../../errors.ts";
import { until } from "../fake-sessions.testing.ts";
import { createFakeIngest, createTestClient, type FakeIngest, type TestClient } from "./rtmp.testing.ts";
import { type RtmpLimits, type RtmpServer, startRtmpServer } from "./server.ts";

const pair = makeSelfSigned({ names: ["localhost"], clock: systemClock });
const tls = { context: () => createSecureContext({ cert: pair.cert, key: pair.key }) };

interface Given {
  ingest: FakeIngest;
  server: RtmpServer;
  /** Input uid of each viewer, by session. */
  viewers: Map<string, string>;
  url: string;
  secureUrl: string;
}

async function serve(t: TestContext, limits: Partial<RtmpLimits> = {}, connections = 100): Promise<Given> {
  const ingest = createFakeIngest();
  ingest.add("key", "watch");
  const viewers = new Map<string, string>();
  const join = (input: string, session: string) => {
    viewers.set(session, input);
    return () => void viewers.delete(session);
  };
  const server = await startRtmpServer({
    host: "127.0.0.1",
    port: 0,
    secure: { port: 0, tls },
    publishing: ingest,
    sessions: ingest,
    inputs: ingest.inputs,
    viewers: { join },
    connections,
    limits,
    log: silentLog,
  });
  t.after(() => server.close());
  return {
    ingest,
    server,
    viewers,
    url: `rtmp://127.0.0.1:${server.port}/live`,
    secureUrl: `rtmps://127.0.0.1:${server.securePort}/live`,
  };
}

async function publisher(t: TestContext, { server }: Given, key = "key"): Promise<TestClient> {
  const client = createTestClient(server.port!);
  t.after(() => client.socket.destroy());
  await client.open();
  client.command("publish", key, "live");
  await until("the publish command gets a response", () => client.status() !== undefined);
  return client;
}

const send = ({ peer }: TestClient, type: number, time: number, data: Buffer) =>
  peer.send(6, { type, stream: 1, time, data });
const writeFrame = (codec: "aac", data: Buffer) => Buffer.concat([audioFrameHeader(codec), data]);
const writePicture = (codec: "hevc", { data, ...about }: { key: boolean; composition: number; data: Buffer }) =>
  Buffer.concat([videoFrameHeader(codec, about), data]);
const AAC = Buffer.from([0x11, 0x90]);
/** Goes live immediately, because it does not wait for another track. */
function soundOnly(client: TestClient) {
  send(client, MESSAGE.audio, 0, writeAudioConfig("aac", AAC)!);
  client.peer.send(4, {
    type: MESSAGE.data,
    stream: 1,
    time: 0,
    data: writeAmf0("@setDataFrame", "onMetaData", { audiocodecid: 10 }),
  });
}
/** avcC and the first frames of an x264 encoding, as ffmpeg writes them to FLV. */
async function h264(size: `${number}x${number}` = "320x180") {
  const path = await clip({ seconds: 1, size, audio: false, extension: "flv" });
  const file = await runFfmpeg(["-i", path, "-c", "copy", "-f", "flv", "-"]);
  return [...readTags(file.subarray(13))].filter(({ type }) => type === MESSAGE.video).map(({ data }) => data);
}

describe("a real ffmpeg", needsFfmpeg, () => {
  for (const [name, options] of [
    ["RTMP, unmodified", []],
    ["RTMPS, with reordered frames", ["-bf", "2", "-b_strategy", "0"]],
  ] as const) {
    test(`publishes by ${name}: every packet arrives with its times`, async (t) => {
      const given = await serve(t);
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
    test(`plays a broadcast by ${secure ? "RTMPS" : "RTMP"}, and ends with it`, async (t) => {
      const given = await serve(t);
      const source = await clip({ seconds: 2, fps: "25", keyframeSeconds: 1 });
      const base = secure ? given.secureUrl : given.url;
      const publishing = runFfmpeg(["-re", "-i", source, "-c", "copy", "-f", "flv", `${base}/key`]);
      await until("the broadcast is live", () => given.ingest.all().length > 0);
      const played = await runFfmpeg(["-i", `${base}/watch`, "-c", "copy", "-f", "flv", "-"]);
      await publishing;
      const tags = [...readTags(played.subarray(13))];
      const [got] = given.ingest.published;
      const pictures = tags.filter(({ type, data }) => type === MESSAGE.video && data[1] === 1);
      assert.ok(pictures.length >= 25 && pictures.length <= 50, `${pictures.length} frames arrived`);
      assert.equal(pictures[0]!.data[0]! >> 4, 1, "the first frame is a key frame");
      const sent = got!.packets.filter(({ kind }) => kind === "video").slice(-pictures.length);
      assert.deepEqual(
        pictures.map(({ data }) => data.subarray(5).toString("hex", 0, 64)),
        sent.map(({ data }) => data.toString("hex", 0, 64)),
      );
      assert.ok(tags.filter(({ type }) => type === MESSAGE.audio).length > 45);
    });
  }

  test("keeps everything received when it is killed in mid-broadcast", async (t) => {
    const given = await serve(t);
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

  test("gets an error text for an unknown key and for playback without a broadcast", async (t) => {
    const given = await serve(t);
    const source = await clip({ seconds: 2, fps: "25" });
    await assert.rejects(
      runFfmpeg(["-i", source, "-c", "copy", "-f", "flv", `${given.url}/wrong`]),
      /Unknown stream key|Operation not permitted/,
    );
    await assert.rejects(
      runFfmpeg(["-i", `${given.url}/watch`, "-c", "copy", "-f", "flv", "-"]),
      /has no publisher|Operation not permitted|Input\/output error/,
    );
    assert.deepEqual(given.server.load(), { admitted: 0, waiting: 0 });
  });
});

test("a rejection contains a sentence with the fix", async (t) => {
  const given = await serve(t);
  const wrong = await publisher(t, given, "wrong");
  assert.deepEqual(wrong.status(), {
    code: "NetStream.Publish.BadName",
    description: "Unknown stream key. Copy it from the live input; rotating the keys revokes earlier ones.",
  });
  await until("the connection is closed", () => wrong.closed);
  // A client that sends without waiting for responses still receives all of them.
  const hasty = createTestClient(given.server.port!);
  await hasty.open();
  hasty.command("publish", "wrong", "live");
  for (let i = 0; i < 400; i++) send(hasty, MESSAGE.video, i, Buffer.alloc(8000, 0x27));
  await until("the connection is closed", () => hasty.closed);
  assert.equal(hasty.status()!.code, "NetStream.Publish.BadName");
  const player = createTestClient(given.server.port!);
  await player.open();
  player.command("play", "watch");
  await until("the connection is closed", () => player.closed);
  assert.equal(player.status()!.code, "NetStream.Play.StreamNotFound");
  assert.match(player.status()!.description, /has no publisher/);
});

test("a publisher that does not wait for responses loses no data, and neither do concurrent publishers", async (t) => {
  const given = await serve(t);
  given.ingest.add("other", "other-watch");
  const frames = Array.from({ length: 200 }, (_, i) => Buffer.alloc(1000 + 37 * i, i));
  for (const key of ["key", "other"]) {
    const client = createTestClient(given.server.port!);
    t.after(() => client.socket.destroy());
    await client.open();
    client.command("publish", key, "live");
    soundOnly(client);
    for (const [i, data] of frames.entries()) send(client, MESSAGE.audio, 20 * i, writeFrame("aac", data));
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

test("rejects a second publisher, and any client when all slots are taken", async (t) => {
  const given = await serve(t, {}, 2);
  given.ingest.add("other", "other-watch");
  const client = await publisher(t, given);
  soundOnly(client);
  await until("the broadcast is live", () => given.ingest.all().length > 0);
  assert.match((await publisher(t, given)).status()!.description, /^Another publisher is live on this input/);
  const player = createTestClient(given.server.port!);
  t.after(() => player.socket.destroy());
  await player.open();
  player.command("play", "watch");
  await until("playback has started", () => given.server.load().admitted === 2);
  assert.match((await publisher(t, given, "other")).status()!.description, /maximum of 2 live connections/);
});

test("a revoked key ends the broadcast, and a revoked playback key the playback, each with a message", async (t) => {
  const given = await serve(t);
  const client = await publisher(t, given);
  soundOnly(client);
  await until("the broadcast is live", () => given.ingest.all().length > 0);
  const player = createTestClient(given.server.port!);
  await player.open();
  player.command("play", "/watch?token=1");
  await until("playback has started", () => player.messages.some(({ type }) => type === MESSAGE.audio));
  assert.deepEqual([...given.viewers.values()], [given.ingest.published[0]!.input]);
  given.ingest.revoke("watch");
  await until("the player is disconnected", () => player.closed);
  assert.equal(given.viewers.size, 0);
  assert.match(player.status()!.description, /revoked/);
  given.ingest.published[0]!.abort(streamErrors.liveKeyRevoked());
  await until("the publisher is disconnected", () => client.closed);
  assert.deepEqual([client.status()!.code, given.ingest.published[0]!.ended], ["NetStream.Publish.BadName", "broken"]);
  assert.equal(given.server.load().admitted, 0);
});

test(
  "audio alone is live after a second; video that arrives later begins a new run, as does a new frame size",
  needsFfmpeg,
  async (t) => {
    const given = await serve(t);
    const client = await publisher(t, given);
    send(client, MESSAGE.audio, 5, writeAudioConfig("aac", AAC)!);
    for (let time = 10; time <= 1100; time += 20)
      send(client, MESSAGE.audio, time, writeFrame("aac", Buffer.from("sound")));
    const [got] = given.ingest.published;
    await until("the first configuration has arrived", () => got!.tracks.length === 1);
    assert.deepEqual(got!.tracks[0], { audio: { codec: "aac", config: AAC, ...aacFormat(AAC)! } });
    const [small, large] = [await h264(), await h264("640x360")];
    for (const [i, tag] of [...small.slice(0, 3), small[0]!, ...large.slice(0, 3)].entries())
      send(client, MESSAGE.video, 1200 + 40 * i, tag);
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
  const given = await serve(t);
  const client = await publisher(t, given);
  const hvcC = Buffer.alloc(23);
  // Two-octet lengths.
  hvcC[21] = 0xfd;
  client.peer.send(4, {
    type: MESSAGE.data,
    stream: 1,
    time: 0,
    data: writeAmf0("onMetaData", { width: 1280, height: 720, videocodecid: 1 }),
  });
  send(client, MESSAGE.video, 0xfffffff0, writeVideoConfig("hevc", hvcC));
  send(
    client,
    MESSAGE.video,
    0xfffffff0,
    writePicture("hevc", { key: true, composition: 40, data: Buffer.from([0, 1, 7, 0, 2, 8, 9]) }),
  );
  send(client, MESSAGE.video, 0x10, writePicture("hevc", { key: false, composition: 0, data: Buffer.from([0, 1, 7]) }));
  send(client, MESSAGE.video, 0x20, writePicture("hevc", { key: false, composition: 0, data: Buffer.from([0, 9, 7]) }));
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

test("an unsupported codec ends the broadcast with an error text", async (t) => {
  const given = await serve(t);
  const client = await publisher(t, given);
  send(client, MESSAGE.video, 0, Buffer.from([0x12, 1, 2, 3]));
  await until("the connection is closed", () => client.closed);
  assert.match(client.status()!.description, /its video is Sorenson H\.263\. Publish H\.264 and AAC\./);
  assert.deepEqual(given.ingest.published[0]!.unsupported, ["video Sorenson H.263"]);
});

test("garbage at any point ends only its own connection", async (t) => {
  const given = await serve(t);
  const good = await publisher(t, given);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("hello", "commands", "media"),
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      async (stage, octets) => {
        const client = createTestClient(given.server.port!);
        if (stage !== "hello") await client.open();
        if (stage === "media") {
          client.command("publish", "wrong", "live");
          client.peer.send(6, { type: MESSAGE.video, stream: 1, time: 0, data: Buffer.from(octets) });
        }
        client.socket.end(Buffer.from(octets));
        await until("the connection is closed", () => client.closed);
      },
    ),
    { numRuns: 40 },
  );
  send(good, MESSAGE.audio, 0, writeAudioConfig("aac", AAC)!);
  send(good, MESSAGE.video, 0, Buffer.alloc(100_000, 0x91));
  await until("the broken connection is closed", () => good.closed);
  assert.equal(given.server.load().admitted, 0);
});

test("disconnects a silent client: during the handshake, before it publishes, and while it publishes", async (t) => {
  const given = await serve(t, { admissionMs: 150, idleMs: 300 });
  const silent = createTestClient(given.server.port!);
  const halfway = createTestClient(given.server.securePort!);
  const greeted = createTestClient(given.server.port!);
  await greeted.open();
  const publishing = await publisher(t, given);
  const all = [silent, halfway, greeted, publishing];
  await until("all connections are closed", () => all.every(({ closed }) => closed));
  await until("the broadcast has ended", () => given.ingest.published[0]!.ended === "broken");
  assert.deepEqual(given.server.load(), { admitted: 0, waiting: 0 });
});

test("a thousand silent connections do not lock out any client", async (t) => {
  const given = await serve(t, { maxPending: 300, maxPendingPerNetwork: 200 });
  const idle = Array.from({ length: 1000 }, () =>
    connect({ port: given.server.port!, host: "127.0.0.1" }).on("error", () => {}),
  );
  t.after(() => idle.forEach((socket) => socket.destroy()));
  // The publisher's own connection used one additional slot.
  await until(
    "they use exactly their share of connection slots",
    () => given.server.load().waiting === 200 && idle.filter(({ closed }) => closed).length === 800,
  );
  const client = await publisher(t, given);
  assert.equal(client.status()!.code, "NetStream.Publish.Start");
  assert.deepEqual(given.server.load(), { admitted: 1, waiting: 199 });
});

test("reports the backlog of a player as its lag", async (t) => {
  const given = await serve(t);
  const client = await publisher(t, given);
  soundOnly(client);
  await until("the broadcast is live", () => given.ingest.all().length > 0);
  const player = createTestClient(given.server.port!);
  await player.open();
  player.command("play", "watch");
  await until("playback has started", () => player.messages.some(({ type }) => type === MESSAGE.audio));
  assert.deepEqual(given.ingest.lags(), [0]);
  player.socket.pause();
  const chunk = writeFrame("aac", Buffer.alloc(1024 * 1024));
  for (let i = 0; i < 20; i++) send(client, MESSAGE.audio, 20 * i, chunk);
  await until("the player lags", () => given.ingest.lags()[0]! > 8 * 1024 * 1024);
  player.socket.resume();
  await until(
    "the player has received everything",
    () => player.messages.filter(({ data }) => data.length > 1024 * 1024).length === 20,
  );
  assert.deepEqual(given.ingest.lags(), [0]);
});

test("a closing server notifies its clients and accepts no new ones", async (t) => {
  const given = await serve(t);
  const client = await publisher(t, given);
  await given.server.close();
  await until("the connection is closed", () => client.closed);
  assert.match(client.status()!.description, /shutting down/);
  await assert.rejects(
    startRtmpServer({
      host: "203.0.113.1",
      port: 0,
      publishing: given.ingest,
      sessions: given.ingest,
      inputs: given.ingest.inputs,
      connections: 1,
      log: silentLog,
    }),
    (err: Error & { kind?: string }) => err.kind === "liveListenFailed",
  );
});
