import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";
import type { LiveSession } from "../session.ts";
import { AAC, createNotes, H264, openHub, videoPacket, audioPacket } from "./hub.testing.ts";

const kindOf = (reason: unknown) => (reason instanceof UserError ? reason.kind : reason);
const refused = (kind: string) => (err: unknown) => kindOf(err) === kind;

test("records a wrong SRT passphrase once per hour, again after a broadcast, and never during one", async () => {
  const { hub, inputs, publish, states, clock, sessions } = openHub();
  const input = inputs.add("secret");
  const wrong = () => hub.recordRejection(input, "srt", streamErrors.livePassphraseWrong());
  for (let n = 0; n < 4; n++) {
    wrong();
    clock.advance(15 * 60_000 + 1);
  }
  assert.equal(states.length, 1);
  wrong();
  assert.deepEqual(states, [
    [input.uid, "failed_to_connect"],
    [input.uid, "failed_to_connect"],
  ]);
  const publication = await publish("secret");
  publication.configure({ video: H264! });
  publication.write(videoPacket(0, { key: true }));
  assert.equal(sessions.length, 1);
  wrong();
  assert.equal(states.length, 2);
  publication.end(true);
  wrong();
  assert.equal(states.length, 3);
});

test("accepts a publisher with a valid key; rejects a wrong key and the key of a disabled input", async () => {
  const { inputs, publish, states, clock } = openHub();
  const { uid } = inputs.add("secret");
  const off = inputs.add("off", { enabled: false });
  await assert.rejects(publish("wrong"), refused("liveKeyUnknown"));
  for (const ms of [0, 59_000, 2000]) {
    clock.advance(ms);
    await assert.rejects(publish("off"), refused("liveInputDisabled"));
  }
  // Recorded once per minute.
  assert.deepEqual(states, [
    [off.uid, "failed_to_connect"],
    [off.uid, "failed_to_connect"],
  ]);
  await assert.rejects(publish("play-secret", "srt"), refused("liveKeyUnknown"));
  const first = await publish("srt-secret", "srt");
  assert.equal(first.input, uid);
  first.end(true);
  assert.equal((await publish("secret")).input, uid);
});

test("a session begins with the first key frame, and subscribers receive it from the latest key frame onwards", async () => {
  const { hub, inputs, publish, sessions, clock } = openHub();
  const { uid } = inputs.add("secret");
  const publication = await publish("secret");
  publication.write(videoPacket(0, { key: true }));
  publication.configure({ video: H264!, audio: AAC! });
  publication.write(videoPacket(1000));
  assert.equal(hub.of(uid), undefined);
  const early = createNotes();
  hub.onSession((session) => session.subscribe(early.subscriber));
  for (const packet of [
    videoPacket(1040, { key: true }),
    audioPacket(1041),
    videoPacket(1080),
    videoPacket(3040, { key: true }),
    audioPacket(3050),
    videoPacket(3080),
  ])
    publication.write(packet);
  const [session] = sessions as [LiveSession];
  assert.equal(hub.of(uid), session);
  assert.deepEqual(hub.all(), [session]);
  assert.equal(session.started, clock.now());
  assert.deepEqual(session.tracks(), { video: H264, audio: AAC });
  const late = createNotes();
  const leave = session.subscribe(late.subscriber);
  publication.write(audioPacket(3071));
  leave();
  publication.end(true);
  assert.deepEqual(early.notes, ["run va", "V0", "a1", "v40", "V2000", "a2010", "v2040", "a2031", "end"]);
  assert.deepEqual(late.notes, ["run va", "V2000", "a2010", "v2040", "a2031"]);
  assert.equal(late.runs[0]!.id, early.runs[0]!.id);
  assert.match(late.runs[0]!.id, /^[0-9a-f]{32}$/);
  assert.equal(kindOf(session.signal.reason), "livePublisherDone");
  assert.equal(hub.of(uid), undefined);
  publication.write(videoPacket(4000, { key: true }));
  publication.end(false);
  assert.equal(kindOf(session.signal.reason), "livePublisherDone");
});

