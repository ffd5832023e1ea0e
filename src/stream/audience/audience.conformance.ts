import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import type { DeliveryRoute, DeliveryContext } from "../delivery/index.ts";
import type { Video } from "../videos/index.ts";
import { testVideo } from "../videos/videos.testing.ts";
import { audienceMigrations, type AudienceColumn } from "./audience-table.ts";
import { createAudience, type Audience } from "./audience.ts";

const ACCOUNT = "a".repeat(32);
const [ONE, TWO] = ["1".repeat(32), "2".repeat(32)];
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 10, 21, 22, 30);
const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36";

async function open(
  t: TestContext,
  engine: TestEngine,
  { days = 90, limits = {} }: Partial<Parameters<typeof createAudience>[0]> = {},
) {
  const { db, another } = await engine.open(t, audienceMigrations);
  const clock = createManualClock(START);
  const of = (database: typeof db) => {
    const audience = createAudience({
      db: database,
      clock,
      countryOf: (ip) => (ip.startsWith("192.0.2.") ? "DE" : undefined),
      log: silentLog,
      days,
      limits,
    });
    t.after(() => audience.close());
    return audience;
  };
  return { audience: of(db), clock, other: async () => of(await another()) };
}

const viewingOf = (
  video: Video,
  ip: string,
  {
    userAgent = CHROME,
    origin,
    place,
    referer,
  }: { userAgent?: string; origin?: string; place?: "ours"; referer?: string } = {},
) =>
  ({
    video,
    viewer: { ip, ...(origin !== undefined && { origin }), ...(place !== undefined && { place }) },
    origin: "https://videos.example.com",
    request: { headers: { "user-agent": userAgent, ...(referer !== undefined && { referer }) }, url: "/" },
  }) as unknown as DeliveryContext;

const videoOf = (uid: string, more: Partial<Video> = {}) =>
  testVideo({ uid, account: ACCOUNT, creator: "ann", ...more });

/** Resolves with the metrics of one column as sorted strings `value=views/seconds`. */
async function figures(audience: Audience, column: AudienceColumn, since = START - DAY, until = START + 40 * DAY) {
  await audience.flush();
  const rows = await audience.sums({ account: ACCOUNT, since, until, filter: { all: [] }, groupBy: [column] });
  return rows.map(({ values, sums }) => `${values[0]}=${sums["views"]}/${sums["viewed_ms"]! / 1000}`).sort();
}

