import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { randomIds, silentLog } from "../../../kernel/index.ts";
import { createSecrets } from "../../../store/index.ts";
import { customerCode, type LiveHealth } from "../../../stream/index.ts";
import { createLiveInputs } from "../../../stream/live/index.ts";
import { startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { streamLiveInputsRoutes } from "./live-inputs.ts";
import { streamLiveOutputsRoutes } from "./live-outputs.ts";
import { openVideos } from "./videos.testing.ts";

const LIST = `/accounts/${TEST_ACCOUNT}/stream/live_inputs`;
const KEY = /^[0-9a-f]{32}k[0-9a-f]{32}$/;
const HEALTH: LiveHealth = {
  videoBitrate: 1,
  audioBitrate: 2,
  frameRate: 25,
  keyFrameInterval: 2,
  longestKeyFrameInterval: 2,
  dropped: 0,
  lost: 0,
  bFrames: false,
  problems: [],
  notes: ["only the source is offered"],
};

async function open(t: TestContext) {
  const world = await openVideos(t);
  const available = createLiveInputs({
    ...world,
    secrets: createSecrets({ keys: [Buffer.alloc(32, 7)] }),
    ids: randomIds,
    log: silentLog,
    catalog: world.videos,
    guard: world.videos.live.setAccessRules,
    settings: { min_deletion_days: 30, allow_private: false },
  });
  t.after(async () => available.close());
  const {
    inputs,
    outputs,
    broadcasts: { now },
  } = available;
  const endpoints = () => ({ host: "live.example.com", rtmpPort: 1935, rtmpsPort: 443, srtPort: 8890 });
  const connected: { health: LiveHealth | undefined } = { health: HEALTH };
  const disconnected: string[] = [];
  const routes = [
    ...streamLiveInputsRoutes({
      inputs,
      outputs,
      videos: world.videos,
      urls: world.urls,
      endpoints,
      now,
      viewers: async () => 3,
      health: () => connected.health,
      clock: world.clock,
      samples: async (_input, since) => [
        {
          at: since,
          videoBitrate: 1,
          audioBitrate: 2,
          frameRate: 25,
          keyFrameInterval: 2,
          dropped: 0,
          lost: 0,
          viewers: 3,
        },
      ],
      disconnect: (input) => void disconnected.push(input),
    }),
    ...streamLiveOutputsRoutes({ outputs }),
  ];
  return { ...world, ...available, connected, disconnected, ...(await startApi(t, { routes })) };
}

test("a live input is created with defaults, shown with its keys and URLs, and listed without them", async (t) => {
  const { call, clock } = await open(t);
  const {
    status,
    body: { result },
  } = await call("POST", LIST, { body: { meta: { name: "test stream", n: 1 } } });
  assert.equal(status, 200);
  const at = new Date(clock.now()).toISOString();
  const {
    uid,
    rtmps: { streamKey },
    rtmpsPlayback: { streamKey: playbackKey },
  } = result;
  const origin = `https://customer-${customerCode(TEST_ACCOUNT)}.videos.example.com`;
  for (const key of [streamKey, playbackKey]) assert.match(key, KEY);
  const listed = { uid, created: at, modified: at, meta: { name: "test stream", n: 1 }, enabled: true };
  assert.deepEqual(result, {
    ...listed,
    rtmps: { url: "rtmps://live.example.com:443/live/", streamKey },
    rtmpsPlayback: { url: "rtmps://live.example.com:443/live/", streamKey: playbackKey },
    rtmp: { url: "rtmp://live.example.com:1935/live/", streamKey },
    rtmpPlayback: { url: "rtmp://live.example.com:1935/live/", streamKey: playbackKey },
    srt: { url: "srt://live.example.com:8890", streamId: uid, passphrase: streamKey },
    srtPlayback: { url: "srt://live.example.com:8890", streamId: `play${uid}`, passphrase: playbackKey },
    webRTC: { url: `${origin}/${streamKey}/webRTC/publish` },
    webRTCPlayback: { url: `${origin}/${uid}/webRTC/play` },
    playback: { hls: `${origin}/${uid}/manifest/video.m3u8`, dash: `${origin}/${uid}/manifest/video.mpd` },
    status: null,
    preferLowLatency: false,
    recording: {
      mode: "off",
      timeoutSeconds: 0,
      requireSignedURLs: false,
      allowedOrigins: [],
      hideLiveViewerCount: false,
    },
  });
  assert.deepEqual((await call("GET", `${LIST}/${uid}`)).body.result, result);
  const { body, text } = await call("GET", LIST);
  assert.deepEqual(body.result, { liveInputs: [listed] });
  assert.ok(!text.includes(streamKey) && !text.includes(playbackKey));
  clock.advance(1000);
  const second = (await call("POST", LIST)).body.result.uid;
  assert.deepEqual((await call("GET", LIST, { query: { include_counts: "true" } })).body.result, {
    liveInputs: [
      {
        ...listed,
        uid: second,
        meta: {},
        created: new Date(clock.now()).toISOString(),
        modified: new Date(clock.now()).toISOString(),
      },
      listed,
    ],
    range: 2,
    total: 2,
  });
  assert.deepEqual((await call("GET", LIST, { query: { include_counts: "true", page: 2, per_page: 1 } })).body.result, {
    liveInputs: [listed],
    range: 1,
    total: 2,
  });
});

test("stores the given fields, and a partial update keeps the others", async (t) => {
  const { call, clock } = await open(t);
  const recording = {
    mode: "automatic",
    timeoutSeconds: 30,
    requireSignedURLs: true,
    allowedOrigins: ["example.com", "*.example.org"],
    hideLiveViewerCount: true,
  };
  const {
    body: { result },
  } = await call("POST", LIST, {
    body: {
      meta: { name: "a" },
      enabled: false,
      preferLowLatency: true,
      defaultCreator: "ann",
      deleteRecordingAfterDays: 45,
      recording,
    },
  });
  assert.partialDeepStrictEqual(result, {
    enabled: false,
    preferLowLatency: true,
    defaultCreator: "ann",
    deleteRecordingAfterDays: 45,
    recording,
  });
  const ONE = `${LIST}/${result.uid}`;
  clock.advance(1000);
  const modified = new Date(clock.now()).toISOString();
  const enabled = (await call("PUT", ONE, { body: { enabled: true } })).body.result;
  assert.deepEqual(enabled, { ...result, enabled: true, modified });
  const partly = (
    await call("PUT", ONE, {
      body: {
        recording: { mode: "off", allowedOrigins: null, timeoutSeconds: null },
        deleteRecordingAfterDays: null,
        defaultCreator: null,
        meta: null,
      },
    })
  ).body.result;
  const { deleteRecordingAfterDays: _days, defaultCreator: _creator, ...rest } = enabled;
  assert.deepEqual(partly, { ...rest, recording: { ...recording, mode: "off", allowedOrigins: [] } });
  assert.deepEqual((await call("POST", `${ONE}/disable`)).body.result, { ...partly, enabled: false });
  assert.deepEqual((await call("POST", `${ONE}/enable`, { body: {} })).body.result, partly);
  for (const [field, value] of [
    ["deleteRecordingAfterDays", 29],
    ["deleteRecordingAfterDays", "45"],
    ["enabled", "yes"],
    ["recording", { mode: "always" }],
    ["recording", { timeoutSeconds: 1.5 }],
    ["recording", []],
    ["meta", "x"],
    ["recording", { allowedOrigins: ["https://a/b"] }],
  ] as const) {
    const refused = await call("PUT", ONE, { body: { [field]: value } });
    assert.deepEqual([refused.status, refused.body.errors[0].code], [400, 10005], `${field} ${JSON.stringify(value)}`);
    assert.ok(
      refused.body.errors[0].message.includes(
        field === "recording" && "mode" in value ? "mode" : field === "recording" ? "" : field,
      ),
      refused.body.errors[0].message,
    );
  }
});

test("an Idempotency-Key creates only one input, and reports a permanent conflict after the input has been deleted", async (t) => {
  const { call } = await open(t);
  const headers = { "idempotency-key": "abc" };
  const { uid } = (await call("POST", LIST, { body: {}, headers })).body.result;
  assert.equal((await call("POST", LIST, { body: { meta: { name: "else" } }, headers })).body.result.uid, uid);
  assert.deepEqual((await call("DELETE", `${LIST}/${uid}`)).body, {
    success: true,
    errors: [],
    messages: [],
    result: {},
  });
  const refused = await call("POST", LIST, { body: {}, headers });
  assert.deepEqual([refused.status, refused.headers.get("x-should-retry")], [409, "false"]);
  assert.equal(
    (await call("POST", LIST, { body: {}, headers: { "idempotency-key": "x".repeat(256) } })).body.errors[0].code,
    10005,
  );
});

test("rotated keys differ, and the time of rotation is returned", async (t) => {
  const { call, clock, directory } = await open(t);
  const before = (await call("POST", LIST, { body: {} })).body.result;
  clock.advance(1000);
  const after = (await call("POST", `${LIST}/${before.uid}/rotate_keys`)).body.result;
  assert.equal(after.keysRotatedAt, new Date(clock.now()).toISOString());
  assert.deepEqual(
    [after.uid, after.srt.streamId, after.webRTCPlayback],
    [before.uid, before.srt.streamId, before.webRTCPlayback],
  );
  for (const way of ["rtmps", "rtmpsPlayback"]) {
    assert.match(after[way].streamKey, KEY);
    assert.notEqual(after[way].streamKey, before[way].streamKey);
  }
  assert.equal(await directory.byPublishKey(before.rtmps.streamKey), undefined);
  assert.equal((await directory.byPublishKey(after.srt.passphrase))?.uid, before.uid);
});

test("outputs are added, enabled, listed and deleted", async (t) => {
  const { call, outputs } = await open(t);
  const OUTPUTS = `${LIST}/${(await call("POST", LIST, { body: {} })).body.result.uid}/outputs`;
  const made = (
    await call("POST", OUTPUTS, { body: { url: "rtmp://a.rtmp.example.com/live2", streamKey: "uzya-f19y" } })
  ).body.result;
  assert.deepEqual(made, {
    uid: made.uid,
    url: "rtmp://a.rtmp.example.com/live2",
    streamKey: "uzya-f19y",
    enabled: true,
    status: null,
  });
  await outputs.recordStatus(made.uid, { state: "connected" });
  const status = { state: "connected", at: "2026-11-21T00:00:00.000Z" };
  assert.deepEqual((await call("PUT", `${OUTPUTS}/${made.uid}`, { body: { enabled: false } })).body.result, {
    ...made,
    enabled: false,
    status,
  });
  assert.deepEqual((await call("GET", OUTPUTS)).body.result, [{ ...made, enabled: false, status }]);
  for (const body of [{}, { enabled: "no" }])
    assert.equal((await call("PUT", `${OUTPUTS}/${made.uid}`, { body })).body.errors[0].code, 10005);
  for (const body of [
    {},
    { url: "rtmp://a.example.com/x" },
    { url: "http://a.example.com/", streamKey: "x" },
    { url: "rtmp://192.168.0.1/x", streamKey: "x" },
  ])
    assert.equal((await call("POST", OUTPUTS, { body })).body.errors[0].code, 10005);
  assert.deepEqual((await call("DELETE", `${OUTPUTS}/${made.uid}`)).body.result, {});
  for (const [method, body] of [
    ["DELETE", undefined],
    ["PUT", { enabled: true }],
  ] as const) {
    const missing = await call(method, `${OUTPUTS}/${made.uid}`, { body });
    assert.deepEqual(
      [missing.status, missing.body.errors[0].code, missing.body.errors[0].message],
      [404, 10003, "Not Found"],
    );
  }
});

test("returns the current status, the history and the recordings of an input", async (t) => {
  const { call, status, outputs, clock } = await open(t);
  const { uid } = (await call("POST", LIST, { body: {} })).body.result;
  const ONE = `${LIST}/${uid}`;
  const idle = (await call("GET", `${ONE}/status`)).body.result;
  assert.deepEqual(idle, {
    state: null,
    since: null,
    live: false,
    videoUID: null,
    viewers: 3,
    health: HEALTH,
    outputs: [],
  });
  await status.recordState(uid, "connected", { protocol: "srt", session: "s" });
  await status.recordError(uid, "ERR_GOP_OUT_OF_RANGE", { message: "11 s", session: "s" });
  const output = await outputs.create(TEST_ACCOUNT, uid, {
    url: "rtmp://example.com/x",
    streamKey: "sesame",
    enabled: true,
  });
  clock.advance(1000);
  const busy = await call("GET", `${ONE}/status`);
  const at = new Date(clock.now() - 1000).toISOString();
  assert.deepEqual(busy.body.result, {
    ...idle,
    state: "connected",
    since: at,
    live: true,
    outputs: [{ uid: output.uid, enabled: true, status: null }],
  });
  assert.ok(!busy.text.includes("sesame"));
  assert.equal((await call("GET", ONE)).body.result.status, "connected");
  const {
    body: { result, result_info },
  } = await call("GET", `${ONE}/history`);
  assert.deepEqual(result, [
    {
      n: 2,
      at,
      state: null,
      error: { code: "ERR_GOP_OUT_OF_RANGE", message: "11 s", videoCodec: "", audioCodec: "" },
      protocol: null,
      session: "s",
      reason: null,
    },
    { n: 1, at, state: "connected", error: null, protocol: "srt", session: "s", reason: null },
  ]);
  assert.deepEqual(
    [
      result_info.total_count,
      (await call("GET", `${ONE}/history`, { query: { page: 2, per_page: 1 } })).body.result[0].n,
    ],
    [2, 1],
  );
  assert.deepEqual((await call("GET", `${ONE}/videos`)).body.result, []);
});

test("returns the published error code for an unknown input", async (t) => {
  const { call } = await open(t);
  for (const uid of ["f".repeat(32), "nonsense"]) {
    for (const [method, rest] of [
      ["GET", ""],
      ["PUT", ""],
      ["DELETE", ""],
      ["POST", "/enable"],
      ["POST", "/disable"],
      ["POST", "/rotate_keys"],
      ["GET", "/outputs"],
      ["GET", "/videos"],
      ["GET", "/status"],
      ["GET", "/history"],
      ["PUT", "/outputs/x"],
    ] as const) {
      const missing = await call(method, `${LIST}/${uid}${rest}`, method === "PUT" ? { body: { enabled: true } } : {});
      assert.deepEqual(
        [missing.status, missing.body.errors[0].code, missing.body.errors[0].message],
        [404, 10003, "Not Found"],
        `${method} ${rest}`,
      );
    }
  }
});

test("shows measurements of a broadcast, and explains warnings", async (t) => {
  const { call, connected, clock } = await open(t);
  const { uid } = (await call("post", LIST)).body.result;
  const metrics = async (query = {}) => (await call("get", `${LIST}/${uid}/metrics`, { query })).body.result;
  const { samples, warnings } = await metrics({ minutes: 5 });
  assert.deepEqual([samples[0].at, samples[0].viewers], [new Date(clock.now() - 300_000).toISOString(), 3]);
  assert.deepEqual(warnings, ["only the source is offered"]);
  connected.health = { ...HEALTH, lost: 7, bFrames: true, problems: ["ERR_GOP_OUT_OF_RANGE"], notes: [] };
  assert.deepEqual(
    (await metrics()).warnings.map((warning: string) => warning.split(" ").slice(0, 3).join(" ")),
    ["Key frames are", "The network lost", "The video has"],
  );
  assert.equal((await call("get", `${LIST}/${uid}/metrics`, { query: { minutes: 61 } })).status, 400);
  assert.equal((await call("get", `${LIST}/${"0".repeat(32)}/metrics`)).status, 404);
});

test("disconnects the publisher of an input", async (t) => {
  const { call, connected, disconnected } = await open(t);
  const { uid } = (await call("post", LIST)).body.result;
  assert.equal((await call("post", `${LIST}/${uid}/disconnect`)).status, 200);
  connected.health = undefined;
  assert.deepEqual((await call("post", `${LIST}/${uid}/disconnect`)).body.errors[0].code, 10994);
  assert.equal((await call("post", `${LIST}/${"0".repeat(32)}/disconnect`)).status, 404);
  assert.deepEqual(disconnected, [uid]);
});