test("changed tracks cause a discontinuity; repeated configurations do not", async () => {
  const { inputs, publish, sessions } = openHub();
  inputs.add("secret");
  const publication = await publish("secret");
  publication.configure({ video: H264!, audio: AAC! });
  const wanted: number[] = [];
  publication.onKeyFrameRequested(() => wanted.push(1));
  const notes = createNotes();
  publication.write(videoPacket(0, { key: true }));
  sessions[0]!.subscribe(notes.subscriber);
  publication.configure({ video: { ...H264! }, audio: AAC! });
  publication.write(videoPacket(40));
  publication.configure({ video: { ...H264!, width: 640 } });
  for (const packet of [videoPacket(80), audioPacket(81), videoPacket(120, { key: true }), videoPacket(160)])
    publication.write(packet);
  assert.deepEqual(notes.notes, ["run va", "V0", "v40", "run v", "V0", "v40"]);
  assert.notEqual(notes.runs[0]!.id, notes.runs[1]!.id);
  assert.equal(sessions.length, 1);
  assert.equal(sessions[0]!.tracks().video!.width, 640);
  assert.equal(sessions[0]!.health().dropped, 2);
});

test("a slow subscriber skips to a key frame, a throwing one is removed, and neither delays the others", async () => {
  const { inputs, publish, sessions } = openHub();
  inputs.add("secret");
  const publication = await publish("secret");
  publication.configure({ video: H264!, audio: AAC! });
  publication.write(videoPacket(0, { key: true }));
  let waiting = 0;
  const slow = createNotes(() => waiting);
  const quick = createNotes();
  let requested = 0;
  sessions[0]!.subscribe(slow.subscriber);
  sessions[0]!.subscribe({
    tracks() {},
    end() {},
    packet() {
      requested++;
      throw new Error("broken");
    },
  });
  sessions[0]!.subscribe(quick.subscriber);
  publication.write(videoPacket(40));
  // The limit is 8 MiB: exactly that much is still accepted.
  waiting = 8_388_608;
  publication.write(videoPacket(60));
  waiting = 8_388_609;
  publication.write(videoPacket(80));
  waiting = 0;
  for (const packet of [audioPacket(81), videoPacket(120), videoPacket(160, { key: true }), audioPacket(161)])
    publication.write(packet);
  assert.deepEqual(slow.notes, ["run va", "V0", "v40", "v60", "V160", "a161"]);
  assert.deepEqual(quick.notes, ["run va", "V0", "v40", "v60", "v80", "a81", "v120", "V160", "a161"]);
  assert.equal(requested, 1);
});

test("a GOP that is too large is not stored, and new subscribers start at the next key frame", async () => {
  const { inputs, publish, sessions } = openHub();
  inputs.add("secret");
  const publication = await publish("secret");
  publication.configure({ video: H264! });
  publication.write(videoPacket(0, { key: true, size: 9 << 20 }));
  publication.write(videoPacket(40, { size: 9 << 20 }));
  const { notes, subscriber } = createNotes();
  sessions[0]!.subscribe(subscriber);
  publication.write(videoPacket(80));
  publication.write(videoPacket(120, { key: true }));
  assert.deepEqual(notes, ["run v", "V120"]);
});

test("a GOP with too many packets is not stored either", async () => {
  const { inputs, publish, sessions } = openHub();
  inputs.add("secret");
  const publication = await publish("secret");
  publication.configure({ video: H264!, audio: AAC! });
  publication.write(videoPacket(0, { key: true }));
  for (let n = 0; n < 10_000; n++) publication.write(audioPacket(1, 1));
  const { notes, subscriber } = createNotes();
  sessions[0]!.subscribe(subscriber);
  publication.write(videoPacket(120, { key: true }));
  assert.deepEqual(notes, ["run va", "V120"]);
});

