import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../../kernel/index.ts";
import { createFanOut } from "./fan-out.ts";
import { createNotes, H264, videoPacket } from "./hub.testing.ts";

test("a failing subscriber is notified once of its removal, and the others continue", () => {
  const fanOut = createFanOut(silentLog);
  const good = createNotes();
  const fail = () => {
    throw new Error("no");
  };
  const failing = { tracks: createNotes(), packet: createNotes(), lag: createNotes(), end: createNotes() };
  fanOut.subscribe(good.subscriber);
  for (const [where, { subscriber, notes }] of Object.entries(failing)) {
    const ended = subscriber.end;
    // All their end handlers fail, too.
    const end = () => {
      ended();
      fail();
    };
    fanOut.subscribe({ ...subscriber, end, ...(where !== "end" && { [where]: fail }) });
    assert.deepEqual(notes, []);
  }
  fanOut.run({ video: H264! }, { id: "1", started: 0 });
  fanOut.packet(videoPacket(0, { key: true }));
  fanOut.packet(videoPacket(40));
  assert.deepEqual(
    [failing.tracks.notes, failing.packet.notes, failing.lag.notes],
    [["end"], ["run v", "end"], ["run v", "end"]],
  );
  fanOut.end();
  assert.deepEqual(good.notes, ["run v", "V0", "v40", "end"]);
  assert.deepEqual(failing.end.notes, ["run v", "V0", "v40", "end"]);
  assert.deepEqual([failing.tracks.notes, failing.packet.notes.length, failing.lag.notes.length], [["end"], 2, 2]);
});

test("a subscriber that throws on its initial packets is notified before it can unsubscribe", () => {
  const fanOut = createFanOut(silentLog);
  fanOut.run({ video: H264! }, { id: "1", started: 0 });
  const { notes, subscriber } = createNotes();
  const leave = fanOut.subscribe({ ...subscriber, tracks: () => assert.fail("tracks() was called") });
  assert.deepEqual(notes, ["end"]);
  leave();
  fanOut.end();
  const late = createNotes();
  fanOut.subscribe(late.subscriber)();
  assert.deepEqual([notes, late.notes], [["end"], ["end"]]);
});
