import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { liveInitKey, liveSegmentKey } from "../timeline.ts";
import { recordMigrations } from "./record-table.ts";
import { joined, keysOf, openRecordings, TEST_RENDITIONS, testRun, testSegment, VIDEO } from "./record.testing.ts";

export function recordConformance(engine: TestEngine): void {
  test("what is cut of a broadcast is kept, run after run, and read back as one timeline by whoever asks", async (t) => {
    const { db, another } = await engine.open(t, recordMigrations);
    const { recordings, objects, clock } = await openRecordings(t, { db });
    const elsewhere = (await openRecordings(t, { db: await another(), objects })).recordings;
    assert.equal(await recordings.timeline(VIDEO), undefined);

    const recording = await recordings.open(VIDEO);
    assert.deepEqual(recording.timeline, { video: VIDEO, runs: [], segments: [], ended: false });
    const [first, second] = [testRun("1"), testRun("2", { started: 9000 })];
    const fed = [testSegment(first, 0), testSegment(first, 1), testSegment(second, 2, { place: 1, start: 0 })];
    for (const [run, segments] of [[first, fed.slice(0, 2)], [second, fed.slice(2)]] as const) {
      const sink = recording.run(run);
      for (const { name } of TEST_RENDITIONS) sink.init(name, Buffer.from(`init of ${name}`));
      for (const { fragments, cut } of segments) {
        for (const fragment of fragments) sink.fragment(fragment);
        clock.advance(2000);
        recording.keep(cut);
      }
      sink.end();
    }
    await recording.settled();
    const expected = {
      video: VIDEO, ended: false, runs: [first, second].map(({ id, started, renditions }) => ({ id, started, renditions })),
      segments: [{ n: 0, run: 0, start: 0 }, { n: 1, run: 0, start: 2 }, { n: 2, run: 1, start: 0 }].map((one) => ({ ...one, durations: { source: 2, audio: 2 } })),
    };
    assert.deepEqual(await recordings.timeline(VIDEO), expected);
    assert.deepEqual(await elsewhere.timeline(VIDEO), expected);
    assert.deepEqual(await (await objects.open(liveSegmentKey(VIDEO, "source", 1)))!.bytes(), joined(fed[1]!.fragments, "source"));
    assert.equal((await (await elsewhere.stored(VIDEO, "audio", { run: second.id }))!.bytes()).toString(), "init of audio");
    assert.equal((await elsewhere.stored(VIDEO, "audio", 2))!.size, 400);
    assert.equal(await elsewhere.stored(VIDEO, "audio", 3), undefined);
    assert.deepEqual(await keysOf(objects, `stream/${VIDEO}/live/open/`), [], "pages go when what is on them is in segments");

    await recording.close();
    assert.deepEqual(await recordings.finish(VIDEO), { segments: 3, duration: 6, size: 3 * 4400, width: 320, height: 180 });
    assert.deepEqual(await elsewhere.timeline(VIDEO), { ...expected, ended: true });
    await recordings.clean(VIDEO);
    assert.equal(await recordings.timeline(VIDEO), undefined);
  });

  test("what a killed process had in no segment yet becomes segments, and nothing twice", async (t) => {
    const { db, another } = await engine.open(t, recordMigrations);
    const { recordings, objects, clock } = await openRecordings(t, { db });
    const recording = await recordings.open(VIDEO);
    const run = testRun("1");
    const sink = recording.run(run);
    for (const { name } of TEST_RENDITIONS) sink.init(name, Buffer.from("init"));
    const fed = [testSegment(run, 0), testSegment(run, 1), testSegment(run, 2), testSegment(run, 3)];
    const all = fed.flatMap(({ fragments }) => fragments);
    // Half of the last segment is all that came: the second is cut, its successors are not.
    for (const fragment of all.slice(0, 28)) {
      sink.fragment(fragment);
      await recording.settled();
      clock.advance(300);
    }
    recording.keep(fed[0]!.cut);
    recording.keep(fed[1]!.cut);
    await recording.settled();
    const pages = await keysOf(objects, `stream/${VIDEO}/live/open/`);
    assert.ok(pages.length > 0);

    // Nobody closes it: another process finds what is there.
    const elsewhere = (await openRecordings(t, { db: await another(), objects })).recordings;
    const next = await elsewhere.open(VIDEO);
    assert.deepEqual(next.timeline.segments.slice(0, 3), [0, 1, 2].map((n) => ({ n, run: 0, start: n * 2, durations: { source: 2, audio: 2 } })));
    assert.equal(next.timeline.segments.length, 4);
    const lost = 28 - 24 - 2 * next.timeline.segments[3]!.durations["source"]! / 0.5;
    assert.ok(lost >= 0 && lost <= 2, `${lost} of the fragments are lost`);
    for (const n of [0, 1, 2]) {
      for (const name of ["source", "audio"]) assert.deepEqual(await (await objects.open(liveSegmentKey(VIDEO, name, n)))!.bytes(), joined(fed[n]!.fragments, name), `${name} ${n}`);
    }
    assert.deepEqual(await keysOf(objects, `stream/${VIDEO}/live/open/`), []);
    assert.ok(await objects.open(liveInitKey(VIDEO, "source", run.id)));

    const again = testRun("2");
    const later = testSegment(again, 4, { place: 1, start: 0 });
    const following = next.run(again);
    for (const fragment of later.fragments) following.fragment(fragment);
    next.keep(later.cut);
    await next.close();
    const { segments, duration } = await elsewhere.finish(VIDEO);
    assert.equal(segments, 5);
    assert.equal(duration, 8 + next.timeline.segments[3]!.durations["source"]!);
    assert.deepEqual((await elsewhere.timeline(VIDEO))!.segments.map(({ run }) => run), [0, 0, 0, 0, 1]);
  });

  test("a disk that is full ends the recording, and what was kept before is a recording", async (t) => {
    const { db } = await engine.open(t, recordMigrations);
    let full = false;
    const faults: unknown[] = [];
    const { recordings, clock } = await openRecordings(t, {
      db, around: (objects) => ({ ...objects, put: (...args) => (full ? Promise.reject(new Error("no space left")) : objects.put(...args)) }),
    });
    const recording = await recordings.open(VIDEO, { onFault: (err) => void faults.push((err as Error).message) });
    const run = testRun("1");
    const sink = recording.run(run);
    for (let n = 0; n < 5; n++) {
      const { fragments, cut } = testSegment(run, n);
      for (const fragment of fragments) sink.fragment(fragment);
      clock.advance(2000);
      recording.keep(cut);
      await recording.settled();
      full = n >= 1;
    }
    await recording.close();
    full = false;
    assert.deepEqual(faults, ["no space left"]);
    assert.equal((await recordings.finish(VIDEO)).duration, 4);
  });
}
