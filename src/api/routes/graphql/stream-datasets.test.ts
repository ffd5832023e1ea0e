import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase, type Scope, type TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { streamMigrations, type Video } from "../../../stream/index.ts";
import { createAudience } from "../../../stream/audience/index.ts";
import { startApi, TEST_ACCOUNT, unrestrictedCaller, type TestApi } from "../../api.testing.ts";
import { streamAnalyticsRoutes } from "../stream/analytics.ts";
import { graphqlRoutes } from "./routes.ts";
import { streamDatasets } from "./stream-datasets.ts";

const [ONE, TWO, INPUT] = ["1".repeat(32), "2".repeat(32), "3".repeat(32)];
const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 20, 22, 30);
const BASE = `/accounts/${TEST_ACCOUNT}/stream/analytics`;

const videoOf = (uid: string, more: object = {}) =>
  ({ uid, account: TEST_ACCOUNT, creator: null, state: "ready", ...more }) as unknown as Video;

/** Two days: on the first, two viewers of ONE; on the second, one of ONE and three of the broadcast TWO. */
async function open(scope: Scope, engine: TestEngine, allows = unrestrictedCaller.allows) {
  const { db } = await engine.open(scope, streamMigrations);
  const clock = createManualClock(START);
  const audience = createAudience({
    db,
    clock,
    countryOf: (ip) => ({ "192.0.2.1": "DE", "192.0.2.2": "FR" })[ip],
    log: silentLog,
  });
  scope.after(() => audience.close());
  const watch = (video: Video, viewer: number, seconds: number) =>
    audience.onConnected({ video, session: `s${viewer}`, ip: `192.0.2.${viewer}`, player: `P${viewer}` }, seconds);
  watch(videoOf(ONE, { creator: "ann" }), 1, 600);
  watch(videoOf(ONE, { creator: "ann" }), 2, 300);
  clock.advance(2 * HOUR);
  watch(videoOf(ONE, { creator: "ann" }), 3, 30);
  for (const viewer of [1, 2, 3]) watch(videoOf(TWO, { state: "live-inprogress", liveInput: INPUT }), viewer, 120);
  await audience.flush();
  const { call } = await startApi(scope, {
    caller: { ...unrestrictedCaller, allows },
    clock,
    routes: [
      ...graphqlRoutes({ datasets: { accounts: streamDatasets({ audience, clock }) } }),
      ...streamAnalyticsRoutes({ audience, clock }),
    ],
  });
  return { call, clock };
}

async function ask(call: TestApi["call"], dataset: string, variables: object = {}) {
  const { status, body } = await call("post", "/graphql", {
    body: {
      query: `query Q($accountTag: string!, $start: Date, $end: Date, $uid: string) { viewer { accounts(filter: {accountTag: $accountTag}) { rows: ${dataset} } } }`,
      variables: { accountTag: TEST_ACCOUNT, start: "2026-11-20", end: "2026-11-22", ...variables },
    },
  });
  assert.equal(status, 200);
  return body as { data: { viewer: { accounts: { rows: unknown[] }[] } } | null; errors: { message: string }[] | null };
}

async function rowsOf(...args: Parameters<typeof ask>) {
  const { data, errors } = await ask(...args);
  assert.equal(errors, null, JSON.stringify(errors));
  return data!.viewer.accounts[0]!.rows;
}

