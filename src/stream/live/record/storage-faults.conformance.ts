import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import type { UserError } from "../../../kernel/index.ts";
import { storeErrors } from "../../../store/index.ts";
import { recordMigrations, type RecordTables } from "./record-table.ts";
import { joinFragments, keysOf, openRecordings, testRun, testSegment, VIDEO } from "./record.testing.ts";

/** A recording whose object storage rejects writes, loses responses, or is full. */
export function storageFaultsConformance(engine: TestEngine): void {
  test("retries failed writes without losing a part of the broadcast", async (t) => {
    const { db } = await engine.open(t, recordMigrations);
    const tries = { failed: 0 };
    const faults: unknown[] = [];
    const { recordings, clock, objects } = await openRecordings(t, {
      db,
      around: (store) => ({
        ...store,
        put: (...args) =>
          /\/audio\/1-[^/]+\.m4s$/.test(args[0]) && ++tries.failed <= 7
            ? Promise.reject(new Error("503 Slow Down"))
            : store.put(...args),
      }),
    });
    const recording = await recordings.open(VIDEO, { onFault: (err) => void faults.push((err as Error).message) });
    const run = testRun("1");
    const sink = recording.run(run);
    const testSegments = Array.from({ length: 5 }, (_, n) => testSegment(run, n));
    for (const { fragments, cut } of testSegments) {
      for (const fragment of fragments) sink.fragment(fragment);
      clock.advance(2000);
      recording.addSegment(cut);
    }
    while (tries.failed <= 7) {
      clock.advance(1000);
      await new Promise(setImmediate);
    }
    await recording.settled();
    await recording.close();
    assert.deepEqual(faults, []);
    assert.equal((await recordings.finish(VIDEO)).duration, 10);
    for (const [n, { fragments }] of testSegments.entries())
      assert.deepEqual(
        await (await recordings.stored(VIDEO, "source", n))!.bytes(),
        joinFragments(fragments, "source"),
      );
    assert.deepEqual(await keysOf(objects, `stream/${VIDEO}/live/open/`), []);
  });

  test("retries a put with the same bytes under the same key if its response is lost", async (t) => {
    const { db } = await engine.open(t, recordMigrations);
    const tries = new Map<string, number>();
    let isFailing = true;
    const { recordings, clock, objects } = await openRecordings(t, {
      db,
      around: (store) => ({
        ...store,
        async put(key, ...rest) {
          const stored = await store.put(key, ...rest);
          tries.set(key, (tries.get(key) ?? 0) + 1);
          if (isFailing && tries.get(key) === 1) throw new Error("connection reset");
          return stored;
        },
      }),
    });
    const repeated = async (part: string, count: number) => {
      while ([...tries].filter(([key, times]) => key.includes(part) && times > 1).length < count) {
        clock.advance(50);
        await new Promise(setImmediate);
      }
    };
    const recording = await recordings.open(VIDEO);
    const run = testRun("1");
    const sink = recording.run(run);
    const testSegments = Array.from({ length: 3 }, (_, n) => testSegment(run, n));
    const [early, ...later] = testSegments.flatMap(({ fragments }) => fragments);
    sink.fragment(early!);
    while (tries.size === 0) await new Promise(setImmediate);
    // These fragments belong to the next page, not to the one that is retried.
    for (const fragment of later) sink.fragment(fragment);
    await repeated("/live/open/", 1);
    for (const { cut } of testSegments) recording.addSegment(cut);
    await repeated(".m4s", 6);
    isFailing = false;
    await recording.close();
    assert.equal((await recordings.finish(VIDEO)).duration, 6);
    for (const [n, { fragments }] of testSegments.entries())
      assert.deepEqual(
        await (await recordings.stored(VIDEO, "source", n))!.bytes(),
        joinFragments(fragments, "source"),
      );
    assert.deepEqual(await keysOf(objects, `stream/${VIDEO}/live/open/`), []);
  });

  test("reports a full disk once; records everything if space is freed, and otherwise keeps the stored part as a recording", async (t) => {
    for (const freesSpace of [true, false]) {
      const { db } = await engine.open(t, recordMigrations);
      let full = false;
      const refused = Promise.withResolvers<void>();
      const faults: unknown[] = [];
      const { recordings, clock } = await openRecordings(t, {
        db,
        around: (objects) => ({
          ...objects,
          put: (...args) =>
            full
              ? (refused.resolve(), Promise.reject(storeErrors.diskFull({ what: "the disk" })))
              : objects.put(...args),
        }),
      });
      const recording = await recordings.open(VIDEO, { onFault: (err) => void faults.push((err as UserError).kind) });
      const run = testRun("1");
      const sink = recording.run(run);
      for (let n = 0; n < 5; n++) {
        const { fragments, cut } = testSegment(run, n);
        for (const fragment of fragments) sink.fragment(fragment);
        clock.advance(2000);
        recording.addSegment(cut);
        if (n < 2) await recording.settled();
        full = n >= 1;
      }
      await refused.promise;
      full = !freesSpace;
      const ending = { closed: false };
      const closing = recording.close().then(() => (ending.closed = true));
      while (!ending.closed) {
        clock.advance(1000);
        await new Promise(setImmediate);
      }
      await closing;
      full = false;
      assert.deepEqual(faults, ["diskFull"]);
      assert.equal((await recordings.finish(VIDEO)).duration, freesSpace ? 10 : 4);
    }
  });

  test("removes files not listed in the playlist when a full disk interrupts writing a segment", async (t) => {
    const { db } = await engine.open(t, recordMigrations);
    const full = { rendition: "" };
    const refused = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const { recordings, clock, objects } = await openRecordings(t, {
      // The journal has no page that could restore the segment.
      db,
      pageMs: 1e9,
      around: (store) => ({
        ...store,
        async put(...args) {
          if (full.rendition === "") return store.put(...args);
          if (args[0].includes(`/${full.rendition}/`)) {
            refused.resolve();
            throw storeErrors.diskFull({ what: "the disk" });
          }
          // This write is slower than the failing one and finishes after it.
          await released.promise;
          return store.put(...args);
        },
      }),
    });
    const recording = await recordings.open(VIDEO);
    const run = testRun("1");
    const sink = recording.run(run);
    for (const name of ["source", "audio"]) sink.init(name, Buffer.from(name));
    recording.run(testRun("2")).init("source", Buffer.from("of a run without segments"));
    for (let n = 0; n < 3; n++) {
      const { fragments, cut } = testSegment(run, n);
      for (const fragment of fragments) sink.fragment(fragment);
      await recording.settled();
      full.rendition = n === 2 ? "audio" : "";
      clock.advance(2000);
      recording.addSegment(cut);
    }
    await refused.promise;
    const ending = { closed: false };
    const closing = recording.close().then(() => (ending.closed = true));
    for (let seconds = 0; seconds < 60; seconds++) {
      clock.advance(1000);
      await new Promise(setImmediate);
    }
    assert.equal(ending.closed, false, "waits for a write that may still succeed");
    released.resolve();
    while (!ending.closed) {
      clock.advance(1000);
      await new Promise(setImmediate);
    }
    await closing;
    full.rendition = "";
    const { segments, duration, size } = await recordings.finish(VIDEO);
    const timeline = (await recordings.timeline(VIDEO))!;
    const [writer] = new Set(
      (await db.tables<RecordTables>().selectFrom("stream_live_segments").select("writer").execute()).map(
        (row) => row.writer,
      ),
    );
    const listed = timeline.segments.flatMap(({ n, durations }) =>
      Object.keys(durations).map((name) => `${run.id}/${name}/${n}-${writer}.m4s`),
    );
    const inits = timeline.runs.flatMap(({ id }) => ["source", "audio"].map((name) => `${name}/init-${id}.mp4`));
    assert.deepEqual((await keysOf(objects, `stream/${VIDEO}/live/`)).toSorted(), [...listed, ...inits].toSorted());
    assert.equal(
      timeline.segments.reduce((sum, { durations }) => sum + durations["source"]!, 0),
      duration,
    );
    const sizes = await Promise.all(
      listed.map(async (key) => (await objects.open(`stream/${VIDEO}/live/${key}`))!.size),
    );
    assert.deepEqual([segments, duration, sizes.reduce((sum, one) => sum + one, 0)], [2, 4, size]);
  });
}
