import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { silentLog } from "../../../kernel/index.ts";
import { customerCode } from "../../../stream/index.ts";
import { createViewedMinutes } from "../../../stream/viewed/index.ts";
import { startApi, TEST_ACCOUNT, TEST_ZONE } from "../../api.testing.ts";
import { streamDeliveryRoutes } from "./delivery.ts";
import { streamEncodingRoutes } from "./encoding.ts";
import { streamUsageRoutes } from "./usage.ts";
import { openVideos, testModel } from "./videos.testing.ts";
import { streamVideosRoutes } from "./videos.ts";

const LIST = `/accounts/${TEST_ACCOUNT}/stream`;

async function open(t: TestContext) {
  const world = await openVideos(t);
  const viewed = createViewedMinutes({ ...world, log: silentLog });
  const api = await startApi(t, {
    routes: [
      ...streamUsageRoutes({ ...world, viewed, storageMinutes: 0 }),
      ...streamVideosRoutes(world),
      ...streamEncodingRoutes(world),
      ...streamDeliveryRoutes(world),
    ],
  });
  return { ...world, viewed, call: api.call };
}

test("a new video has exactly the published fields", async (t) => {
  const { videos, call, clock } = await open(t);
  const { uid } = await videos.create(TEST_ACCOUNT, { creator: "ann", meta: { name: "One" }, maxDurationSeconds: 60 });
  const at = new Date(clock.now()).toISOString();
  const place = `https://customer-${customerCode(TEST_ACCOUNT)}.videos.example.com/${uid}`;
  const expected = {
    uid,
    creator: "ann",
    thumbnail: `${place}/thumbnails/thumbnail.jpg`,
    thumbnailTimestampPct: 0,
    readyToStream: false,
    readyToStreamAt: null,
    status: { state: "pendingupload", pctComplete: "0.000000", errorReasonCode: "", errorReasonText: "" },
    meta: { name: "One" },
    created: at,
    modified: at,
    scheduledDeletion: null,
    size: 0,
    preview: `${place}/watch`,
    allowedOrigins: [],
    requireSignedURLs: false,
    uploaded: null,
    uploadExpiry: null,
    maxSizeBytes: null,
    maxDurationSeconds: 60,
    duration: -1,
    input: { width: -1, height: -1 },
    playback: { hls: `${place}/manifest/video.m3u8`, dash: `${place}/manifest/video.mpd` },
    watermark: null,
    publicDetails: { title: null, share_link: null, channel_link: null, logo: null },
  };
  assert.deepEqual((await call("GET", `${LIST}/${uid}`)).body, {
    success: true,
    errors: [],
    messages: [],
    result: expected,
  });
  assert.deepEqual((await call("GET", LIST)).body.result, [expected]);
  await videos.uploaded(uid, { key: "k", size: 77 });
  await videos.modelled(uid, testModel(12.5));
  await videos.playable(uid);
  await videos.progress(uid, 39);
  const { result } = (await call("GET", `${LIST}/${uid}`)).body;
  assert.deepEqual(
    [result.status, result.readyToStream, result.readyToStreamAt, result.duration, result.input, result.size],
    [
      { state: "inprogress", step: "encoding", pctComplete: "39.000000", errorReasonCode: "", errorReasonText: "" },
      true,
      at,
      12.5,
      { width: 640, height: 360 },
      77,
    ],
  );
  await videos.failed(uid, "ERR_MALFORMED_VIDEO");
  assert.deepEqual((await call("GET", `${LIST}/${uid}`)).body.result.status, {
    state: "error",
    step: "encoding",
    pctComplete: "39.000000",
    errorReasonCode: "ERR_MALFORMED_VIDEO",
    errorReasonText: "The video was deemed to be corrupted or malformed.",
  });
});

test("returns the customer code and base URL that the video URLs of the account contain", async (t) => {
  const { call } = await open(t);
  const code = customerCode(TEST_ACCOUNT);
  assert.deepEqual((await call("GET", `${LIST}/delivery`)).body.result, {
    customerCode: code,
    deliveryDomain: "videos.example.com",
    baseUrl: `https://customer-${code}.videos.example.com`,
  });
});

