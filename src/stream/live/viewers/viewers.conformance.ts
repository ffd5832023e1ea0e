import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import type { DeliveryContext } from "../../delivery/route.ts";
import type { Video } from "../../videos/video.ts";
import { testVideo } from "../../videos/videos.testing.ts";
import { createLiveViewers } from "./viewers.ts";
import { liveViewersMigrations } from "./viewers-table.ts";

const INPUT = "1".repeat(32);
const LIVE = testVideo({ state: "live-inprogress", liveInput: INPUT });

async function open(t: TestContext, engine: TestEngine) {
  const { db, another } = await engine.open(t, liveViewersMigrations);
  const clock = createManualClock(1_000_000);
  const of = (database: typeof db) => {
    const viewers = createLiveViewers({ db: database, clock, ids: randomIds, log: silentLog });
    t.after(() => viewers.close());
    return viewers;
  };
  return { viewers: of(db), clock, other: async () => of(await another()) };
}

/** One request for a file of a broadcast. */
function ask(
  viewers: ReturnType<typeof createLiveViewers>,
  ip: string,
  {
    video = LIVE,
    status = 200,
    headers = {},
    url = "/",
    path = "segments/{rendition}/{file}",
  }: { video?: Video; status?: number; headers?: Record<string, string>; url?: string; path?: string } = {},
) {
  const viewing = {
    video,
    viewer: { ip },
    request: { method: "GET", headers, url },
    response: { statusCode: status },
  } as unknown as DeliveryContext;
  return viewers.watch({ path, purpose: "play", handle: async () => {} }).handle(viewing);
}

export function viewersConformance(engine: TestEngine): void {
  test("counts a client with a request in the last thirty seconds once, and each open connection", async (t) => {
    const { viewers, clock } = await open(t, engine);
    assert.equal(await viewers.count(INPUT), 0);
    for (const path of ["segments/{rendition}/{file}", "manifest/video.m3u8"])
      await ask(viewers, "192.0.2.1", { path });
    await ask(viewers, "192.0.2.2");
    assert.equal(await viewers.count(INPUT), 2);
    const leave = viewers.join(INPUT, "a peer");
    const leaveAgain = viewers.join(INPUT, "a peer");
    assert.equal(await viewers.count(INPUT), 3);
    clock.advance(20_000);
    await ask(viewers, "192.0.2.2");
    clock.advance(10_001);
    assert.equal(await viewers.count(INPUT), 2);
    leave();
    leave();
    assert.equal(await viewers.count(INPUT), 2);
    leaveAgain();
    assert.equal(await viewers.count(INPUT), 1);
    clock.advance(20_000);
    assert.equal(await viewers.count(INPUT), 0);
  });

  test("distinguishes browsers, and sessions reported by players, behind one IP address", async (t) => {
    const { viewers } = await open(t, engine);
    for (const agent of ["Firefox", "Chromium", "Firefox"])
      await ask(viewers, "192.0.2.1", { headers: { "user-agent": agent } });
    assert.equal(await viewers.count(INPUT), 2);
    for (const sid of ["one", "two", "one"])
      await ask(viewers, "192.0.2.1", { headers: { "user-agent": "Firefox", "cmcd-session": `cid="x",sid="${sid}"` } });
    assert.equal(await viewers.count(INPUT), 4);
    await ask(viewers, "192.0.2.1", { url: `/x/manifest/video.m3u8?CMCD=${encodeURIComponent('bl=100,sid="three"')}` });
    assert.equal(await viewers.count(INPUT), 5);
  });

  test("does not count viewers of recordings, other videos, other paths or rejected requests", async (t) => {
    const { viewers } = await open(t, engine);
    await ask(viewers, "192.0.2.1", { video: { ...LIVE, state: "ready" } });
    await ask(viewers, "192.0.2.1", { video: testVideo({ state: "live-inprogress" }) });
    await ask(viewers, "192.0.2.1", { status: 404 });
    await ask(viewers, "192.0.2.1", { path: "thumbnails/thumbnail.jpg" });
    assert.equal(await viewers.count(INPUT), 0);
  });

  test("reports the time of each connection when it ends, and at every publication", async (t) => {
    const { db } = await engine.open(t, liveViewersMigrations);
    const clock = createManualClock(1_000_000);
    const watched: string[] = [];
    const viewers = createLiveViewers({
      db,
      clock,
      ids: randomIds,
      log: silentLog,
      onWatched: ({ input, session, ip, player }, seconds) =>
        void watched.push(`${input === INPUT ? "input" : input} ${session} ${ip} ${player} ${seconds}`),
    });
    const leave = viewers.join(INPUT, "one", { ip: "192.0.2.1", player: "WebRTC" });
    clock.advance(4000);
    viewers.join(INPUT, "two", { player: "SRT" });
    clock.advance(3000);
    await viewers.publish();
    clock.advance(1000);
    leave();
    leave();
    clock.advance(2000);
    await viewers.close();
    assert.deepEqual(watched, [
      "input one 192.0.2.1 WebRTC 7",
      "input two  SRT 3",
      "input one 192.0.2.1 WebRTC 1",
      "input two  SRT 3",
    ]);
  });

  test("aggregates viewers across processes, and counts a viewer present in two of them once", async (t) => {
    const { viewers, clock, other } = await open(t, engine);
    const second = await other();
    for (let n = 0; n < 40; n++) await ask(n % 2 === 0 ? viewers : second, `192.0.2.${n}`);
    for (let n = 0; n < 10; n++) await ask(n % 2 === 0 ? second : viewers, `192.0.2.${n}`);
    await Promise.all([viewers.publish(), second.publish()]);
    assert.deepEqual([await viewers.count(INPUT), await second.count(INPUT)], [40, 40]);
    for (let n = 0; n < 3000; n++) await ask(n % 2 === 0 ? viewers : second, `2001:db8::${n}`);
    await Promise.all([viewers.publish(), second.publish()]);
    clock.advance(5000);
    const many = await viewers.count(INPUT);
    assert.ok(Math.abs(many - 3040) < 0.2 * 3040, `${many} of 3040`);
    await second.close();
    clock.advance(5000);
    assert.ok((await viewers.count(INPUT)) < 1600);
    clock.advance(31_000);
    assert.equal(await viewers.count(INPUT), 0);
  });
}
