import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { liveInitKey } from "../timeline.ts";
import { encodeJournalPage } from "./journal.ts";
import { recordMigrations, type RecordTables } from "./record-table.ts";
import {
  joinFragments,
  keysOf,
  openRecordings,
  TEST_RENDITIONS,
  testRun,
  testSegment,
  VIDEO,
} from "./record.testing.ts";

export function recordConformance(engine: TestEngine): void {
  test("stores segments across a discontinuity, and reads them back as one timeline in every process", async (t) => {
    const { db, another } = await engine.open(t, recordMigrations);
    const { recordings, objects, clock } = await openRecordings(t, { db });
    const elsewhere = (await openRecordings(t, { db: await another(), objects })).recordings;
    assert.equal(await recordings.timeline(VIDEO), undefined);

    const recording = await recordings.open(VIDEO);
    assert.deepEqual(recording.timeline, { video: VIDEO, runs: [], segments: [], ended: false });
    const [first, second] = [testRun("1"), testRun("2", { started: 9000 })];
    const testSegments = [
      testSegment(first, 0),
      testSegment(first, 1),
      testSegment(second, 2, { runIndex: 1, start: 0 }),
    ];
    for (const [run, segments] of [
      [first, testSegments.slice(0, 2)],
      [second, testSegments.slice(2)],
    ] as const) {
      const sink = recording.run(run);
      for (const { name } of TEST_RENDITIONS) sink.init(name, Buffer.from(`init of ${name}`));
      for (const { fragments, cut } of segments) {
        for (const fragment of fragments) sink.fragment(fragment);
        clock.advance(2000);
        recording.addSegment(cut);
      }
      sink.end();
    }
    await recording.settled();
    const expected = {
      video: VIDEO,
      ended: false,
      runs: [first, second].map(({ id, started, renditions }) => ({ id, started, renditions })),
      segments: [
        { n: 0, run: 0, start: 0 },
        { n: 1, run: 0, start: 2 },
        { n: 2, run: 1, start: 0 },
      ].map((one) => ({
        ...one,
        durations: { source: 2, audio: 2 },
        starts: { source: one.start, audio: one.start + 0.01 },
      })),
    };
    assert.deepEqual(await recordings.timeline(VIDEO), expected);
    assert.deepEqual(await elsewhere.timeline(VIDEO), expected);
    assert.deepEqual(
      await (await recordings.stored(VIDEO, "source", 1))!.bytes(),
      joinFragments(testSegments[1]!.fragments, "source"),
    );
    assert.equal(
      (await (await elsewhere.stored(VIDEO, "audio", { run: second.id }))!.bytes()).toString(),
      "init of audio",
    );
    assert.equal((await elsewhere.stored(VIDEO, "audio", 2))!.size, 400);
    assert.equal(await elsewhere.stored(VIDEO, "audio", 3), undefined);
    assert.deepEqual(
      await keysOf(objects, `stream/${VIDEO}/live/open/`),
      [],
      "journal pages are deleted when their fragments are in segments",
    );

    await recording.close();
    assert.deepEqual(await recordings.finish(VIDEO), {
      segments: 3,
      duration: 6,
      size: 3 * 4400,
      width: 320,
      height: 180,
    });
    assert.deepEqual(await elsewhere.timeline(VIDEO), { ...expected, ended: true });
    await recordings.clean(VIDEO);
    assert.equal(await recordings.timeline(VIDEO), undefined);
  });

  test("unfinished data of a killed process becomes segments, without duplicates", async (t) => {
    const { db, another } = await engine.open(t, recordMigrations);
    const { recordings, objects, clock } = await openRecordings(t, { db });
    const recording = await recordings.open(VIDEO);
    const run = testRun("1");
    const sink = recording.run(run);
    for (const { name } of TEST_RENDITIONS) sink.init(name, Buffer.from("init"));
    const testSegments = [testSegment(run, 0), testSegment(run, 1), testSegment(run, 2), testSegment(run, 3)];
    const all = testSegments.flatMap(({ fragments }) => fragments);
    // Only half of the last segment has arrived: the second segment is cut; the following ones are not.
    for (const fragment of all.slice(0, 28)) {
      sink.fragment(fragment);
      await recording.settled();
      clock.advance(300);
    }
    recording.addSegment(testSegments[0]!.cut);
    recording.addSegment(testSegments[1]!.cut);
    await recording.settled();
    const pages = await keysOf(objects, `stream/${VIDEO}/live/open/`);
    assert.ok(pages.length > 0);

    // The recording is not closed: another process finds the unfinished data.
    const elsewhere = (await openRecordings(t, { db: await another(), objects })).recordings;
    const next = await elsewhere.open(VIDEO);
    assert.deepEqual(
      next.timeline.segments.slice(0, 3),
      [0, 1, 2].map((n) => ({
        n,
        run: 0,
        start: n * 2,
        durations: { source: 2, audio: 2 },
        ...(n < 2 && { starts: { source: n * 2, audio: n * 2 + 0.01 } }),
      })),
    );
    assert.equal(next.timeline.segments.length, 4);
    const lost = 28 - 24 - (2 * next.timeline.segments[3]!.durations["source"]!) / 0.5;
    assert.ok(lost >= 0 && lost <= 2, `${lost} fragments were lost`);
    for (const n of [0, 1, 2]) {
      for (const name of ["source", "audio"])
        assert.deepEqual(
          await (await recordings.stored(VIDEO, name, n))!.bytes(),
          joinFragments(testSegments[n]!.fragments, name),
          `${name} ${n}`,
        );
    }
    assert.deepEqual(await keysOf(objects, `stream/${VIDEO}/live/open/`), []);
    assert.ok(await objects.open(liveInitKey(VIDEO, "source", run.id)));

    const again = testRun("2");
    const later = testSegment(again, 4, { runIndex: 1, start: 0 });
    const following = next.run(again);
    for (const fragment of later.fragments) following.fragment(fragment);
    next.addSegment(later.cut);
    await next.close();
    const { segments, duration } = await elsewhere.finish(VIDEO);
    assert.equal(segments, 5);
    assert.equal(duration, 8 + next.timeline.segments[3]!.durations["source"]!);
    assert.deepEqual(
      (await elsewhere.timeline(VIDEO))!.segments.map(({ run }) => run),
      [0, 0, 0, 0, 1],
    );
  });

  test("a process that lost the broadcast to another process overwrites nothing, and stops at its next segment", async (t) => {
    const { db, another } = await engine.open(t, recordMigrations);
    const faults: string[] = [];
    const { recordings, objects, clock } = await openRecordings(t, { db });
    const paused = await recordings.open(VIDEO, { onFault: (err) => void faults.push((err as Error).message) });
    const run = testRun("1");
    const sink = paused.run(run);
    for (const { name } of TEST_RENDITIONS) sink.init(name, Buffer.from("init"));
    const testSegments = [testSegment(run, 0), testSegment(run, 1), testSegment(run, 2)];
    for (const fragment of testSegments[0]!.fragments) sink.fragment(fragment);
    paused.addSegment(testSegments[0]!.cut);
    await paused.settled();

    const elsewhere = (await openRecordings(t, { db: await another(), objects })).recordings;
    const next = await elsewhere.open(VIDEO);
    const again = testRun("2");
    const continued = testSegment(again, 1, { runIndex: 1, start: 0 });
    const following = next.run(again);
    for (const { name } of TEST_RENDITIONS) following.init(name, Buffer.from("init"));
    for (const fragment of continued.fragments) following.fragment(fragment);
    next.addSegment(continued.cut);
    await next.settled();

    // The paused process continues without knowing about the other one.
    for (const { fragments, cut } of testSegments.slice(1)) {
      for (const fragment of fragments) sink.fragment(fragment);
      clock.advance(2000);
      paused.addSegment(cut);
    }
    await paused.close();
    assert.deepEqual(faults, ["another process has stored segment 1 of this recording"]);
    await next.close();
    assert.equal((await elsewhere.finish(VIDEO)).segments, 2);
    assert.deepEqual(
      await (await elsewhere.stored(VIDEO, "source", 1))!.bytes(),
      joinFragments(continued.fragments, "source"),
    );
    assert.equal(
      (await keysOf(objects, `stream/${VIDEO}/live/`)).filter((key) => key.endsWith(".m4s")).length,
      4,
      "the segments of the other process are deleted",
    );
  });

  test("reads and continues a recording of an earlier version, whose keys do not contain the writer", async (t) => {
    const { db } = await engine.open(t, recordMigrations);
    const { recordings, objects } = await openRecordings(t, { db });
    const run = testRun("1");
    const [first, open] = [testSegment(run, 0), testSegment(run, 1)];
    const tables = db.tables<RecordTables>();
    await db.write(tables.insertInto("stream_live_recordings").values({ video_uid: VIDEO, ended_at: null }));
    await db.write(
      tables.insertInto("stream_live_runs").values({
        video_uid: VIDEO,
        run_id: run.id,
        started_at: run.started,
        renditions: JSON.stringify(run.renditions),
      }),
    );
    await db.write(
      tables.insertInto("stream_live_segments").values({
        video_uid: VIDEO,
        n: 0,
        run_id: run.id,
        start_s: 0,
        durations: JSON.stringify({ source: 2, audio: 2 }),
        ends: JSON.stringify({ source: 2, audio: 2.01 }),
        starts: null,
        size: 4400,
        writer: null,
      }),
    );
    for (const name of ["source", "audio"]) {
      await objects.put(`stream/${VIDEO}/live/${name}/init-${run.id}.mp4`, Buffer.from("init"));
      await objects.put(`stream/${VIDEO}/live/${name}/0.m4s`, joinFragments(first.fragments, name));
      // A process was killed before it stored the row for this object.
      await objects.put(`stream/${VIDEO}/live/${name}/1.m4s`, Buffer.from("interrupted"));
    }
    await objects.put(
      `stream/${VIDEO}/live/open/0000000003`,
      encodeJournalPage({ run: run.id, fragments: open.fragments }),
    );
    assert.deepEqual(
      await (await recordings.stored(VIDEO, "source", 0))!.bytes(),
      joinFragments(first.fragments, "source"),
    );
    assert.equal((await recordings.finish(VIDEO)).duration, 4);
    assert.deepEqual(
      await (await recordings.stored(VIDEO, "source", 1))!.bytes(),
      joinFragments(open.fragments, "source"),
    );
    const keys = await keysOf(objects, `stream/${VIDEO}/live/`);
    assert.deepEqual(keys.filter((key) => /^(source|audio)\//.test(key)).toSorted(), [
      "audio/0.m4s",
      `audio/init-${run.id}.mp4`,
      "source/0.m4s",
      `source/init-${run.id}.mp4`,
    ]);
    assert.equal(keys.length, 6);
  });
}
