import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { streamErrors } from "../../errors.ts";
import { createSharedState, testInput, type TestProcess, type TestSession } from "./broadcast.testing.ts";
import { leasesConformance } from "./leases.conformance.ts";
import { recordingName } from "./recording-video.ts";

onEveryDatabase(leasesConformance);

test("a broadcast becomes a video, waits for its publisher, and is ready as soon as the reconnect time expires", async () => {
  const world = createSharedState();
  const process = world.start();
  const first = process.connectPublisher();
  await world.settle();
  const [video] = [...world.videos.values()];
  assert.deepEqual(
    [
      video!.state,
      video!.liveInput,
      video!.meta["name"],
      video!.creator,
      video!.requireSignedURLs,
      video!.allowedOrigins,
    ],
    ["live-inprogress", first.input.uid, "Show 23 Nov 26 03:04 UTC", "me", true, ["example.com"]],
  );
  first.change();
  await world.advance(5000);
  first.end(streamErrors.livePublisherLost());
  await world.advance(19_000);
  const second = process.connectPublisher();
  await world.advance(1000);
  second.end(streamErrors.livePublisherDone());
  await world.settle();
  await world.advance(19_500);
  assert.equal(video!.state, "live-inprogress");
  await world.advance(500);
  assert.deepEqual([video!.state, video!.scheduledDeletion], ["ready", world.clock.now() + 30 * 86_400_000]);
  assert.deepEqual(world.assembled, [video!.uid]);
  assert.deepEqual(world.kept.get(video!.uid)!.runs.length, 3);
  assert.deepEqual(world.notes, [
    "connected",
    "new_configuration_accepted",
    "reconnecting",
    "reconnected",
    "client_disconnect",
  ]);
  const third = process.connectPublisher();
  await world.settle();
  assert.notDeepEqual(third.videos, second.videos);
  await process.broadcasts.close();
});

test("applies access rules changed during video creation, and does not reapply unchanged ones", async () => {
  const world = createSharedState();
  const process = world.start();
  const open = { ...testInput().recording, requireSignedURLs: false, allowedOrigins: [] };
  world.change(testInput({ recording: open }));
  process.connectPublisher();
  while (world.videos.size === 0) await Promise.resolve();
  world.change(testInput({ recording: { ...open, requireSignedURLs: true, allowedOrigins: ["example.org"] } }));
  await world.settle();
  const [video] = [...world.videos.values()];
  assert.deepEqual([video!.requireSignedURLs, video!.allowedOrigins], [true, ["example.org"]]);
  video!.allowedOrigins = ["by.owner.example"];
  world.change({ ...world.input!, preferLowLatency: true });
  await world.settle();
  assert.deepEqual(video!.allowedOrigins, ["by.owner.example"]);
  await process.broadcasts.close();
});

test("an unrecorded broadcast leaves nothing behind, and is reported as live", async () => {
  const world = createSharedState();
  const process = world.start();
  world.change(testInput({ recording: { ...testInput().recording, mode: "off" } }));
  const session = process.connectPublisher();
  await world.settle();
  assert.deepEqual([world.videos.size, world.encoding.size, world.leases.rows.size], [0, 0, 1]);
  session.end(streamErrors.livePublisherSilent({ seconds: 60 }));
  await world.settle();
  assert.equal(world.leases.rows.size, 0);
  assert.deepEqual(world.notes, ["connected", "ttl_exceeded"]);
  await process.broadcasts.close();
});

test("rejects a publisher if the recording would exceed the storage limit, and leaves nothing behind", async () => {
  const world = createSharedState();
  const process = world.start();
  world.quota = true;
  const session = process.connectPublisher();
  await world.settle();
  assert.equal((session.signal.reason as { kind: string }).kind, "liveNoStorage");
  assert.deepEqual(
    [world.videos.size, world.leases.rows.size, world.notes],
    [0, 0, ["failed_to_connect", "ERR_STORAGE_QUOTA_EXHAUSTED"]],
  );
  assert.equal(process.broadcasts.count(), 0);
  await process.broadcasts.close();
});

test("a broadcast ends when the account's storage limit is reached, and the stored part becomes a recording", async () => {
  const world = createSharedState();
  const process = world.start();
  world.remainingSeconds = 10;
  const session = process.connectPublisher();
  await world.settle();
  await world.advance(9500);
  assert.equal(session.signal.aborted, false);
  await world.advance(3500);
  assert.equal((session.signal.reason as { kind: string }).kind, "liveNoStorage");
  await world.advance(21_000);
  assert.deepEqual(
    [...world.videos.values()].map(({ state }) => state),
    ["ready"],
  );
  assert.deepEqual(world.notes, ["connected", "ERR_STORAGE_QUOTA_EXHAUSTED", "client_disconnect"]);
  await process.broadcasts.close();
});