test("a subscriber that arrives after the video has stopped receives no video", async () => {
  const { inputs, publish, sessions } = openHub();
  inputs.add("secret");
  const publication = await publish("secret");
  publication.configure({ video: H264!, audio: AAC! });
  publication.write(videoPacket(0, { key: true }));
  publication.configure({ audio: AAC! });
  publication.write(audioPacket(40));
  const { notes, subscriber } = createNotes();
  sessions[0]!.subscribe(subscriber);
  publication.write(audioPacket(61));
  assert.deepEqual(notes, ["run a", "a0", "a21"]);
});

test("a subscriber to an audio-only broadcast receives the last two seconds", async () => {
  const { inputs, publish, sessions } = openHub();
  inputs.add("secret");
  const publication = await publish("secret");
  publication.configure({ audio: AAC! });
  for (let ms = 0; ms <= 4000; ms += 500) publication.write(audioPacket(ms));
  const { notes, subscriber } = createNotes();
  sessions[0]!.subscribe(subscriber);
  publication.write(audioPacket(4500));
  assert.deepEqual(notes, ["run a", "a2000", "a2500", "a3000", "a3500", "a4000", "a4500"]);
  for (let i = 0; i < 1000; i++) publication.write(audioPacket(4500));
  const late = createNotes();
  sessions[0]!.subscribe(late.subscriber);
  assert.equal(late.packets.length, 500);
});

test("health reports rates, key frames, B-frames, losses and GOPs over ten seconds, and an endless GOP ends the broadcast", async () => {
  const { hub, inputs, publish, sessions, errors, clock } = openHub();
  const { uid } = inputs.add("secret");
  const publication = await publish("secret");
  publication.configure({ video: H264!, audio: AAC! });
  for (let ms = 0; ms < 4000; ms += 40) {
    publication.write(videoPacket(ms, { key: ms % 2000 === 0, size: 5000, delay: ms % 80 }));
    publication.write(audioPacket(ms + 1, 640));
  }
  publication.lost(3);
  hub.setNotes(sessions[0]!.id, ["720p is not encoded."]);
  assert.deepEqual(sessions[0]!.health(), {
    videoBitrate: 1_000_000,
    audioBitrate: 128_000,
    frameRate: 25,
    keyFrameInterval: 2,
    longestKeyFrameInterval: 2,
    dropped: 0,
    lost: 3,
    bFrames: true,
    problems: [],
    notes: ["720p is not encoded."],
  });
  for (let ms = 4000; ms < 14_160; ms += 40) {
    publication.write(videoPacket(ms, { key: ms === 4000 }));
    publication.write(audioPacket(ms + 1));
  }
  assert.deepEqual(sessions[0]!.health().problems, ["ERR_GOP_OUT_OF_RANGE"]);
  publication.write(videoPacket(14_160, { key: true }));
  assert.equal(sessions[0]!.health().longestKeyFrameInterval, 10.16);
  assert.deepEqual(
    errors.map(([input, code]) => [input, code]),
    [[uid, "ERR_GOP_OUT_OF_RANGE"]],
  );
  clock.advance(11_000);
  assert.equal(sessions[0]!.health().videoBitrate, 0);
  for (let ms = 14_200; ms < 46_000; ms += 1000) publication.write(videoPacket(ms));
  assert.equal(kindOf(publication.signal.reason), "liveGopOutOfRange");
  assert.equal(errors.length, 1);
});

