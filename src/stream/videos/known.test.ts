import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import { createVideoCache } from "./known.ts";
import type { Video } from "./video.ts";
import { testVideo } from "./videos.testing.ts";

const readyVideo = (more: Partial<Video> = {}) => testVideo({ state: "ready", readyToStream: true, ...more });

/** Creates a video table whose reads complete only when the test completes them. */
function open(max?: number) {
  let hear: (uid: string) => void = () => assert.fail("no listener");
  const events: Events = {
    publish: () => {},
    close: async () => {},
    subscribe: (_, on) => {
      hear = on;
      return () => {};
    },
  };
  const reads: { uid: string; answer(video: Video | undefined): void; fail(err: Error): void }[] = [];
  const clock = createManualClock();
  const known = createVideoCache({
    events,
    clock,
    ...(max !== undefined && { max }),
    read: (uid) => {
      const { promise, resolve, reject } = Promise.withResolvers<Video | undefined>();
      reads.push({ uid, answer: resolve, fail: reject });
      return promise;
    },
  });
  return { hear: (uid: string) => hear(uid), reads, known, clock };
}

test("a row is read once for concurrent callers, and cached", async () => {
  const { known, reads } = open();
  const both = Promise.all([known.find("a"), known.find("a")]);
  reads[0]!.answer(readyVideo());
  const [one, other] = await both;
  assert.equal(one, other);
  assert.equal(await known.find("a"), one);
  assert.equal(reads.length, 1);
});

test("a row that changes while it is read is not cached in its old form, whichever process changes it", async () => {
  for (const change of ["here", "elsewhere", "lost"] as const) {
    const { known, reads, hear } = open();
    const requested = known.find("a");
    if (change === "here") known.invalidate("a");
    else hear(change === "lost" ? "" : "a");
    const again = known.find("a");
    assert.equal(reads.length, 2, "a read after the change does not get the earlier result");
    // The newer response arrives first.
    reads[1]!.answer(readyVideo({ size: 2 }));
    assert.equal((await again)!.size, 2);
    reads[0]!.answer(readyVideo({ size: 1 }));
    assert.equal((await requested)!.size, 1);
    assert.equal((await known.find("a"))!.size, 2);
  }
});

test("missing rows and failed reads are not cached", async () => {
  const { known, reads } = open();
  const absent = known.find("a");
  reads[0]!.answer(undefined);
  assert.equal(await absent, undefined);
  const broken = known.find("a");
  reads[1]!.fail(new Error("database"));
  await assert.rejects(broken, /database/);
  const there = known.find("a");
  reads[2]!.answer(readyVideo());
  assert.notEqual(await there, undefined);
});

test("a video that cannot be played yet is read for each request, because the event of a change may arrive later than a client", async () => {
  const { known, reads } = open();
  const first = known.find("a");
  reads[0]!.answer(testVideo({ state: "inprogress" }));
  await first;
  const early = known.find("a");
  // Another process makes the video playable while this one reads the row.
  const late = known.find("a");
  assert.equal(reads.length, 2);
  reads[1]!.answer(testVideo({ state: "inprogress" }));
  assert.equal((await early)!.readyToStream, false);
  assert.equal(reads.length, 3);
  reads[2]!.answer(readyVideo());
  assert.equal((await late)!.readyToStream, true);
  assert.equal((await known.find("a"))!.readyToStream, true);
  assert.equal(reads.length, 3, "a playable video is cached");
});

test("the most recently requested rows are cached, up to the limit", async () => {
  const { known, reads } = open(2);
  const load = async (uid: string) => {
    const found = known.find(uid);
    reads.find((read) => read.uid === uid)!.answer(readyVideo({ meta: { uid } }));
    return found;
  };
  await load("a");
  await load("b");
  await known.find("a");
  await load("c");
  await known.find("a");
  await known.find("c");
  assert.equal(reads.length, 3);
  void known.find("b");
  assert.equal(reads.length, 4);
});

test("a change without a notification is detected within seconds, and cached rows remain usable for a while during a database outage", async () => {
  const { known, reads, clock } = open();
  const first = known.find("a");
  reads[0]!.answer(readyVideo({ size: 1 }));
  await first;
  clock.advance(10_000);
  const second = known.find("a");
  assert.equal(reads.length, 2);
  reads[1]!.answer(readyVideo({ size: 2 }));
  assert.equal((await second)!.size, 2);
  clock.advance(10_000);
  const away = known.find("a");
  reads[2]!.fail(new Error("database"));
  assert.equal((await away)!.size, 2);
  clock.advance(10 * 60_000);
  const long = known.find("a");
  reads[3]!.fail(new Error("database"));
  await assert.rejects(long, /database/);
  const gone = known.find("a");
  reads[4]!.answer(undefined);
  assert.equal(await gone, undefined);
  void known.find("a");
  assert.equal(reads.length, 6);
});
