import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { countFrames, needsFfmpeg, runFfmpeg } from "../../../../../test/support/media.ts";
import { UserError } from "../../../../kernel/index.ts";
import { splitLengthPrefixed } from "../../../../protocol/h264/index.ts";
import { streamErrors } from "../../../errors.ts";
import { startSrtServer } from "./server.ts";
import { type Published, until } from "../fake-sessions.testing.ts";
import { address, createFakeIngest, ffmpeg, liveSourceArgs, openSrt, relay } from "./srt.testing.ts";

const SECRET = "correct-horse-battery";

const videoOf = ({ packets }: Pick<Published, "packets">) => packets.filter(({ kind }) => kind === "video");
const audioOf = ({ packets }: Pick<Published, "packets">) => packets.filter(({ kind }) => kind === "audio");

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "reelpost-srt-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Every video frame is complete and at the correct time, with its audio. */
function assertWhole({ packets }: Published, seconds: number) {
  const begin = { packets: packets.filter(({ dts }) => dts < seconds * 1_000_000 - 1000) };
  const [video, audio] = [videoOf(begin), audioOf(begin)];
  assert.equal(video.length, Math.round(seconds * 25));
  assert.ok(video[0]!.key);
  assert.ok(
    video.every(({ data }) => splitLengthPrefixed(data).reduce((sum, nal) => sum + 4 + nal.length, 0) === data.length),
  );
  for (const [i, { dts }] of video.entries())
    assert.ok(i === 0 || Math.abs(dts - video[i - 1]!.dts - 40_000) < 20, `${dts} after ${video[i - 1]?.dts}`);
  for (const [i, { dts }] of audio.entries())
    assert.ok(i === 0 || Math.abs(dts - audio[i - 1]!.dts - 21_333) < 20, `${dts} after ${audio[i - 1]?.dts}`);
  assert.ok(Math.abs(audio.length * 0.021333 - video.length / 25) < 0.1, `${audio.length} audio frames`);
}

