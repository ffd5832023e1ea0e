import assert from "node:assert/strict";
import { test } from "node:test";
import { joinLengthPrefixed, writeAvcConfig } from "../../../protocol/h264/index.ts";
import { unpackH264 } from "../../../protocol/rtp/index.ts";
import { streamErrors } from "../../errors.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { Transcoding, TranscoderOutput, Transcoder } from "./transcoder.ts";
import { createFeeds, type PacketizedFrame } from "./feed.ts";
import { createSmallHub } from "./webrtc.testing.ts";

/** Baseline, 320x180: no B-frames. */
const SPS = Buffer.from("6742c01eda0502ec0440000003004000000c23c58ba8", "hex");
const PPS = Buffer.from("68ce3c80", "hex");
const h264: LiveTracks = { video: { codec: "h264", config: writeAvcConfig([SPS], [PPS]), width: 320, height: 180 } };
const picture = (pts: number, key: boolean): MediaPacket => ({
  kind: "video",
  dts: pts,
  pts,
  key,
  data: joinLengthPrefixed([Buffer.from([key ? 0x65 : 0x41, pts & 255, 1])]),
});

async function publish(tracks: LiveTracks, transcoder?: Transcoder) {
  const hub = createSmallHub();
  const publication = await hub.publish({ protocol: "rtmp", credential: hub.secret, address: "127.0.0.1" });
  publication.configure(tracks);
  return {
    hub,
    publication,
    feeds: createFeeds({ sessions: hub, stayMs: 60_000, ...(transcoder !== undefined && { transcoder }) }),
  };
}

/** Returns a transcoder that records its input. */
function someTranscoder() {
  const opened: {
    tracks: LiveTracks;
    wanted: { video: boolean; audio: boolean };
    out: TranscoderOutput;
    given: MediaPacket[];
    closed: boolean;
  }[] = [];
  const transcoder: Transcoder = {
    open(tracks, wanted, out): Transcoding {
      const one = { tracks, wanted, out, given: [] as MediaPacket[], closed: false };
      opened.push(one);
      return { write: (packet) => void one.given.push(packet), lag: () => 0, close: () => void (one.closed = true) };
    },
  };
  return { transcoder, opened };
}

test("a new viewer gets everything since the last key frame, with its parameter sets", async () => {
  const { hub, publication, feeds } = await publish(h264);
  const feed = feeds.of(hub.input.uid)!;
  const units: PacketizedFrame[] = [];
  const first = feed.watch({ run: () => {}, unit: (unit) => units.push(unit), caughtUp: () => {}, onEnd: () => {} });
  for (const [i, key] of [true, false, true, false, false].entries()) publication.write(picture(i * 40_000, key));
  assert.equal(units.length, 5);
  const { backlog, end } = feed.watch({ run: () => {}, unit: () => {}, caughtUp: () => {}, onEnd: () => {} });
  assert.deepEqual(
    backlog().map(({ pts, key }) => [pts, key]),
    [
      [80_000, true],
      [120_000, false],
      [160_000, false],
    ],
  );
  assert.deepEqual(unpackH264(backlog()[0]!.payloads).nals.slice(0, 2), [SPS, PPS]);
  first.end();
  assert.equal(feeds.of(hub.input.uid), feed);
  end();
  assert.notEqual(feeds.of(hub.input.uid), feed, "a feed without viewers is replaced");
  feeds.close();
});

test("the payloads of a frame retain no memory beyond their own", async () => {
  const { hub, publication, feeds } = await publish(h264);
  const units: PacketizedFrame[] = [];
  feeds
    .of(hub.input.uid)!
    .watch({ run: () => {}, unit: (unit) => units.push(unit), caughtUp: () => {}, onEnd: () => {} });
  publication.write(picture(0, true));
  publication.write(picture(40_000, false));
  for (const { payloads } of units) {
    const octets = payloads.reduce((sum, { length }) => sum + length, 0);
    for (const { buffer } of payloads) assert.equal(buffer.byteLength, octets);
  }
  assert.equal(units.length, 2);
  feeds.close();
});

test("viewers stay connected for the next publisher, unless its codec differs", async () => {
  const { hub, publication, feeds } = await publish(h264);
  let runs = 0;
  let over = 0;
  feeds.of(hub.input.uid)!.watch({ run: () => runs++, unit: () => {}, caughtUp: () => {}, onEnd: () => over++ });
  publication.end(false);
  assert.equal(over, 0);
  const again = await hub.publish({ protocol: "rtmp", credential: hub.secret, address: "127.0.0.1" });
  again.configure(h264);
  assert.deepEqual([runs, over], [1, 0]);
  again.end(false);
  (await hub.publish({ protocol: "webrtc", credential: hub.secret, address: "127.0.0.1" })).configure({
    video: { codec: "vp8", config: Buffer.alloc(0), width: 0, height: 0 },
  });
  assert.equal(over, 1);
  feeds.close();
});

test("video is transcoded as soon as its frames are reordered, and audio other than Opus is always transcoded", async () => {
  const { transcoder, opened } = someTranscoder();
  const { hub, publication, feeds } = await publish(
    { ...h264, audio: { codec: "aac", config: Buffer.from([0x11, 0x90]), sampleRate: 48_000, channels: 2 } },
    transcoder,
  );
  const units: PacketizedFrame[] = [];
  feeds
    .of(hub.input.uid)!
    .watch({ run: () => {}, unit: (unit) => units.push(unit), caughtUp: () => {}, onEnd: () => {} });
  assert.deepEqual(
    opened.map(({ wanted }) => wanted),
    [{ video: false, audio: true }],
  );
  publication.write(picture(0, true));
  publication.write({ ...picture(40_000, false), pts: 120_000 });
  assert.equal(units.length, 2);
  publication.write({ ...picture(80_000, false), pts: 80_000 });
  assert.deepEqual(
    opened.map(({ wanted, closed }) => [wanted, closed]),
    [
      [{ video: false, audio: true }, true],
      [{ video: true, audio: true }, false],
    ],
  );
  assert.deepEqual(
    opened[1]!.given.map(({ pts }) => pts),
    [80_000],
  );
  feeds.close();
  assert.equal(opened[1]!.closed, true);
});