test("the list accepts every filter in every form, and returns counts alongside the result", async (t) => {
  const { videos, call, clock } = await open(t);
  const uids: string[] = [];
  for (const name of ["First cut", "Second cut", "other"]) {
    uids.push(
      (
        await videos.create(
          TEST_ACCOUNT,
          { meta: { name }, creator: name === "other" ? "bob" : "ann" },
          name === "other" ? "downloading" : "pendingupload",
        )
      ).uid,
    );
    clock.advance(60_000);
  }
  const [first, second, third] = uids;
  const of = (minute: number) => new Date(Date.UTC(2026, 10, 21, 0, minute)).toISOString();
  const wanted: [Record<string, string | number>, (string | undefined)[]][] = [
    [{}, [third, second, first]],
    [{ asc: "true", limit: 2 }, [first, second]],
    [{ page: 2, per_page: 2 }, [first]],
    [{ page: 3, per_page: 2 }, []],
    [{ page: 2 }, []],
    [{ status: "ready,downloading" }, [third]],
    [{ status: "" }, [third, second, first]],
    [{ creator: "ann" }, [second, first]],
    [{ search: "CUT" }, [second, first]],
    [{ video_name: "other" }, [third]],
    [{ name: `other, ${first}` }, [third, first]],
    [{ id: `${first},${third}` }, [third, first]],
    [{ type: "live" }, []],
    [{ live_input_id: "f".repeat(32) }, []],
    [{ start: of(1) }, [third, second]],
    [{ after: of(1), end: of(2) }, [second]],
    [{ before: of(1) }, [first]],
    [{ start: "2026-11-21T01:01:00+01:00" }, [third, second]],
    [{ start: "2026-11-22" }, []],
  ];
  for (const [query, expected] of wanted)
    assert.deepEqual(
      (await call("GET", LIST, { query })).body.result.map(({ uid }: { uid: string }) => uid),
      expected,
      JSON.stringify(query),
    );
  const { result, range, total, success } = (
    await call("GET", LIST, { query: { include_counts: "true", limit: 1, before: of(2) } })
  ).body;
  assert.deepEqual([result.length, range, total, success], [1, 2, 3, true]);
  const wrong: Record<string, string>[] = [
    { status: "gone" },
    { limit: "0" },
    { limit: "1001" },
    { start: "yesterday" },
    { asc: "maybe" },
  ];
  for (const query of wrong) {
    const { status, body } = await call("GET", LIST, { query });
    assert.deepEqual([status, body.errors[0].code], [400, 10005], JSON.stringify(query));
  }
});

test("edits a video, rejects invalid edits, returns the embed code, and deletes the video", async (t) => {
  const { videos, call } = await open(t);
  const { uid } = await videos.create(TEST_ACCOUNT, { creator: "ann" });
  const ONE = `${LIST}/${uid}`;
  const edited = await call("POST", ONE, {
    body: {
      uid,
      meta: { name: "x", count: 3, flag: true, none: null, more: { a: 1 } },
      scheduledDeletion: "2027-01-01T00:00:00Z",
      publicDetails: { title: "T" },
      allowedOrigins: ["example.com"],
      requireSignedURLs: true,
      thumbnailTimestampPct: 0.5,
      creator: null,
    },
  });
  const { meta, scheduledDeletion, publicDetails, allowedOrigins, creator } = edited.body.result;
  assert.deepEqual(
    [meta, scheduledDeletion, publicDetails.title, allowedOrigins, creator],
    [
      { name: "x", count: 3, flag: true, none: null, more: { a: 1 } },
      "2027-01-01T00:00:00.000Z",
      "T",
      ["example.com"],
      null,
    ],
  );
  // Null means omitted, except for allowedOrigins and times, which it clears.
  const kept = await call("POST", ONE, {
    body: {
      uid: null,
      meta: null,
      requireSignedURLs: null,
      thumbnailTimestampPct: null,
      publicDetails: null,
      allowedOrigins: null,
      maxDurationSeconds: null,
    },
  });
  assert.deepEqual(kept.body.result, {
    ...edited.body.result,
    allowedOrigins: [],
    modified: kept.body.result.modified,
  });
  assert.equal((await call("POST", ONE, { body: { scheduledDeletion: null } })).body.result.scheduledDeletion, null);
  for (const [body, text] of [
    [{ uid: "f".repeat(32) }, /^Bad Request: uid is/],
    [{ scheduledDeletion: "2026-11-22T00:00:00Z" }, /30 to 1096 days/],
    [{ meta: "x" }, /meta/],
    [{ thumbnailTimestampPct: 2 }, /from 0 to 1, not 2/],
  ] as const) {
    const refused = await call("POST", ONE, { body });
    assert.deepEqual([refused.status, refused.body.errors[0].code], [400, 10005]);
    assert.match(refused.body.errors[0].message, text);
  }
  const embed = await call("GET", `${ONE}/embed`);
  assert.match(
    embed.text,
    new RegExp(`<iframe src="https://customer-\\w{16}\\.videos\\.example\\.com/${uid}/iframe" `),
  );
  assert.equal(embed.headers.get("content-type"), "text/html; charset=utf-8");
  const gone = await call("DELETE", ONE);
  assert.deepEqual([gone.status, gone.text], [200, ""]);
  for (const [method, path] of [
    ["GET", ONE],
    ["DELETE", ONE],
    ["GET", `${ONE}/embed`],
    ["GET", `${LIST}/nonsense`],
  ] as const) {
    const missing = await call(method, path);
    assert.deepEqual(
      [missing.status, missing.body.errors[0].code, missing.body.errors[0].message],
      [404, 10003, "Not Found"],
    );
  }
});

