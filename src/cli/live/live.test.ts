import assert from "node:assert/strict";
import { test } from "node:test";
import { ACCOUNT, folderWith, runCli, startFakeApi, type FakeApi } from "../cli.testing.ts";
import { withoutCredentials } from "./output.ts";

const UID = "0123456789abcdef".repeat(2);
const OUTPUT = "fedcba9876543210".repeat(2);
const LIST = `/accounts/${ACCOUNT}/stream/live_inputs`;
const ONE = `${LIST}/${UID}`;

const listed = {
  uid: UID,
  created: "2026-11-21T10:00:00.000Z",
  modified: "2026-11-21T10:00:00.000Z",
  meta: { name: "a\u001b[31mb", other: "kept" },
  enabled: true,
};
const input = {
  ...listed,
  status: null,
  preferLowLatency: false,
  recording: {
    mode: "automatic",
    timeoutSeconds: 30,
    requireSignedURLs: true,
    allowedOrigins: [],
    hideLiveViewerCount: false,
  },
  deleteRecordingAfterDays: 45,
  rtmps: { url: "rtmps://live.example.com:443/live/", streamKey: "pub" },
  rtmpsPlayback: { url: "rtmps://live.example.com:443/live/", streamKey: "play" },
  srt: { url: "srt://live.example.com:8890", streamId: UID, passphrase: "pub" },
  srtPlayback: { url: "srt://live.example.com:8890", streamId: `play${UID}`, passphrase: "play" },
  webRTC: { url: "https://x/pub/webRTC/publish" },
  webRTCPlayback: { url: `https://x/${UID}/webRTC/play` },
  playback: { hls: `https://x/${UID}/manifest/video.m3u8`, dash: `https://x/${UID}/manifest/video.mpd` },
};
const output = {
  uid: OUTPUT,
  url: "srt://user:secret@there.example.com:9000?passphrase=secret",
  streamKey: "secret",
  enabled: true,
  status: { state: "error", reason: "refused", at: "2026-11-21T10:00:00.000Z" },
};

async function open(t: Parameters<typeof folderWith>[0]) {
  const api = await startFakeApi(t, {
    [`GET ${LIST}`]: { result: { liveInputs: [listed], range: 5, total: 5 } },
    [`POST ${LIST}`]: { result: input },
    [`GET ${ONE}`]: { result: input },
    [`PUT ${ONE}`]: { result: input },
    [`DELETE ${ONE}`]: { result: {} },
    [`POST ${ONE}/enable`]: { result: input },
    [`POST ${ONE}/disable`]: { result: { ...input, enabled: false } },
    [`POST ${ONE}/rotate_keys`]: { result: input },
    [`GET ${ONE}/outputs`]: { result: [output] },
    [`POST ${ONE}/outputs`]: { result: output },
    [`PUT ${ONE}/outputs/${OUTPUT}`]: { result: output },
    [`DELETE ${ONE}/outputs/${OUTPUT}`]: { result: {} },
    [`GET ${ONE}/status`]: {
      result: {
        state: "connected",
        since: "2026-11-21T10:00:00.000Z",
        live: true,
        videoUID: OUTPUT,
        viewers: 3,
        outputs: [{ uid: OUTPUT, enabled: true, status: output.status }],
        health: {
          videoBitrate: 2_000_000,
          audioBitrate: 128_000,
          frameRate: 25,
          keyFrameInterval: 2,
          longestKeyFrameInterval: 11,
          dropped: 0,
          lost: 1,
          bFrames: true,
          problems: ["ERR_GOP_OUT_OF_RANGE"],
          notes: ["only the source is offered"],
        },
      },
    },
    [`GET ${ONE}/history`]: {
      result: [
        {
          n: 2,
          at: "2026-11-21T10:00:01.000Z",
          state: null,
          error: { code: "ERR_GOP_OUT_OF_RANGE", message: "11 s", videoCodec: "", audioCodec: "" },
          protocol: null,
          session: null,
          reason: null,
        },
        {
          n: 1,
          at: "2026-11-21T10:00:00.000Z",
          state: "connected",
          error: null,
          protocol: "rtmps",
          session: UID,
          reason: null,
        },
      ],
    },
  });
  const folder = await folderWith(t);
  return {
    api,
    run: (args: string[], more: Partial<Parameters<typeof runCli>[1]> = {}) =>
      runCli(["live", ...args], { cwd: folder, api, ...more }),
  };
}

const bodyOf = (api: FakeApi, call: string) => api.bodies(call).at(-1);

