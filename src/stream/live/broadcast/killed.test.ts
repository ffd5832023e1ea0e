import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { randomIds, silentLog, systemClock } from "../../../kernel/index.ts";
import { mountSmallDisk } from "../../../../test/support/small-disk.ts";
import { streamErrors } from "../../errors.ts";
import { openBroadcasts } from "./real.testing.ts";

/** Polls until the condition holds. */
async function until(what: () => Promise<boolean> | boolean, ms = 60_000): Promise<void> {
  for (const end = Date.now() + ms; !(await what()); await new Promise((resolve) => setTimeout(resolve, 20)))
    assert.ok(Date.now() < end, "timed out");
}

test("a killed process loses less than two seconds of a broadcast, and the next one makes a recording of the rest", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-live-killed-"));
  const child = spawn(process.execPath, [join(import.meta.dirname, "killed-process.testing.ts"), folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  let handedOver = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    handedOver = Number(line);
    // In the middle of the second segment.
    if (handedOver >= 3.25) child.kill("SIGKILL");
  }
  if (child.signalCode === null) await once(child, "close");

  const world = await openBroadcasts({ folder, clock: systemClock, ids: randomIds, log: silentLog });
  t.after(world.close);
  world.broadcasts.start();
  await until(async () => (await world.videos.list("a".repeat(32))).every(({ state }) => state === "ready"));
  const [video, ...others] = await world.videos.list("a".repeat(32));
  assert.equal(others.length, 0);
  assert.ok(handedOver - video!.duration < 2, `${video!.duration} of ${handedOver} seconds were stored`);
  assert.ok(video!.duration <= handedOver + 0.5);
  const timeline = (await world.recordings.timeline(video!.uid))!;
  assert.ok(timeline.ended && timeline.segments.length >= 2);
  for (const { n, durations } of timeline.segments)
    for (const name of Object.keys(durations))
      assert.ok(await world.recordings.stored(video!.uid, name, n), `${name} ${n}`);
  assert.deepEqual(world.settled, [video!.uid]);
});

test("a recording is ready when the reconnect time of its input expires, which is shorter than the server's", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-live-ready-"));
  const world = await openBroadcasts({ folder, clock: systemClock, ids: randomIds, log: silentLog });
  t.after(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });
  world.broadcasts.start();
  const session = world.connectPublisher();
  await until(async () => (await world.videos.list("a".repeat(32)))[0]?.readyToStream === true);
  session.end(streamErrors.livePublisherDone());
  const ended = Date.now();
  await until(() => world.settled.length === 1, 90_000);
  assert.ok(
    Date.now() - ended < 100_000,
    `ready ${Date.now() - ended} ms after a publisher that had one second to reconnect`,
  );
  const [video] = await world.videos.list("a".repeat(32));
  assert.deepEqual([video!.state, video!.input], ["ready", { width: 320, height: 180 }]);
});

test("a broadcast is ready to stream once its first segment is stored, so that every process can play it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-live-stored-"));
  const { promise: mayWrite, resolve: write } = Promise.withResolvers<void>();
  const world = await openBroadcasts({ folder, clock: systemClock, ids: randomIds, log: silentLog, mayWrite });
  t.after(async () => {
    write();
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });
  world.broadcasts.start();
  world.connectPublisher();
  const broadcast = async () => (await world.videos.list("a".repeat(32)))[0];
  const cutSegments = async () => world.packages.of((await broadcast())?.uid ?? "")?.timeline().segments.length ?? 0;
  // The second segment is cut two seconds after the first.
  await until(async () => (await cutSegments()) >= 2);
  assert.equal((await broadcast())!.readyToStream, false);
  write();
  await until(async () => (await broadcast())!.readyToStream);
  assert.ok((await world.recordings.timeline((await broadcast())!.uid))!.segments.length > 0);
});

test("if the disk fills up mid-broadcast, the stored part becomes a recording once there is space again", async (t) => {
  const disk = mountSmallDisk(t, 20);
  if (disk === undefined) return t.skip("cannot mount a small disk here");
  const world = await openBroadcasts({ folder: disk.folder, clock: systemClock, ids: randomIds, log: silentLog });
  t.after(world.close);
  world.broadcasts.start();
  const session = world.connectPublisher();
  await until(async () => (await world.videos.list("a".repeat(32)))[0]?.readyToStream === true);
  disk.fill();
  await until(() => world.errors.length === 1);
  assert.deepEqual([world.errors, session.signal.aborted], [["ERR_STORAGE_QUOTA_EXHAUSTED"], false]);
  session.end(streamErrors.livePublisherDone());
  disk.free();
  await until(() => world.settled.length === 1);
  const [video] = await world.videos.list("a".repeat(32));
  assert.ok(video!.duration >= 2, String(video!.duration));
  const timeline = (await world.recordings.timeline(video!.uid))!;
  for (const { n, durations } of timeline.segments)
    for (const name of Object.keys(durations))
      assert.ok((await world.recordings.stored(video!.uid, name, n))!.size > 0);
});
