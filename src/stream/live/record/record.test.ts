import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import type { LiveFragment } from "../fragments.ts";
import { cutFragments } from "./cut.ts";
import { decodePage, encodeJournalPage } from "./journal.ts";
import type { RecordTables } from "./record-table.ts";
import { recordConformance } from "./record.conformance.ts";
import {
  joinFragments,
  keysOf,
  openRecordings,
  TEST_RENDITIONS,
  testRun,
  testSegment,
  VIDEO,
} from "./record.testing.ts";
import { storageFaultsConformance } from "./storage-faults.conformance.ts";

onEveryDatabase(recordConformance);
onEveryDatabase(storageFaultsConformance);

test("reads pages as written, and rejects anything else", () => {
  const fragment = fc.record({
    rendition: fc.constantFrom("source", "audio"),
    time: fc.double({ min: 0, max: 1e6, noNaN: true }),
    duration: fc.double({ min: 0, max: 10, noNaN: true }),
    key: fc.boolean(),
    bytes: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  });
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 6 }), (fragments) => {
      const plain = fragments.map((one) => ({ ...one, time: one.time + 0, duration: one.duration + 0 }));
      assert.deepEqual(decodePage(encodeJournalPage({ run: "1", fragments: plain })), { run: "1", fragments: plain });
    }),
  );
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => void decodePage(Buffer.from(bytes))));
});

test("recovered segments begin at key frames, contain all data once, and have the intended length", () => {
  const gops = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(gops, fc.double({ min: 1, max: 6, noNaN: true }), (lengths, seconds) => {
      const fragments: LiveFragment[] = [];
      let time = 5;
      for (const length of lengths) {
        for (let i = 0; i < length; i++, time += 0.5) {
          fragments.push(
            { rendition: "source", time, duration: 0.5, key: i === 0, bytes: Buffer.of() },
            { rendition: "audio", time: time + 0.02, duration: 0.5, key: true, bytes: Buffer.of() },
          );
        }
      }
      const segments = cutFragments(TEST_RENDITIONS, fragments, seconds);
      for (const name of ["source", "audio"])
        assert.deepEqual(
          segments.flatMap((segment) => segment.fragments.get(name) ?? []),
          fragments.filter(({ rendition }) => rendition === name),
        );
      for (const [i, { start, fragments: of }] of segments.entries()) {
        const [first] = of.get("source")!;
        assert.ok(first!.key && first!.time === start);
        if (i > 0) assert.ok(start - segments[i - 1]!.start >= seconds - 0.05);
        assert.equal(of.get("source")!.length, of.get("audio")!.length);
      }
    }),
  );
});

test("waits for a slow disk up to a limit, then stops recording", async (t) => {
  const writing = Promise.withResolvers<void>();
  let faults = 0;
  const { recordings } = await openRecordings(t, {
    maxQueuedOctets: 10_000,
    around: (objects) => ({ ...objects, put: async (...args) => (await writing.promise, objects.put(...args)) }),
  });
  const recording = await recordings.open(VIDEO, { onFault: () => faults++ });
  const run = testRun("1");
  const sink = recording.run(run);
  for (let n = 0; n < 20; n++) {
    const { fragments, cut } = testSegment(run, n);
    for (const fragment of fragments) sink.fragment(fragment);
    recording.addSegment(cut);
  }
  assert.equal(faults, 1);
  writing.resolve();
  await recording.close();
  const { segments } = await recordings.finish(VIDEO);
  assert.ok(segments <= 2, String(segments));
});

test("loses nothing when killed between two segments that end at the same time, because pages keep data until it is in a segment", async (t) => {
  const writing = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const { recordings, objects, clock, db } = await openRecordings(t, {
    around: (store) => ({
      ...store,
      put: async (key, bytes) => {
        if (/\/source\/1-[^/]+\.m4s$/.test(key)) {
          reached.resolve();
          await writing.promise;
        }
        return store.put(key, bytes);
      },
    }),
  });
  const recording = await recordings.open(VIDEO);
  const run = testRun("1");
  const sink = recording.run(run);
  const fed = [testSegment(run, 0), testSegment(run, 1)];
  for (const fragment of fed.flatMap(({ fragments }) => fragments)) {
    sink.fragment(fragment);
    clock.advance(600);
    await recording.settled();
  }
  for (const { cut } of fed) recording.addSegment(cut);
  await reached.promise;
  const elsewhere = (await openRecordings(t, { db, objects })).recordings;
  assert.equal((await elsewhere.finish(VIDEO)).duration, 4);
  for (const n of [0, 1])
    assert.deepEqual(
      await (await recordings.stored(VIDEO, "source", n))!.bytes(),
      joinFragments(fed[n]!.fragments, "source"),
    );
  writing.resolve();
  await recording.close();
});