test("disconnects a publisher whose clock does not keep up with its data, because buffers are limited in seconds of that clock", async () => {
  const { inputs, publish, sessions } = openHub();
  const MIB = 1024 * 1024;
  for (const [key, packets, size] of [
    ["still", 200, MIB],
    ["slow", 2000, MIB],
    ["tiny", 500_000, 1],
  ] as const) {
    inputs.add(key);
    const publication = await publish(key);
    publication.configure({ video: H264!, audio: AAC! });
    publication.write(videoPacket(0, { key: true }));
    let octets = 0;
    let count = 0;
    sessions
      .at(-1)!
      .subscribe({ tracks() {}, end() {}, packet: ({ data }) => void ((octets += data.length), count++) });
    const packet = key === "tiny" ? audioPacket(0, size) : videoPacket(0, { key: true, size });
    // The slow publisher sends one second in every hundred.
    for (let n = 0; n < packets && !publication.signal.aborted; n++)
      publication.write({ ...packet, ...(key === "slow" && { dts: n * 10_000, pts: n * 10_000 }) });
    assert.equal(kindOf(publication.signal.reason), "liveBitrateOutOfRange", key);
    assert.ok(octets <= (key === "slow" ? 80 : 64) * MIB && count < 300_000, `${key}: ${octets} in ${count}`);
  }
  // 80 Mbit/s for two minutes, in bursts of two seconds, and with a clock that restarts.
  inputs.add("much");
  const publication = await publish("much");
  publication.configure({ video: H264! });
  const { data } = videoPacket(0, { size: 400_000 });
  for (let ms = 0; ms < 120_000; ms += 40)
    publication.write({ ...videoPacket(ms % 60_000, { key: ms % 2000 === 0 }), data });
  assert.equal(publication.signal.aborted, false);
});

test("if low latency is preferred, health reports the causes of higher latency", async () => {
  const { inputs, publish, sessions } = openHub();
  inputs.add("secret", { preferLowLatency: true });
  const publication = await publish("secret");
  publication.configure({ video: H264! });
  for (let ms = 0; ms <= 6000; ms += 40) publication.write(videoPacket(ms, { key: ms % 2000 === 0 }));
  assert.equal(sessions[0]!.health().notes, undefined);
  for (let ms = 6040; ms <= 11_000; ms += 40) publication.write(videoPacket(ms, { key: ms === 11_000, delay: 40 }));
  assert.deepEqual(
    sessions[0]!.health().notes!.map((note) => note.slice(0, 36)),
    ["The video has B-frames, which add la", "Key frames are 5.0 seconds apart, an"],
  );
});

test("rejects unsupported codecs, and names them in the error", async () => {
  const { inputs, publish, errors, sessions, states } = openHub();
  const { uid } = inputs.add("secret");
  const publication = await publish("secret");
  assert.throws(() => publication.configure({}), refused("liveCodecUnsupported"));
  assert.throws(
    () => publication.configure({ audio: { ...AAC!, config: Buffer.alloc(0) } }),
    refused("liveCodecUnsupported"),
  );
  assert.equal(
    publication.unsupported("video", "Sorenson H.263").message,
    "Unsupported stream: its video is Sorenson H.263",
  );
  assert.deepEqual(
    errors.map(([, code]) => code),
    ["ERR_UNSUPPORTED_VIDEO_CODEC", "ERR_UNSUPPORTED_AUDIO_CODEC"],
  );
  assert.deepEqual(states, [[uid, "failed_to_connect"]]);
  assert.equal(sessions.length, 0);
});

test("limits the number of publishers, and requests a key frame at most every half second", async () => {
  const { inputs, publish, clock, sessions } = openHub({ maxPublishers: 1 });
  inputs.add("one");
  inputs.add("two");
  const publication = await publish("one");
  await assert.rejects(publish("two"), refused("liveTooMany"));
  publication.configure({ video: H264! });
  let wanted = 0;
  publication.onKeyFrameRequested(() => void wanted++);
  publication.write(videoPacket(0, { key: true }));
  clock.advance(500);
  for (let i = 0; i < 4; i++) {
    sessions[0]!.requestKeyFrame();
    clock.advance(250);
  }
  assert.equal(wanted, 2);
  publication.end(true);
  await publish("two");
});
