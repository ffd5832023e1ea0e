import assert from "node:assert/strict";
import { test } from "node:test";
import { clip, needsFfmpeg } from "../../../../test/support/media.ts";
import { MediaRunError } from "../../media/run-error.ts";
import { videoPacket } from "../hub/hub.testing.ts";
import {
  openEncoding,
  packetsOf,
  presentationTimes,
  ZERO_DELAY,
  repeatPackets,
  createHangingEncoders,
} from "./encode.testing.ts";

test(
  "a hung encoder does not block the broadcast, and is restarted with fewer renditions if its queue or its lag becomes too long",
  needsFfmpeg,
  async (t) => {
    const { tracks, packets } = await packetsOf(
      await clip({ size: "640x480", video: ZERO_DELAY, seconds: 2, keyframeSeconds: 1 }),
      { round: 1000 },
    );
    const { tools, fails } = createHangingEncoders();
    const encoding = await openEncoding(t, { tools, ladder: ["240p", "360p"], hanging: true });
    encoding.publication.configure(tracks);
    encoding.send(packets);
    const [first] = encoding.runs;
    assert.ok(first!.fragments.filter(({ rendition }) => rendition === "source").length >= 5);
    fails[0]!(new MediaRunError("input", "too much waits"));
    await new Promise((resolve) => setImmediate(resolve));
    for (let round = 1; round < 5; round++) encoding.send(repeatPackets(packets, round, 2));
    assert.equal(encoding.runs.length, 2);
    encoding.clock.advance(6500);
    // The lag is detected when a packet arrives; the next key frame is a discontinuity.
    encoding.send(repeatPackets(packets, 5, 2));
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
  const encoding = await openEncoding(t, { tools: createHangingEncoders().tools, hanging: true, encoders: 1 });
  const others = [encoding.admission.admit(1), encoding.admission.admit(1, 1)];
  encoding.publication.configure({ video: { codec: "vp8", config: Buffer.alloc(0), width: 1280, height: 720 } });
  encoding.send([videoPacket(0, { key: true }), videoPacket(1000, { key: true })]);
  assert.equal(encoding.runs.length, 0);
  assert.deepEqual(encoding.session().health().notes, [
    "The broadcast must be transcoded for playback, but is not: all encoders (live.encoders: 1) are in use.",
  ]);
  for (const other of others) other.release();
  encoding.send([videoPacket(2000, { key: true })]);
  assert.equal(encoding.runs.length, 0);
  encoding.clock.advance(10_000);
  encoding.send([videoPacket(3000), videoPacket(4000, { key: true })]);
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

test(
  "a discontinuity waits a limited time for the encoder to exit, and loses no packet meanwhile",
  needsFfmpeg,
  async (t) => {
    const { tracks, packets } = await packetsOf(
      await clip({ size: "640x480", video: ZERO_DELAY, seconds: 2, keyframeSeconds: 1 }),
      { round: 1000 },
    );
    const encoding = await openEncoding(t, { tools: createHangingEncoders().tools, hanging: true });
    encoding.publication.configure(tracks);
    encoding.send(packets);
    encoding.publication.configure({ video: tracks.video! });
    encoding.send(packets);
    assert.equal(encoding.runs.length, 1);
    const began = performance.now();
    await encoding.finish();
    assert.ok(performance.now() - began < 60_000);
    assert.deepEqual(
      encoding.runs.map(({ ended }) => ended),
      [true, true],
    );
    assert.equal((await presentationTimes(await encoding.whole(encoding.runs[1]!, "source"))).length, 60);
  },
);