describe("publishers", { ...needsFfmpeg, concurrency: true }, () => {
  test("are accepted unencrypted and encrypted, many on one port, each by its stream id", async (t) => {
    const { port, add, published, server } = await openSrt(t);
    const names = ["one", "two", "three", "four"];
    const options: Record<string, [string, string]> = {
      one: ["", ""],
      two: [SECRET, ""],
      three: [`${SECRET}3`, "&pbkeylen=32"],
      four: [`${SECRET}4`, "&pbkeylen=24&kmrefreshrate=60&kmpreannounce=20"],
    };
    for (const name of names) add(name, options[name]![0]);
    const ended = await Promise.all(
      names.map(
        (name) => ffmpeg(t, [...liveSourceArgs(2), "-f", "mpegts", address(port, name, ...options[name]!)]).done,
      ),
    );
    assert.deepEqual(
      ended.map(({ code }) => code),
      [0, 0, 0, 0],
    );
    await until("all publications have ended", () => published.every(({ ended }) => ended !== undefined));
    assert.deepEqual(published.map(({ claim }) => claim.credential).sort(), [...names].sort());
    for (const one of published) {
      assert.equal(one.ended, "clean");
      assert.deepEqual([one.claim.protocol, one.claim.address, one.lost], ["srt", "127.0.0.1", 0]);
      const [{ video, audio }] = one.tracks as [Published["tracks"][number]];
      assert.deepEqual(
        [one.tracks.length, video!.codec, video!.width, video!.height, video!.config[0]],
        [1, "h264", 320, 180, 1],
      );
      assert.deepEqual(
        [audio!.codec, audio!.sampleRate, audio!.channels, audio!.config.toString("hex")],
        ["aac", 48_000, 2, "1190"],
      );
      assertWhole(one, 2);
      assert.deepEqual(
        videoOf(one).flatMap(({ key }, i) => (key ? [i] : [])),
        [0, 25],
      );
    }
    assert.equal(server.load(), 0);
  });

  test("may send B-frames, HEVC, MP3 and Opus, or only audio or video", async (t) => {
    const { port, add, published } = await openSrt(t);
    const kinds = {
      late: ["-bf", "2", "-c:a", "libmp3lame"],
      hevc: ["-c:v", "libx265", "-x265-params", "log-level=none:keyint=25:bframes=0", "-c:a", "libopus"],
      sound: ["-vn"],
      silent: ["-an"],
    };
    for (const name of Object.keys(kinds)) add(name, "");
    const ended = await Promise.all(
      Object.entries(kinds).map(
        ([name, options]) =>
          ffmpeg(t, [...liveSourceArgs(1.4, ["-preset", "ultrafast", ...options]), "-f", "mpegts", address(port, name)])
            .done,
      ),
    );
    assert.deepEqual(
      ended.map(({ code }) => code),
      [0, 0, 0, 0],
    );
    const get = (name: string) => published.find(({ claim }) => claim.credential === name)!;
    await until(
      "all publications have ended",
      () => published.length === 4 && published.every(({ ended }) => ended === "clean"),
    );
    assert.ok(videoOf(get("late")).some(({ pts, dts }) => pts > dts));
    assert.deepEqual([get("late").tracks[0]!.audio!.codec, get("late").tracks[0]!.audio!.sampleRate], ["mp3", 48_000]);
    const { video, audio } = get("hevc").tracks[0]!;
    assert.deepEqual(
      [
        video!.codec,
        video!.width,
        video!.height,
        video!.config[0],
        audio!.codec,
        audio!.config.toString("latin1", 0, 8),
      ],
      ["hevc", 320, 180, 1, "opus", "OpusHead"],
    );
    assert.ok(
      audioOf(get("hevc")).every(({ dts }, i, all) => i === 0 || Math.abs(dts - all[i - 1]!.dts - 20_000) < 20),
    );
    assert.deepEqual([videoOf(get("sound")).length, get("sound").tracks[0]!.video], [0, undefined]);
    assert.ok(audioOf(get("sound")).length > 40);
    assert.deepEqual([videoOf(get("silent")).length, get("silent").tracks[0]!.audio], [35, undefined]);
  });

  test("lose nothing over a lossy, jittery link except the last packets", async (t) => {
    const { port, add, published } = await openSrt(t);
    add("far", SECRET);
    const line = await relay(t, port, { loss: 0.08, delayMs: 15 });
    const { code } = await ffmpeg(t, [
      ...liveSourceArgs(7, [
        "-b:v",
        "2M",
        "-maxrate",
        "2M",
        "-minrate",
        "2M",
        "-bufsize",
        "1M",
        "-x264-params",
        "nal-hrd=cbr",
      ]),
      "-f",
      "mpegts",
      address(line.port, "far", SECRET, "&latency=2000000"),
    ]).done;
    assert.equal(code, 0);
    await until("the publication has ended", () => published[0]?.ended !== undefined);
    assert.ok(line.dropped > 20, `${line.dropped} datagrams were lost`);
    // A receiver cannot detect the loss of the last packets before the sender disconnects: a loaded machine may lose
    // two seconds.
    assertWhole(published[0]!, 3);
  });

  test("are given the reason for a rejection", async (t) => {
    const { port, add, change, published, refusals } = await openSrt(t);
    const open = add("open", "");
    const sealed = add("sealed", SECRET);
    add("off", SECRET);
    change("off", { enabled: false });
    add("other", "");
    const publish = async (url: string, options: string[] = []) =>
      ffmpeg(t, [...liveSourceArgs(1, options), "-f", "mpegts", url]).done;
    for (const [url, reason] of [
      [address(port, "nobody", SECRET), /rejection reason|REJECT/],
      [address(port, "sealed", "wrong-horse-battery"), /Incorrect passphrase/],
      [address(port, "sealed"), /Password required or unexpected/],
      [address(port, "open", SECRET), /Password required or unexpected/],
      [address(port, "off", SECRET), /rejection reason|REJECT/],
    ] as const) {
      const { code, words } = await publish(url);
      assert.notEqual(code, 0, url);
      assert.match(words, reason, url);
    }
    assert.equal(published.length, 0);
    // ffmpeg retries; the number of attempts does not matter.
    assert.deepEqual(
      [...new Set(refusals.map(String))],
      [sealed.uid, open.uid].map((uid) => `${uid},livePassphraseWrong`),
    );
    const { length } = refusals;
    await ffmpeg(t, ["-i", address(port, "playsealed", "wrong-horse-battery"), "-t", "1", "-f", "null", "-"]).done;
    assert.equal(refusals.length, length, "a refused player is not recorded as a publisher");
    // The connection is established before the codec is known.
    await publish(address(port, "other"), ["-c:v", "mpeg2video"]);
    await until("the publication is rejected", () => published[0]?.ended === "broken");
    assert.deepEqual([published[0]!.unsupported, published[0]!.packets], [["video MPEG-2 video"], []]);
  });

  test("cannot share an input, and can disappear or be disconnected", async (t) => {
    const { port, add, published, server } = await openSrt(t);
    add("one", SECRET);
    const first = ffmpeg(t, [...liveSourceArgs(600), "-f", "mpegts", address(port, "one", SECRET)]);
    await until("the publication has started", () => (published[0]?.packets.length ?? 0) > 0);
    const second = await ffmpeg(t, [...liveSourceArgs(1), "-f", "mpegts", address(port, "one", SECRET)]).done;
    assert.notEqual(second.code, 0);
    assert.deepEqual([published.length, published[0]!.ended], [1, undefined]);
    first.kill();
    await until("the lost connection is noticed", () => published[0]!.ended !== undefined);
    assert.deepEqual([published[0]!.ended, server.load()], ["broken", 0]);
    const third = ffmpeg(t, [...liveSourceArgs(600), "-f", "mpegts", address(port, "one", SECRET)]);
    await until("the publication has started", () => (published[1]?.packets.length ?? 0) > 0);
    published[1]!.abort(streamErrors.liveKeyRevoked());
    assert.notEqual((await third.done).code, 0);
    await until("the connection is closed", () => server.load() === 0);
  });
});