test("journal pages are deleted only when the row for their segment has been stored", async (t) => {
  const deletions: { rows: number }[] = [];
  const { recordings, clock, db } = await openRecordings(t, {
    around: (store) => ({
      ...store,
      delete: async (keys) => {
        if (keys.some((key) => key.includes("/live/open/")))
          deletions.push({
            rows: (await db.tables<RecordTables>().selectFrom("stream_live_segments").select("n").execute()).length,
          });
        return store.delete(keys);
      },
    }),
  });
  const recording = await recordings.open(VIDEO);
  const run = testRun("1");
  const sink = recording.run(run);
  for (let n = 0; n < 3; n++) {
    const { fragments, cut } = testSegment(run, n);
    for (const fragment of fragments) {
      sink.fragment(fragment);
      clock.advance(600);
      await recording.settled();
    }
    recording.addSegment(cut);
    await recording.settled();
  }
  assert.deepEqual(deletions, [{ rows: 1 }, { rows: 2 }, { rows: 3 }]);
  await recording.close();
});

test("neither copied octets nor skipped fragments leave unfinished data", async (t) => {
  const { recordings, objects, clock } = await openRecordings(t);
  const recording = await recordings.open(VIDEO);
  const run = testRun("1");
  const sink = recording.run(run);
  sink.fragment({ rendition: "audio", time: -0.5, duration: 0.5, key: true, bytes: Buffer.alloc(10) });
  for (let n = 0; n < 3; n++) {
    const { fragments, cut } = testSegment(run, n);
    for (const fragment of fragments) sink.fragment(fragment);
    clock.advance(700);
    await recording.settled();
    recording.addSegment(
      n === 1
        ? {
            ...cut,
            bytes: Object.fromEntries(Object.entries(cut.bytes).map(([name, bytes]) => [name, [Buffer.concat(bytes)]])),
          }
        : cut,
    );
  }
  await recording.settled();
  assert.deepEqual(await keysOf(objects, `stream/${VIDEO}/live/open/`), []);
  await recording.close();
  assert.equal((await recordings.finish(VIDEO)).segments, 3);
});

test("recovers only the playable part of the last segment", async (t) => {
  const small = { ...TEST_RENDITIONS[0]!, name: "90p" };
  for (const [seconds, kept] of [
    [{ source: 0, "90p": 0, audio: 0.5 }, 1],
    [{ source: 1, "90p": 0, audio: 1 }, 1],
    [{ source: 1.5, "90p": 0, audio: 1 }, 2],
    [{ source: 0.5, "90p": 0.5, audio: 0.5 }, 2],
  ] as const) {
    const { recordings, clock } = await openRecordings(t);
    const recording = await recordings.open(VIDEO);
    const run = testRun("1", { renditions: [TEST_RENDITIONS[0]!, small, TEST_RENDITIONS[1]!] });
    const sink = recording.run(run);
    const bytes = Object.fromEntries(run.renditions.map(({ name }) => [name, [Buffer.from(name)]]));
    for (const { name } of run.renditions)
      sink.fragment({ rendition: name, time: 0, duration: 2, key: true, bytes: bytes[name]![0]! });
    recording.addSegment({
      run: run.id,
      segment: { n: 0, run: 0, start: 0, durations: { source: 2, "90p": 2, audio: 2 } },
      bytes,
    });
    for (const [rendition, end] of Object.entries(seconds)) {
      for (let time = 0; time < end; time += 0.5)
        sink.fragment({ rendition, time: 2 + time, duration: 0.5, key: time === 0, bytes: Buffer.from("open") });
    }
    await recording.settled();
    clock.advance(1000);
    await recording.close();
    assert.equal((await recordings.finish(VIDEO)).segments, kept, JSON.stringify(seconds));
  }
});