test("a failed encoder is restarted a few times, after which viewers receive video without audio, or nothing", async () => {
  for (const [tracks, ends] of [
    [{ ...h264, audio: { codec: "mp3", config: Buffer.alloc(0), sampleRate: 48_000, channels: 2 } }, 0],
    [{ video: { codec: "av1", config: Buffer.alloc(4), width: 320, height: 180 } }, 1],
  ] as const) {
    const { transcoder, opened } = someTranscoder();
    const { hub, feeds } = await publish(tracks, transcoder);
    let over = 0;
    feeds.of(hub.input.uid)!.watch({ run: () => {}, unit: () => {}, caughtUp: () => {}, onEnd: () => over++ });
    for (let n = 0; n < opened.length; n++) opened[n]!.out.failed(new Error("it ended"));
    assert.deepEqual([opened.length, over], [4, ends]);
    feeds.close();
  }
});

test("rejects viewers of a broadcast that cannot be played", async () => {
  const busy: Transcoder = {
    open: () => {
      throw streamErrors.webrtcEncoderBusy({ limit: 1 });
    },
  };
  const { hub, publication, feeds } = await publish(
    { video: { codec: "av1", config: Buffer.alloc(4), width: 320, height: 180 } },
    busy,
  );
  assert.throws(() => feeds.of(hub.input.uid), /already transcoding 1 broadcasts for WebRTC/);
  publication.end(true);
  assert.equal(feeds.of(hub.input.uid), undefined);
  feeds.close();
});

const aac: LiveTracks = {
  ...h264,
  audio: { codec: "aac", config: Buffer.from([0x11, 0x90]), sampleRate: 48_000, channels: 2 },
};
const frame = (pts: number): MediaPacket => ({ kind: "audio", dts: pts, pts, key: true, data: Buffer.from([1]) });

test("skips encoded audio from before a viewer joined, but only once", async () => {
  const { transcoder, opened } = someTranscoder();
  const { hub, publication, feeds } = await publish(aac, transcoder);
  for (let at = 0; at < 2_400_000; at += 20_000)
    for (const packet of at % 40_000 === 0 ? [picture(at, at === 0), frame(at)] : [frame(at)])
      publication.write(packet);
  const units: PacketizedFrame[] = [];
  feeds
    .of(hub.input.uid)!
    .watch({ run: () => {}, unit: (unit) => units.push(unit), caughtUp: () => {}, onEnd: () => {} });
  const [{ out }] = opened as [(typeof opened)[number]];
  publication.write(frame(2_400_000));
  for (let at = 0; at <= 2_400_000; at += 20_000) out.packet(frame(at));
  assert.deepEqual(
    units.map(({ pts }) => pts),
    [2_280_000, 2_300_000, 2_320_000, 2_340_000, 2_360_000, 2_380_000, 2_400_000],
  );
  // From here on no packet is skipped, however late it arrives.
  for (let at = 2_420_000; at < 3_600_000; at += 20_000) publication.write(frame(at));
  out.packet(frame(2_420_000));
  assert.equal(units.at(-1)!.pts, 2_420_000);
});

test("sends audio after two seconds if the encoder keeps lagging", async () => {
  const { transcoder, opened } = someTranscoder();
  const { hub, publication, feeds } = await publish(aac, transcoder);
  const units: PacketizedFrame[] = [];
  feeds
    .of(hub.input.uid)!
    .watch({ run: () => {}, unit: (unit) => units.push(unit), caughtUp: () => {}, onEnd: () => {} });
  publication.write(picture(0, true));
  for (let at = 0; at <= 3_000_000; at += 20_000) {
    publication.write(frame(at));
    if (at >= 500_000) opened[0]!.out.packet(frame(at - 500_000));
  }
  const [first] = units.filter(({ kind }) => kind === "audio");
  assert.equal(first!.pts, 1_520_000);
});

test("sends encoded video from its key frame only after the encoder has caught up", async () => {
  const { transcoder, opened } = someTranscoder();
  const av1: LiveTracks = { video: { codec: "av1", config: Buffer.alloc(4), width: 320, height: 180 } };
  const { hub, publication, feeds } = await publish(av1, transcoder);
  for (let at = 0; at < 1_000_000; at += 40_000) publication.write(picture(at, at === 0));
  const units: PacketizedFrame[] = [];
  const caughtUp: number[] = [];
  const watched = feeds.of(hub.input.uid)!.watch({
    run: () => {},
    unit: (unit) => units.push(unit),
    caughtUp: () => caughtUp.push(watched.backlog().length),
    onEnd: () => {},
  });
  const [{ out }] = opened as [(typeof opened)[number]];
  out.tracks(h264);
  for (let at = 0; at < 640_000; at += 40_000) out.packet(picture(at, at === 0));
  assert.deepEqual([units.length, watched.backlog().length, caughtUp], [0, 0, []]);
  for (let at = 640_000; at < 1_000_000; at += 40_000) out.packet(picture(at, false));
  assert.deepEqual(caughtUp, [18], "at 680 ms, 280 before the newest");
  assert.deepEqual(
    units.map(({ pts }) => pts),
    [720_000, 760_000, 800_000, 840_000, 880_000, 920_000, 960_000],
  );
  assert.equal(watched.backlog().length, 25);
});
