import assert from "node:assert/strict";
import { test } from "node:test";
import type { MediaPacket } from "../../packets.ts";
import { defaultInput } from "../../inputs/inputs.testing.ts";
import { createFakeSessions } from "../fake-sessions.testing.ts";
import { createSharedStreams } from "./shared-stream.ts";

const frame = (ms: number, key = false): MediaPacket => ({
  kind: "audio",
  dts: ms * 1000,
  pts: ms * 1000,
  key,
  data: Buffer.alloc(40, 1),
});

function publish() {
  const fake = createFakeSessions();
  const input = defaultInput();
  const publication = fake.publish(input, { protocol: "rtmp", credential: "", address: "" });
  publication.configure({ audio: { codec: "mp3", config: Buffer.alloc(0), sampleRate: 48_000, channels: 2 } });
  return { publication, session: fake.sessions.get(input.uid)!, readers: () => fake.lags().length };
}

test("players of a broadcast share the packets of each frame, including those from before they joined", () => {
  const { publication, session, readers } = publish();
  const frames = [frame(0, true), frame(24), frame(48)];
  publication.write(frames[0]!);
  const streams = createSharedStreams({ now: () => 0 });
  const first = streams.join(session);
  publication.write(frames[1]!);
  const second = streams.join(session);
  publication.write(frames[2]!);
  assert.equal(readers(), 1);
  for (const packet of frames) {
    const packets = first.packetsOf(packet)!;
    assert.equal(packets.length % 188, 0);
    assert.equal(second.packetsOf(packet), packets);
  }
});

test("a broadcast without players is not written, and players that come back get a new stream", () => {
  const { publication, session, readers } = publish();
  const streams = createSharedStreams({ now: () => 0 });
  const [first, second] = [streams.join(session), streams.join(session)];
  first.leave();
  assert.equal(readers(), 1);
  second.leave();
  assert.equal(readers(), 0);
  const next = streams.join(session);
  const packet = frame(0, true);
  publication.write(packet);
  assert.ok(next.packetsOf(packet));
});
