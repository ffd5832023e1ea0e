import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import { segmentKey } from "../encode/port.ts";
import { anyVideo, emptyObjects, ntscModel, UID } from "./playback.testing.ts";
import { createRenditionRates } from "./rates.ts";

const video = anyVideo({ model: ntscModel() });

test("measures a rendition once, from its segment sizes", async (t) => {
  const objects = await emptyObjects(t);
  // Segments of 4.004 s, 4.004 s and 2.002 s, without the initialization segment.
  for (const [n, size] of [
    ["init", 900],
    [0, 4004],
    [1, 8008],
    [2, 1001],
  ] as const)
    await objects.put(segmentKey(UID, "90p", n), Buffer.alloc(size));
  let listed = 0;
  const rates = createRenditionRates({
    objects: { list: (prefix) => (listed++, objects.list(prefix)) },
    log: silentLog,
  });
  for (let time = 0; time < 2; time++)
    assert.deepEqual(
      [...(await rates.of(video, ["90p"]))].map(([name, { peak, average }]) => [
        name,
        Math.round(peak),
        Math.round(average),
      ]),
      [["90p", 16_000, 10_400]],
    );
  assert.equal(listed, 1);
});

test("returns no bitrates for a rendition until all its segments are stored", async (t) => {
  const objects = await emptyObjects(t);
  const rates = createRenditionRates({ objects, log: silentLog });
  for (const n of [0, 2]) await objects.put(segmentKey(UID, "90p", n), Buffer.alloc(1000));
  assert.deepEqual([...(await rates.of(video, ["90p"])).keys()], []);
  await objects.put(segmentKey(UID, "90p", 1), Buffer.alloc(1000));
  assert.deepEqual([...(await rates.of(video, ["90p"])).keys()], ["90p"]);
});

test("does not measure a video that is still being encoded", async (t) => {
  const objects = await emptyObjects(t);
  const rates = createRenditionRates({ objects, log: silentLog });
  for (const n of [0, 1, 2]) await objects.put(segmentKey(UID, "90p", n), Buffer.alloc(1000));
  for (const more of [{ state: "inprogress" as const }, { model: null }])
    assert.equal((await rates.of({ ...video, ...more }, ["90p"])).size, 0);
});

test("returns no bitrates for a rendition that cannot be listed, and measures it again later", async (t) => {
  const objects = await emptyObjects(t);
  for (const n of [0, 1, 2]) await objects.put(segmentKey(UID, "90p", n), Buffer.alloc(1000));
  let broken = true;
  const rates = createRenditionRates({
    log: silentLog,
    objects: {
      list: (prefix) =>
        broken
          ? // oxlint-disable-next-line require-yield
            (async function* () {
              throw new Error("EMFILE");
            })()
          : objects.list(prefix),
    },
  });
  assert.equal((await rates.of(video, ["90p"])).size, 0);
  broken = false;
  assert.equal((await rates.of(video, ["90p"])).size, 1);
});

test("caches at most maxVideos videos", async (t) => {
  const objects = await emptyObjects(t);
  const uids = ["1", "2", "3"].map((digit) => digit.repeat(32));
  for (const uid of uids) for (const n of [0, 1, 2]) await objects.put(segmentKey(uid, "90p", n), Buffer.alloc(1000));
  const listed: string[] = [];
  const rates = createRenditionRates({
    maxVideos: 2,
    log: silentLog,
    objects: { list: (prefix) => (listed.push(prefix.split("/")[1]![0]!), objects.list(prefix)) },
  });
  for (const n of [0, 1, 0, 2, 0, 1]) await rates.of({ ...video, uid: uids[n]! }, ["90p"]);
  assert.equal(listed.join(""), "1232", "the most recently requested entry stays cached");
});