export function audienceConformance(engine: TestEngine): void {
  test("counts a view at the first segment after half an hour without one, and the seconds of every segment", async (t) => {
    const { audience, clock } = await open(t, engine);
    const [one, two] = [videoOf(ONE), videoOf(TWO, { creator: null })];
    for (let n = 0; n < 5; n++) audience.onSegment(viewingOf(one, "192.0.2.1"), 4);
    audience.onSegment(viewingOf(one, "192.0.2.1", { userAgent: "Lavf/62" }), 4);
    audience.onSegment(viewingOf(two, "198.51.100.1", { origin: "https://Blog.example:8443" }), 2.5);
    assert.deepEqual(await figures(audience, "uid"), [`${ONE}=2/24`, `${TWO}=1/2.5`]);
    clock.advance(30 * MINUTE);
    audience.onSegment(viewingOf(one, "192.0.2.1"), 4);
    assert.deepEqual(await figures(audience, "uid"), [`${ONE}=2/28`, `${TWO}=1/2.5`]);
    clock.advance(30 * MINUTE + 1);
    audience.onSegment(viewingOf(one, "192.0.2.1"), 4);
    assert.deepEqual(await figures(audience, "uid"), [`${ONE}=3/32`, `${TWO}=1/2.5`]);
    assert.deepEqual(await figures(audience, "country"), ["=1/2.5", "DE=3/32"]);
    assert.deepEqual(await figures(audience, "browser"), ["Chrome=3/30.5", "FFmpeg=1/4"]);
    assert.deepEqual(await figures(audience, "device"), ["desktop=3/30.5", "other=1/4"]);
    assert.deepEqual(await figures(audience, "creator"), ["=1/2.5", "ann=3/32"]);
    assert.deepEqual(await figures(audience, "referrer"), ["=3/32", "blog.example:8443=1/2.5"]);
    assert.deepEqual(await figures(audience, `at/${HOUR}`), [
      `${START - 30 * MINUTE}=3/26.5`,
      `${START + 30 * MINUTE}=1/8`,
    ]);
  });

  test("metrics of several processes are added together, and a restart loses nothing that was counted before it", async (t) => {
    const { audience, other } = await open(t, engine);
    const second = await other();
    audience.onSegment(viewingOf(videoOf(ONE), "192.0.2.1"), 4);
    second.onSegment(viewingOf(videoOf(ONE), "192.0.2.2"), 4);
    await Promise.all([audience.flush(), second.flush()]);
    second.onSegment(viewingOf(videoOf(ONE), "192.0.2.3"), 4);
    await second.close();
    assert.deepEqual(await figures(audience, "uid"), [`${ONE}=3/12`]);
    const peaks = await audience.peaks({
      account: ACCOUNT,
      since: START - DAY,
      until: START + DAY,
      subject: { uid: ONE },
      limit: 10,
    });
    assert.deepEqual(
      peaks.map(({ viewers }) => viewers),
      [3],
    );
  });

  test("the peak is the highest number of viewers in one minute, by video, live input, creator and account", async (t) => {
    const { audience, clock } = await open(t, engine);
    const live = videoOf(TWO, { state: "live-inprogress", liveInput: "i".repeat(32), creator: null });
    for (const ip of [1, 2, 3]) audience.onSegment(viewingOf(videoOf(ONE), `192.0.2.${ip}`), 4);
    for (const ip of [1, 2]) audience.onSegment(viewingOf(live, `192.0.2.${ip}`), 4);
    audience.onSegment(viewingOf(videoOf(ONE), "192.0.2.1"), 4);
    clock.advance(MINUTE);
    await audience.flush();
    audience.onSegment(viewingOf(videoOf(ONE), "192.0.2.1"), 4);
    for (const session of ["p", "q", "r"])
      audience.onConnected({ video: live, session, ip: "192.0.2.9", player: "WebRTC" }, 10);
    await audience.flush();
    const peak = async (subject: Parameters<typeof audience.peaks>[0]["subject"]) =>
      (await audience.peaks({ account: ACCOUNT, since: START - HOUR, until: START + HOUR, subject, limit: 10 })).map(
        ({ viewers }) => viewers,
      );
    assert.deepEqual(await peak({}), [5]);
    assert.deepEqual(await peak({ uid: ONE }), [3]);
    assert.deepEqual(await peak({ uid: TWO }), [3]);
    assert.deepEqual(await peak({ input: "i".repeat(32) }), [3]);
    assert.deepEqual(await peak({ creator: "ann" }), [3]);
    assert.deepEqual(await peak({ creator: "bob" }), []);
    assert.deepEqual(await figures(audience, "browser"), ["Chrome=5/28", "WebRTC=3/30"]);
    assert.deepEqual(await figures(audience, "is_live"), ["0=3/20", "1=5/38"]);
  });

  test("a viewer of our player is attributed to the page that embeds it", async (t) => {
    const { audience } = await open(t, engine);
    const page: DeliveryRoute = { path: "iframe", purpose: "page", handle: async () => {} };
    const wrapped = audience.watchPage(page);
    await wrapped.handle(viewingOf(videoOf(ONE), "192.0.2.1", { referer: "https://shop.example/page?id=1" }));
    await wrapped.handle(viewingOf(videoOf(ONE), "192.0.2.2", { referer: "https://videos.example.com/x/watch" }));
    for (const ip of [1, 2])
      audience.onSegment(
        viewingOf(videoOf(ONE), `192.0.2.${ip}`, { origin: "https://videos.example.com", place: "ours" }),
        4,
      );
    assert.deepEqual(await figures(audience, "referrer"), ["shop.example=1/4", "videos.example.com=1/4"]);
    const segment: DeliveryRoute = { path: "segments/{rendition}/{file}", purpose: "play", handle: async () => {} };
    assert.equal(audience.watchPage(segment), segment);
  });

  test("limits the number of hosts and of combinations per account and hour, without losing views", async (t) => {
    const { audience } = await open(t, engine, { limits: { referrers: 2, combinations: 4 } });
    for (let n = 0; n < 10; n++)
      audience.onSegment(viewingOf(videoOf(ONE), `192.0.2.${n}`, { origin: `https://host${n}.example` }), 4);
    assert.deepEqual(await figures(audience, "referrer"), ["(other)=8/32", "host0.example=1/4", "host1.example=1/4"]);
    for (const [n, userAgent] of ["Firefox/1", "Lavf/1", "VLC/1"].entries())
      audience.onSegment(viewingOf(videoOf(ONE), `192.0.2.2${n}`, { userAgent }), 4);
    assert.deepEqual(await figures(audience, "browser"), ["(other)=2/8", "Chrome=10/40", "Firefox=1/4"]);
    assert.deepEqual(await figures(audience, "uid"), [`${ONE}=13/52`]);
  });

  test("keeps metrics by hour for 31 days and by day for the configured time", async (t) => {
    const { audience, clock } = await open(t, engine, { days: 60 });
    audience.onSegment(viewingOf(videoOf(ONE), "192.0.2.1"), 4);
    await audience.flush();
    clock.advance(33 * DAY);
    audience.onSegment(viewingOf(videoOf(ONE), "192.0.2.1"), 4);
    await audience.flush();
    const day = Math.floor(START / DAY) * DAY;
    const of = (since: number, until: number, step?: number) =>
      audience
        .sums({ account: ACCOUNT, since, until, step, filter: { all: [] }, groupBy: [] })
        .then(([row]) => row?.sums["views"] ?? 0);
    assert.equal(await of(day, day + DAY), 1);
    assert.equal(await of(day, day + 40 * DAY), 2);
    assert.equal(await of(START + 32 * DAY, START + 34 * DAY, HOUR), 1);
    clock.advance(30 * DAY);
    await audience.flush();
    assert.equal(await of(day, day + DAY), 0);
    assert.deepEqual(
      await audience.peaks({ account: ACCOUNT, since: day, until: day + DAY, subject: {}, limit: 10 }),
      [],
    );
    assert.equal(await of(day, day + 40 * DAY), 1);
  });

  test("a failed write is retried at the next interval", async (t) => {
    const { db } = await engine.open(t, audienceMigrations);
    const clock = createManualClock(START);
    let fails = true;
    const flaky: typeof db = {
      ...db,
      write: (query) => (fails ? Promise.reject(new Error("database is gone")) : db.write(query)),
      transaction: (work) => (fails ? Promise.reject(new Error("database is gone")) : db.transaction(work)),
    };
    const audience = createAudience({ db: flaky, clock, countryOf: () => undefined, log: silentLog });
    t.after(() => audience.close());
    audience.onSegment(viewingOf(videoOf(ONE), "192.0.2.1"), 4);
    await audience.flush();
    audience.onSegment(viewingOf(videoOf(ONE), "192.0.2.1"), 4);
    fails = false;
    assert.deepEqual(await figures(audience, "uid"), [`${ONE}=1/8`]);
  });
}
