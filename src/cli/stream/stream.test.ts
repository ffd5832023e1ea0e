import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionErrors } from "../api/errors.ts";
import { ACCOUNT, folderWith, runCli, startFakeApi } from "../cli.testing.ts";
import { parseAccessRule } from "./access-rules.ts";
import { poll } from "./poll.ts";
import { parseRenditions } from "./renditions.ts";
import { lengthText, videoPath } from "./video.ts";

const UID = "0123456789abcdef".repeat(2);

test("the renditions are read from a multivariant playlist, in any order of attributes", () => {
  const playlist = [
    "#EXTM3U",
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x",URI="audio.m3u8"',
    '#EXT-X-STREAM-INF:CODECS="avc1.64001f,mp4a.40.2",BANDWIDTH=900000,AVERAGE-BANDWIDTH=800000,RESOLUTION=640x360,FRAME-RATE=29.970,AUDIO="a"',
    "360p.m3u8",
    "#EXT-X-STREAM-INF:BANDWIDTH=128000",
    "https://example.com/x/audio.m3u8?a=b",
    "",
  ].join("\r\n");
  assert.deepEqual(parseRenditions(playlist), [
    {
      name: "360p",
      width: 640,
      height: 360,
      framesPerSecond: 29.97,
      bandwidth: 800_000,
      codecs: "avc1.64001f,mp4a.40.2",
    },
    { name: "audio", width: null, height: null, framesPerSecond: null, bandwidth: 128_000, codecs: null },
  ]);
  assert.equal(parseRenditions("<html>"), undefined);
});

test("parses access rules and rejects invalid ones", () => {
  assert.deepEqual(parseAccessRule("allow:country:de, AT"), {
    action: "allow",
    type: "ip.geoip.country",
    country: ["DE", "AT"],
  });
  assert.deepEqual(parseAccessRule("block:ip:192.0.2.0/24,2001:db8::/32"), {
    action: "block",
    type: "ip.src",
    ip: ["192.0.2.0/24", "2001:db8::/32"],
  });
  assert.deepEqual(parseAccessRule("block:any"), { action: "block", type: "any" });
  for (const text of [
    "",
    "any",
    "allow",
    "allow:any:x",
    "allow:ip",
    "deny:any",
    "allow:ip:",
    "allow:country:DE,,AT",
    "allow:city:Graz",
  ])
    assert.throws(() => parseAccessRule(text), { code: "E_BAD_CONTENT" }, text);
});

test("accepts only a video id where one is required", () => {
  assert.equal(videoPath({ base: "/accounts/1" }, UID.toUpperCase()), `/accounts/1/stream/${UID}`);
  for (const id of ["", "webhook", "keys", "..", `${UID}/captions`, `${UID}0`])
    assert.throws(() => videoPath({ base: "/accounts/1" }, id), { code: "E_NO_VIDEO_ID" }, id);
});

test("formats durations", () => {
  assert.deepEqual(
    [-1, 7.52, 60, 125.4, 3609].map((duration) => lengthText({ duration })),
    ["", "7.5 s", "1:00", "2:05", "1:00:09"],
  );
});

test("polling ends with the expected value, after a timeout, or on an error other than a failed connection", async () => {
  const lost = () => Promise.reject(connectionErrors.unreachable({ url: "x", origin: "x", reason: "no" }));
  const answers = [() => Promise.resolve(1), lost, () => Promise.resolve(2)];
  const seen: number[] = [];
  const options = {
    until: (number: number): boolean => number === 2,
    changes: String,
    onSeen: (number: number) => void seen.push(number),
    createStalledError: () => new Error("stuck"),
  };
  assert.equal(await poll(() => answers.shift()!(), options), 2);
  assert.deepEqual(seen, [1, 2]);
  await assert.rejects(
    poll(async () => 1, { ...options, stallTimeoutMs: 1 }),
    { message: "stuck" },
  );
  await assert.rejects(
    poll<number>(() => Promise.reject(new Error("else")), options),
    { message: "else" },
  );
});

const video = (status: object, more: object = {}) => ({
  uid: UID,
  creator: null,
  readyToStream: false,
  readyToStreamAt: null,
  status: { state: "inprogress", pctComplete: "39.000000", errorReasonCode: "", errorReasonText: "", ...status },
  meta: { name: "a\u001b[31mb" },
  created: "2026-11-21T10:00:00Z",
  uploaded: null,
  scheduledDeletion: null,
  size: 0,
  duration: -1,
  input: { width: -1, height: -1 },
  allowedOrigins: [],
  requireSignedURLs: false,
  thumbnail: "http://x/t.jpg",
  preview: `http://x/${UID}/watch`,
  playback: { hls: `http://x/${UID}/manifest/video.m3u8`, dash: `http://x/${UID}/manifest/video.mpd` },
  ...more,
});

test("a list with more than one page is read to its end, or to the limit", async (t) => {
  const folder = await folderWith(t);
  const api = await startFakeApi(t, {
    [`GET /accounts/${ACCOUNT}/stream`]({ path }) {
      const query = new URLSearchParams(path.split("?")[1]);
      const count = Math.min(Number(query.get("limit")), Math.max(0, 2300 - (Number(query.get("page")) - 1) * 1000));
      return {
        result: Array.from({ length: count }, () => video({})),
        ...(query.get("include_counts") === "true" && { total: 2300, range: 1300 }),
      };
    },
  });
  assert.equal((await runCli(["stream", "list", "--limit", "5000", "--json"], { cwd: folder, api })).json.length, 2300);
  assert.equal(api.seen.length, 3);
  const { stdout, stderr } = await runCli(["stream", "list", "--limit", "1200", "--since", "2026-11-01"], {
    cwd: folder,
    api,
  });
  assert.equal(stdout.split("\n").length, 1202);
  // Names are untrusted text.
  assert.match(stdout, new RegExp(`^${UID} +a\\\\x1b\\[31mb +inprogress, 39%`, "m"));
  assert.equal(stderr, "1200 of 2300 videos: use --limit to show more\n");
  assert.match(api.seen.at(-1)!.path, /start=2026-11-01T00%3A00%3A00\.000Z/);
});

test("waiting shows progress on a terminal, and fails with the reason if the video cannot be played", async (t) => {
  const folder = await folderWith(t);
  const states = [
    video({ state: "queued", pctComplete: "0.000000" }),
    video({}),
    video({ state: "error", errorReasonCode: "ERR_DURATION_TOO_SHORT", errorReasonText: "It is too short" }),
  ];
  const api = await startFakeApi(t, {
    [`GET /accounts/${ACCOUNT}/stream/${UID}`]: () => ({ result: states.length > 1 ? states.shift() : states[0] }),
  });
  const { code, stderr } = await runCli(["stream", "get", UID, "--wait"], { cwd: folder, api, typed: [] });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /waiting until the video is playable: queued\r[^]*playable: inprogress, 39%[^]*Cannot play the video \S+: It is too short \[ERR_DURATION_TOO_SHORT\]\nfix: Upload one of at least/,
  );
  states.splice(0, 1, video({ state: "pendingupload" }));
  assert.match((await runCli(["stream", "download", UID], { cwd: folder, api })).stderr, /has not been uploaded yet/);
});