test("a full disk is reported once there is space again, and the broadcast continues in the meantime", async () => {
  const world = createSharedState();
  const process = world.start();
  const session = process.connectPublisher();
  await world.settle();
  world.full = true;
  world.fault(new Error("no space left"));
  await world.advance(20_000);
  assert.deepEqual([session.signal.aborted, world.encoding.size, world.notes], [false, 1, ["connected"]]);
  world.full = false;
  await world.advance(5000);
  assert.deepEqual(world.notes, ["connected", "ERR_STORAGE_QUOTA_EXHAUSTED"]);
  await process.broadcasts.close();
});

test("a stopped server leaves its broadcasts to the next one, which continues the same video", async () => {
  const world = createSharedState();
  const process = world.start();
  const before = process.connectPublisher();
  await world.settle();
  const closed = process.broadcasts.close();
  await world.settle();
  await closed;
  before.end(streamErrors.liveShuttingDown());
  const next = world.start();
  await world.advance(3000);
  const after = next.connectPublisher();
  await world.settle();
  assert.deepEqual(after.videos, before.videos);
  assert.deepEqual(world.notes, ["connected", "reconnecting", "reconnected"]);
  await next.broadcasts.close();
});

test("a waiting process does not finish the broadcast of a publisher that reconnects to another process at the last moment", async () => {
  const world = createSharedState();
  const [here, there] = [world.start(), world.start()];
  const first = here.connectPublisher();
  await world.settle();
  first.end(streamErrors.livePublisherLost());
  await world.settle();
  await world.advance(19_900);
  const second = there.connectPublisher();
  await world.settle();
  await world.advance(5000);
  assert.deepEqual(second.videos, first.videos);
  assert.deepEqual(
    [...world.videos.values()].map(({ state }) => state),
    ["live-inprogress"],
  );
  assert.deepEqual([here.broadcasts.count(), there.broadcasts.count()], [0, 1]);
  const third = here.connectPublisher();
  await world.advance(25_000);
  assert.equal(
    (third.signal.reason as { kind: string }).kind,
    "liveInputBusy",
    "there is only one publisher at a time across all processes",
  );
  await Promise.all([here, there].map(({ broadcasts }) => broadcasts.close()));
});

test("broadcasts start and finish while the database is unavailable", async () => {
  const world = createSharedState();
  const { leases } = world;
  const calls = { ...leases };
  const away = (is: boolean) =>
    void Object.assign(
      leases,
      is
        ? Object.fromEntries(
            ["acquire", "setEndTime", "drop", "renew", "findLapsed", "adopt", "find"].map((name) => [
              name,
              () => Promise.reject(new Error("database unavailable")),
            ]),
          )
        : calls,
    );
  const process = world.start();
  away(true);
  const session = process.connectPublisher();
  await world.advance(5000);
  assert.equal(world.encoding.size, 0);
  away(false);
  await world.advance(2000);
  assert.equal(world.encoding.size, 1);
  away(true);
  session.end(streamErrors.livePublisherLost());
  await world.settle();
  await world.advance(25_000);
  assert.deepEqual(
    [...world.videos.values()].map(({ state }) => state),
    ["live-inprogress"],
  );
  away(false);
  await world.advance(2000);
  assert.deepEqual(
    [...world.videos.values()].map(({ state }) => state),
    ["ready"],
  );
  assert.equal(leases.rows.size, 0);
  await process.broadcasts.close();
});

/** One random event in the life of an input. */
type Step =
  | "come"
  | "lost"
  | "done"
  | "other"
  | "change"
  | "kill"
  | "restart"
  | "disable"
  | "enable"
  | "off"
  | "automatic"
  | "delete input"
  | "delete video"
  | number;

const anyStep = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<Step[]>("come", "lost", "done", "change") },
  { weight: 4, arbitrary: fc.constantFrom<Step[]>(100, 3000, 12_000, 25_000, 60_000) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Step[]>(
      "other",
      "kill",
      "restart",
      "disable",
      "enable",
      "off",
      "automatic",
      "delete input",
      "delete video",
    ),
  },
);