test("shows an input with its publishing and playback URLs in the form that ffmpeg and OBS expect", async (t) => {
  const { run } = await open(t);
  const { code, stdout } = await run(["show", UID.toUpperCase()]);
  assert.equal(code, 0);
  for (const line of [
    /^name +a\\x1b\[31mb$/m,
    /^state +never published to$/m,
    /^recording +yes, a gap of 30 s starts a new video, deleted after 45 days$/m,
    /^access +token required$/m,
    /^rtmps +rtmps:\/\/live\.example\.com:443\/live\/ key pub$/m,
    new RegExp(`^srt +srt://live\\.example\\.com:8890\\?streamid=${UID}&passphrase=pub$`, "m"),
    /^whip +https:\/\/x\/pub\/webRTC\/publish$/m,
    new RegExp(`^watch +https://x/${UID}/watch$`, "m"),
    new RegExp(`^play srt +srt://live\\.example\\.com:8890\\?streamid=play${UID}&passphrase=play$`, "m"),
  ])
    assert.match(stdout, line);
  assert.doesNotMatch(stdout, /^rtmp /m);
  assert.deepEqual((await run(["show", UID, "--json"])).json, input);
});

test("lists inputs and indicates if there are more", async (t) => {
  const { api, run } = await open(t);
  const { stdout, stderr } = await run(["list", "--limit", "1"]);
  assert.match(stdout, new RegExp(`^${UID} +a\\\\x1b\\[31mb +yes +2026-11-21 10:00:00 UTC`, "m"));
  assert.equal(stderr, "1 of 5 live inputs: use --limit to show more\n");
  assert.match(api.seen[0]!.path, /per_page=1&include_counts=true/);
});

test("sends options as API fields, and does not send omitted options", async (t) => {
  const { api, run } = await open(t);
  await run(["create"]);
  assert.deepEqual(bodyOf(api, `POST ${LIST}`), {});
  await run([
    "create",
    "--name",
    "Stage",
    "--creator",
    "ann",
    "--recording",
    "automatic",
    "--gap",
    "0",
    "--low-latency",
    "on",
    "--tokens",
    "off",
    "--allowed-origin",
    "a.example",
    "--allowed-origin",
    "b.example",
    "--viewer-count",
    "hidden",
    "--delete-after",
    "45",
    "--disabled",
    "--idempotency-key",
    "abc",
  ]);
  assert.deepEqual(bodyOf(api, `POST ${LIST}`), {
    meta: { name: "Stage" },
    defaultCreator: "ann",
    preferLowLatency: true,
    deleteRecordingAfterDays: 45,
    enabled: false,
    recording: {
      mode: "automatic",
      timeoutSeconds: 0,
      requireSignedURLs: false,
      allowedOrigins: ["a.example", "b.example"],
      hideLiveViewerCount: true,
    },
  });
  assert.equal(api.seen.at(-1)!.headers["idempotency-key"], "abc");
  await run(["update", UID, "--delete-after", "never", "--allowed-origin", "*"]);
  assert.deepEqual(bodyOf(api, `PUT ${ONE}`), { deleteRecordingAfterDays: null, recording: { allowedOrigins: [] } });
  await run(["update", UID, "--name", "New"]);
  assert.deepEqual(bodyOf(api, `PUT ${ONE}`), { meta: { name: "New", other: "kept" } });
  const before = api.seen.length;
  assert.match((await run(["update", UID])).stderr, /Nothing to change/);
  assert.match((await run(["update", UID, "--delete-after", "soon"])).stderr, /Invalid number of days: "soon"/);
  assert.match((await run(["show", "stage"])).stderr, /"stage" is not a live input id/);
  assert.equal(api.seen.length, before);
});

test("commands that interrupt publishers or viewers require confirmation", async (t) => {
  const { api, run } = await open(t);
  for (const args of [
    ["delete", UID],
    ["rotate-keys", UID],
    ["outputs", "delete", UID, OUTPUT],
  ]) {
    assert.equal((await run(args)).code, 1);
    assert.equal((await run(args, { typed: ["n\n"] })).code, 1);
    assert.equal((await run([...args, "--yes"])).code, 0);
  }
  assert.deepEqual(api.calls(), [`DELETE ${ONE}`, `POST ${ONE}/rotate_keys`, `DELETE ${ONE}/outputs/${OUTPUT}`]);
  assert.equal((await run(["disable", UID])).stdout, `Disabled ${UID}\n`);
  assert.equal((await run(["enable", UID])).stdout, `Enabled ${UID}\n`);
});

test("shows outputs without their secrets, and reads the key of an output from the environment", async (t) => {
  const { api, run } = await open(t);
  const { stdout } = await run(["outputs", "list", UID]);
  assert.match(
    stdout,
    new RegExp(`^${OUTPUT} +srt://there\\.example\\.com:9000\\?… +yes +error +2026-11-21 10:00:00 UTC +refused`, "m"),
  );
  assert.ok(!stdout.includes("secret"));
  await run(["outputs", "create", UID, "rtmps://there.example.com/app"], { env: { STREAM_KEY: "sesame" } });
  assert.deepEqual(bodyOf(api, `POST ${ONE}/outputs`), {
    url: "rtmps://there.example.com/app",
    streamKey: "sesame",
    enabled: true,
  });
  await run(["outputs", "disable", UID, OUTPUT]);
  assert.deepEqual(bodyOf(api, `PUT ${ONE}/outputs/${OUTPUT}`), { enabled: false });
  assert.match((await run(["outputs", "enable", UID, "all"])).stderr, /"all" is not an output id/);
  assert.equal(withoutCredentials("rtmp://a.example/x"), "rtmp://a.example/x");
});

test("describes the current state and earlier broadcasts", async (t) => {
  const { run } = await open(t);
  const { stdout } = await run(["status", UID]);
  for (const line of [
    /^state +connected, since 2026-11-21 10:00:00 UTC$/m,
    /^viewers +3$/m,
    /^ingest +2000 kbit\/s of video, 128 kbit\/s of audio, 25 fps$/m,
    /^key frames +every 2 s, at most 11 s$/m,
    /^packets +1 packet lost in transit, 0 dropped by the server$/m,
    /^b-frames +yes/m,
    /^problems +ERR_GOP_OUT_OF_RANGE$/m,
    /^note +only the source is offered$/m,
    new RegExp(`^output +${OUTPUT} error: refused$`, "m"),
  ])
    assert.match(stdout, line);
  assert.match(
    (await run(["history", UID])).stdout,
    /^2026-11-21 10:00:01 UTC +ERR_GOP_OUT_OF_RANGE +11 s\n2026-11-21 10:00:00 UTC +connected +rtmps +01234567$/m,
  );
});