describe("players", { ...needsFfmpeg, concurrency: true }, () => {
  test("receive a broadcast from a key frame until its end", async (t) => {
    const { port, add, published, viewers } = await openSrt(t);
    add("show", SECRET);
    const to = await folder(t);
    const early = await ffmpeg(t, ["-i", address(port, "playshow", SECRET), "-c", "copy", join(to, "early.ts")]).done;
    assert.notEqual(early.code, 0, "nothing is published yet");
    const publisher = ffmpeg(t, [
      ...liveSourceArgs(600, ["-bf", "2", "-preset", "veryfast"]),
      "-f",
      "mpegts",
      address(port, "show", SECRET),
    ]);
    await until("the publication has started", () => published[0] !== undefined && videoOf(published[0]).length > 30);
    const line = await relay(t, port, { loss: 0.05, delayMs: 10 });
    const [near, far] = [
      ffmpeg(t, ["-i", address(port, "playshow", SECRET), "-c", "copy", join(to, "near.ts")]),
      ffmpeg(t, ["-i", address(line.port, "playshow", SECRET, "&latency=2000000"), "-c", "copy", join(to, "far.ts")]),
    ];
    await until("both players receive data", () => viewers.size === 2);
    const before = videoOf(published[0]!).length;
    await until("four more seconds are published", () => videoOf(published[0]!).length >= before + 100);
    publisher.child.kill("SIGINT");
    await publisher.done;
    assert.deepEqual([(await near.done).code, (await far.done).code], [0, 0]);
    assert.equal(viewers.size, 0);
    assert.equal(published[0]!.ended, "clean");
    for (const name of ["near.ts", "far.ts"]) {
      const path = join(to, name);
      const frames = await countFrames(path);
      const sent = videoOf(published[0]!).length;
      assert.ok(frames >= 75 && frames <= sent, `${frames} of ${sent} frames in ${name}`);
      // The recording has no errors: lost packets were retransmitted.
      await runFfmpeg(["-xerror", "-err_detect", "explode", "-i", path, "-f", "null", "-"]);
      const said = await runFfmpeg(
        ["-show_entries", "stream=codec_name,width,height,sample_rate", "-of", "csv=p=0", path],
        "ffprobe",
      );
      assert.match(said.toString(), /h264,320,180/);
      assert.match(said.toString(), /aac,48000/);
    }
    assert.ok(line.dropped > 5);
    assert.ok((await readFile(join(to, "near.ts"))).length > 50_000);
  });

  test("receive nothing with the publishing key, a wrong key or a revoked key", async (t) => {
    const { port, add, change, published, server, viewers } = await openSrt(t);
    const { uid } = add("show", SECRET);
    const publisher = ffmpeg(t, [...liveSourceArgs(600), "-f", "mpegts", address(port, "show", SECRET)]);
    await until("the publication has started", () => (published[0]?.packets.length ?? 0) > 0);
    const play = (url: string) => ffmpeg(t, ["-i", url, "-c", "copy", "-f", "null", "-"]);
    assert.notEqual((await play(address(port, "playshow", "wrong-horse-battery")).done).code, 0);
    assert.notEqual((await play(address(port, "playnothing", SECRET)).done).code, 0);
    const player = play(address(port, "playshow", SECRET));
    await until("the player receives data", () => server.load() === 2);
    assert.deepEqual([...viewers.values()], [uid]);
    change("show", { passphrase: "another-horse-battery" });
    await player.done;
    await until("the connection is closed", () => server.load() === 1);
    assert.equal(viewers.size, 0);
    publisher.kill();
  });
});