test("returns the storage usage of an account and of a creator", async (t) => {
  const { videos, call } = await open(t);
  const { uid } = await videos.create(TEST_ACCOUNT, { creator: "ann", maxDurationSeconds: 60 });
  await videos.create(TEST_ACCOUNT, { maxDurationSeconds: 120 });
  await videos.uploaded(uid, { key: "k", size: 1 });
  await videos.modelled(uid, testModel(30));
  assert.deepEqual((await call("GET", `${LIST}/storage-usage`)).body.result, {
    totalStorageMinutes: 0.5,
    totalStorageMinutesLimit: 1_000_000_000,
    videoCount: 2,
    x_reservedStorageMinutes: 2,
  });
  assert.deepEqual((await call("GET", `${LIST}/storage-usage`, { query: { creator: "ann" } })).body.result, {
    creator: "ann",
    totalStorageMinutes: 0.5,
    totalStorageMinutesLimit: 1_000_000_000,
    videoCount: 1,
    x_reservedStorageMinutes: 0,
  });
});

test("returns the minutes viewed by hour", async (t) => {
  const { viewed, call, clock } = await open(t);
  viewed.record(TEST_ACCOUNT, 90);
  viewed.record("f".repeat(32), 600);
  clock.advance(3_600_000);
  viewed.record(TEST_ACCOUNT, 240);
  await viewed.flush();
  const at = (hour: number) => Date.UTC(2026, 10, 21, hour) / 1000;
  const path = `/accounts/${TEST_ACCOUNT}/stream/usage`;
  assert.deepEqual((await call("GET", path)).body.result.slice(-3), [
    { streamMinutesViewed: 0, ts: at(-1) },
    { streamMinutesViewed: 2, ts: at(0) },
    { streamMinutesViewed: 4, ts: at(1) },
  ]);
  assert.deepEqual(
    (await call("GET", path, { query: { since: "2026-11-21T00:30:00Z", limit: 1, metrics: "streamMinutesViewed" } }))
      .body.result,
    [{ streamMinutesViewed: 2, ts: at(0) }],
  );
  assert.deepEqual((await call("GET", path, { query: { time_delta: "day" } })).body.result.at(-1), {
    streamMinutesViewed: 6,
    ts: at(0),
  });
  assert.deepEqual((await call("GET", `/zones/${TEST_ZONE}/stream/usage`)).body.result, []);
  assert.equal((await call("GET", path, { query: { time_delta: "minute" } })).status, 400);
});

test("shows source, renditions and log of the encoding of a video", async (t) => {
  const { videos, call } = await open(t);
  const { uid } = await videos.create(TEST_ACCOUNT, { creator: null, meta: { name: "One" }, maxDurationSeconds: 60 });
  const encoding = async () => (await call("get", `${LIST}/${uid}/encoding`)).body.result;
  const before = await encoding();
  assert.deepEqual(
    [
      before.state,
      before.source,
      before.renditions,
      before.secondsLeft,
      before.log.map(({ event }: { event: string }) => event),
    ],
    ["pendingupload", null, [], null, ["created"]],
  );
  await videos.uploaded(uid, { key: "k", size: 77 });
  await videos.modelled(uid, testModel(10));
  await videos.playable(uid);
  const after = await encoding();
  assert.deepEqual(
    [after.source.video.codec, after.source.size, after.source.audio, after.segments.count],
    ["h264", 77, null, 3],
  );
  assert.deepEqual(
    after.renditions.map(({ name, width }: { name: string; width: number }) => [name, width]),
    [["360p", 640]],
  );
  assert.deepEqual(after.log.map(({ event }: { event: string }) => event).slice(0, 4), [
    "created",
    "uploaded",
    "probed",
    "playable",
  ]);
  assert.equal((await call("get", `${LIST}/${"0".repeat(32)}/encoding`)).status, 404);
});