const TIMEOUT = 20_000;
const LEASE = 10_000;
/** Milliseconds until the next check. */
const LOOKED = 3000;

test("an input never has two controllers, and every broadcast ends as a recording, despite random events affecting publishers, inputs, videos and processes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), fc.boolean(), async (steps, isOnlyProcess) => {
      const world = createSharedState();
      let here: TestProcess = world.start({ isOnlyProcess });
      let there = isOnlyProcess ? undefined : world.start();
      const sessions: TestSession[] = [];
      let session: TestSession | undefined;
      /** Times of events that may end a broadcast or prevent its start. */
      const disturbed: number[] = [];
      let killedAt = -Infinity;

      const open = () => (session !== undefined && session.endedAt === undefined ? session : undefined);
      async function step(what: Step) {
        if (typeof what === "number") return world.advance(what);
        const { recording } = world.input ?? testInput();
        if (!["come", "lost", "done", "change", "kill", "restart", "other"].includes(what))
          disturbed.push(world.clock.now());
        if (what === "come" && open() === undefined && world.input?.enabled === true)
          sessions.push((session = here.connectPublisher()));
        if (what === "lost") open()?.end(streamErrors.livePublisherLost());
        if (what === "done") open()?.end(streamErrors.livePublisherDone());
        if (what === "change") open()?.change();
        // The publisher's next connection reaches the other process.
        if (what === "other" && there !== undefined) [here, there] = [there, here];
        if (what === "kill" || what === "restart") {
          const before = here;
          if (what === "kill") before.kill();
          else {
            void before.broadcasts.close();
            await world.settle();
            for (const one of before.sessions) one.end(streamErrors.liveShuttingDown());
          }
          killedAt = world.clock.now();
          here = world.start({ isOnlyProcess });
        }
        if (what === "disable" && world.input !== undefined) {
          world.change({ ...world.input, enabled: false });
          open()?.end(streamErrors.liveInputDisabled());
        }
        if (what === "enable" && world.input !== undefined) world.change({ ...world.input, enabled: true });
        if (what === "off" || what === "automatic")
          world.change(world.input && { ...world.input, recording: { ...recording, mode: what } });
        if (what === "delete input") {
          world.change(undefined);
          open()?.end(streamErrors.liveInputDeleted());
        }
        if (what === "delete video") world.videos.delete([...world.videos.keys()].at(-1) ?? "");
        return world.settle();
      }

      for (const what of steps) {
        const before = sessions.at(-1);
        await step(what);
        const now = sessions.at(-1);
        if (now === undefined || now === before || before === undefined) continue;
        const gap = now.started - before.endedAt!;
        await world.advance(LEASE + 1000);
        const quiet =
          disturbed.every((at) => at < before.started - LEASE) &&
          now.endedAt === undefined &&
          before.videos.size > 0 &&
          killedAt <= before.endedAt!;
        if (!quiet || now.videos.size === 0) continue;
        if (gap < TIMEOUT)
          assert.deepEqual([...now.videos], [[...before.videos].at(-1)], `reconnected after ${gap} ms`);
        if (gap > TIMEOUT + LEASE + LOOKED)
          assert.ok(!before.videos.has([...now.videos][0]!), `reconnected after ${gap} ms, too late`);
      }
      open()?.end(streamErrors.livePublisherLost());
      await world.advance(TIMEOUT + 3 * LEASE);
      const states = new Set([...world.videos.values()].map(({ state }) => state));
      states.delete("ready");
      assert.deepEqual([...states], [], "every video is ready");
      assert.deepEqual([world.encoding.size, world.leases.rows.size, here.broadcasts.count()], [0, 0, 0]);
      for (const uid of world.videos.keys())
        assert.ok(world.assembled.includes(uid) && world.kept.get(uid)!.runs.length > 0);
      for (const uid of sessions.flatMap((one) => [...one.videos]))
        assert.ok(world.kept.get(uid)!.ended || !world.videos.has(uid));
      await Promise.all([here, there].map((process) => process?.broadcasts.close()));
    }),
    { numRuns: 150 },
  );
});

test("a recording is named in the same way as on the hosted service", () => {
  assert.equal(recordingName("My input", Date.UTC(2021, 8, 23, 5, 44, 59)), "My input 23 Sep 21 05:44 UTC");
  assert.equal(recordingName(undefined, Date.UTC(2001, 0, 2, 15, 4)), "02 Jan 01 15:04 UTC");
});