test("reports a port in use, and rejects callers at the limit", async (t) => {
  const { port } = await openSrt(t);
  const ingest = createFakeIngest();
  await assert.rejects(
    startSrtServer({
      host: "127.0.0.1",
      port,
      connections: 1,
      publishing: ingest,
      sessions: ingest.sessions,
      inputs: ingest.inputs,
      viewers: { join: () => () => {} },
      log: { ...console, child: () => console } as never,
    }),
    (err) => err instanceof UserError && err.kind === "liveListenFailed",
  );
});

test("sends no response to garbage, and connections are unaffected", async (t) => {
  const { port, server } = await openSrt(t);
  const socket = createSocket("udp4");
  t.after(() => void socket.close());
  let answers = 0;
  socket.on("message", () => answers++);
  const send = (bytes: Uint8Array) =>
    new Promise<void>((resolve) => void socket.send(bytes, port, "127.0.0.1", () => resolve()));
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 1500 }), fc.boolean(), async (bytes, control) => {
      // Turns the bytes into a control packet without a destination.
      if (control && bytes.length >= 16) bytes.set([0x80, 0, 0, 0], 0);
      if (control && bytes.length >= 16) bytes.set([0, 0, 0, 0], 12);
      if (control && bytes.length >= 40) bytes.set([0xff, 0xff, 0xff, 0xff], 36);
      await send(bytes);
    }),
    { numRuns: 300 },
  );
  // The server is still alive: it responds to an induction.
  const induction = Buffer.alloc(64);
  induction.writeUInt32BE(0x8000_0000, 0);
  induction.writeUInt32BE(4, 16);
  induction.writeUInt32BE(1, 36);
  const before = answers;
  await send(induction);
  await until("a response has arrived", () => answers > before);
  assert.equal(server.load(), 0);
});