onEveryDatabase((engine) => {
  describe("stream analytics", () => {
    test("answers the hosted service's example queries", async (t) => {
      const { call } = await open(t, engine);
      assert.deepEqual(
        await rowsOf(
          call,
          "streamMinutesViewedAdaptiveGroups(filter: { date_geq: $start, date_lt: $end }, orderBy: [sum_minutesViewed_DESC], limit: 100) { sum { minutesViewed } dimensions { uid clientCountryName } }",
        ),
        [
          { sum: { minutesViewed: 10 }, dimensions: { uid: ONE, clientCountryName: "DE" } },
          { sum: { minutesViewed: 5 }, dimensions: { uid: ONE, clientCountryName: "FR" } },
          { sum: { minutesViewed: 2 }, dimensions: { uid: TWO, clientCountryName: "" } },
          { sum: { minutesViewed: 2 }, dimensions: { uid: TWO, clientCountryName: "DE" } },
          { sum: { minutesViewed: 2 }, dimensions: { uid: TWO, clientCountryName: "FR" } },
          { sum: { minutesViewed: 1 }, dimensions: { uid: ONE, clientCountryName: "" } },
        ],
      );
      const playback =
        "videoPlaybackEventsAdaptiveGroups(filter: { date_geq: $start, date_lt: $end, uid_gt: $uid }, orderBy: [uid_ASC], limit: 1) { count sum { timeViewedMinutes } dimensions { uid } }";
      assert.deepEqual(await rowsOf(call, playback, { uid: "" }), [
        { count: 3, sum: { timeViewedMinutes: 16 }, dimensions: { uid: ONE } },
      ]);
      assert.deepEqual(await rowsOf(call, playback, { uid: ONE }), [
        { count: 3, sum: { timeViewedMinutes: 6 }, dimensions: { uid: TWO } },
      ]);
    });

    test("groups by times, devices, creators and live inputs, and sums without dimensions", async (t) => {
      const { call } = await open(t, engine);
      const dataset = (rest: string) => `videoPlaybackEventsAdaptiveGroups${rest}`;
      assert.deepEqual(await rowsOf(call, dataset("(orderBy: [date_ASC]) { count dimensions { date } }")), [
        { count: 2, dimensions: { date: "2026-11-20" } },
        { count: 4, dimensions: { date: "2026-11-21" } },
      ]);
      assert.deepEqual(
        await rowsOf(
          call,
          dataset(
            '(filter: {datetime_geq: "2026-11-20T22:45:00Z", datetime_leq: "2026-11-21T00:59:59Z"}, orderBy: [datetimeHour_ASC]) { n: count d: dimensions { datetimeHour } avg { sampleInterval } }',
          ),
        ),
        [
          { n: 2, d: { datetimeHour: "2026-11-20T22:00:00Z" }, avg: { sampleInterval: 1 } },
          { n: 4, d: { datetimeHour: "2026-11-21T00:00:00Z" }, avg: { sampleInterval: 1 } },
        ],
      );
      assert.deepEqual(
        await rowsOf(
          call,
          dataset(
            `(filter: {liveInput: "${INPUT}", OR: [{deviceBrowser: "P1"}, {deviceBrowser_like: "%2"}]}, orderBy: [deviceBrowser_DESC]) { count dimensions { deviceBrowser deviceOs deviceType isLive creator } }`,
          ),
        ),
        ["P2", "P1"].map((deviceBrowser) => ({
          count: 1,
          dimensions: { deviceBrowser, deviceOs: "Other", deviceType: "other", isLive: 1, creator: "" },
        })),
      );
      assert.deepEqual(await rowsOf(call, dataset('(filter: {creator: "ann"}) { count }')), [{ count: 3 }]);
      assert.deepEqual(await rowsOf(call, dataset('(filter: {date: "2026-11-19"}) { count }')), []);
    });

    test("reports invalid queries, and requires a permission", async (t) => {
      const { call } = await open(t, engine);
      const cases: [query: string, why: RegExp][] = [
        [
          "streamMinutesViewedAdaptiveGroups { dimensions { colour } }",
          /unknown dimension "colour"; available: datetime,/,
        ],
        ["streamMinutesViewedAdaptiveGroups { dimensions }", /dimensions needs fields/],
        ["streamMinutesViewedAdaptiveGroups { sum { bytes } }", /unknown field "bytes": sum has minutesViewed/],
        ["streamMinutesViewedAdaptiveGroups { sum { minutesViewed { x } } }", /minutesViewed is a scalar/],
        [
          "streamMinutesViewedAdaptiveGroups { uniq { viewers } }",
          /unknown field "uniq": groups have dimensions, count/,
        ],
        ["streamMinutesViewedAdaptiveGroups(orderBy: [uid_ASC]) { count }", /orderBy uid: use a requested dimension/],
        ["streamMinutesViewedAdaptiveGroups(limit: 10001) { count }", /limit must be a whole number from 1 to 10000/],
        ['streamMinutesViewedAdaptiveGroups(filter: {date_geq: "soon"}) { count }', /date_geq must be a time/],
        ["streamMinutesViewedAdaptiveGroups(filter: {isLastEvent: 1}) { count }", /unknown filter "isLastEvent"/],
      ];
      for (const [query, why] of cases) assert.match((await ask(call, query)).errors![0]!.message, why, query);
      const denied = await open(t, engine, (permission) => permission === "D1 Read");
      assert.match(
        (await ask(denied.call, "streamMinutesViewedAdaptiveGroups { count }")).errors![0]!.message,
        /the API token requires one of Account Analytics Read, Stream Read/,
      );
    });

    test("the REST API returns totals with the peak, points in time, and rankings with the rest", async (t) => {
      const { call } = await open(t, engine);
      const get = async (path: string, query: Record<string, string | number>) =>
        (await call("GET", `${BASE}${path}`, { query })).body.result;
      const range = { since: "2026-11-20T00:00:00Z", until: "2026-11-22T00:00:00Z" };
      assert.deepEqual(await get("", range), {
        views: 6,
        minutesViewed: 21.5,
        peakViewers: 4,
        peakAt: "2026-11-21T00:00:00.000Z",
        since: "2026-11-20T00:00:00.000Z",
        until: "2026-11-22T00:00:00.000Z",
      });
      const ofVideo = await get("", { ...range, uid: ONE });
      assert.deepEqual([ofVideo.views, ofVideo.minutesViewed, ofVideo.peakViewers], [3, 15.5, 2]);
      const ofInput = await get("", { ...range, live_input: INPUT });
      assert.deepEqual([ofInput.views, ofInput.minutesViewed, ofInput.peakViewers], [3, 6, 3]);
      assert.equal((await get("", { ...range, uid: "9".repeat(32) })).peakAt, null);
      assert.deepEqual(
        await get("/series", { since: "2026-11-20T22:30:00Z", until: "2026-11-21T01:00:00Z", creator: "ann" }),
        [
          { ts: START / 1000 - 1800, views: 2, minutesViewed: 15, peakViewers: 2 },
          { ts: START / 1000 + 1800, views: 0, minutesViewed: 0, peakViewers: 0 },
          { ts: START / 1000 + 5400, views: 1, minutesViewed: 0.5, peakViewers: 1 },
        ],
      );
      assert.deepEqual(
        (await get("/series", { ...range, time_delta: "day" })).map(({ views }: { views: number }) => views),
        [2, 4],
      );
      assert.deepEqual(await get("/top", { ...range, by: "country", limit: 1, order: "minutes" }), {
        items: [{ value: "DE", views: 2, minutesViewed: 12 }],
        other: { views: 4, minutesViewed: 9.5 },
      });
      assert.deepEqual(await get("/top", { ...range, by: "video" }), {
        items: [
          { value: ONE, views: 3, minutesViewed: 15.5 },
          { value: TWO, views: 3, minutesViewed: 6 },
        ],
        other: { views: 0, minutesViewed: 0 },
      });
      assert.deepEqual(await get("/top", { ...range, by: "video", values: `${TWO},unknown` }), {
        items: [{ value: TWO, views: 3, minutesViewed: 6 }],
        other: { views: 0, minutesViewed: 0 },
      });
      for (const [path, query] of [
        ["", { uid: ONE, creator: "ann" }],
        ["", { since: "2026-11-22T00:00:00Z", until: "2026-11-21T00:00:00Z" }],
        ["/series", { since: "2026-09-01T00:00:00Z" }],
        ["/top", { by: "colour" }],
        ["/top", { by: "video", values: "a,".repeat(100) }],
      ] as const)
        assert.equal((await call("GET", `${BASE}${path}`, { query })).status, 400, JSON.stringify(query));
    });
  });
});
