import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { folderWith, runCli } from "../../src/cli/cli.testing.ts";
import { requestsTo } from "../support/filled-account.ts";
import { numberedPage, startHostedApi, type HostedApi } from "../support/hosted-api.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import {
  ACCOUNT,
  DATABASE,
  INPUT,
  KEY,
  KEYS,
  NAMESPACE,
  RULES,
  TIME,
  VIDEO,
  ZONE,
  emailRoutes,
  liveInput,
  records,
  storageRoutes,
  video,
  watermark,
  workerRoutes,
  zone,
} from "./hosted-account.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const scope = createScope();
let hosted: HostedApi;
let target: Platform;
let cwd: string;
/** Positions at which the file of the video was read. */
const starts: number[] = [];
before(async () => {
  if (needsFfmpeg.skip !== false) return;
  const file = await readFile(await clip());
  let isLimited = true;
  let downloadPolls = 0;
  target = await startPlatform(scope);
  cwd = await folderWith(scope);
  hosted = await startHostedApi(scope, (origin) => ({
    "GET /zones": ({ query }) => {
      if (isLimited) {
        isLimited = false;
        return {
          status: 429,
          errors: [{ code: 10429, message: "Please wait and consider throttling your request speed" }],
          headers: { "retry-after": "1" },
        };
      }
      return numberedPage([zone()], query);
    },
    [`GET /zones/${ZONE}/dns_records`]: ({ query }) => numberedPage(records(), query, 100),
    ...emailRoutes(),
    ...storageRoutes(origin),
    ...workerRoutes(),
    [`GET /accounts/${ACCOUNT}/stream`]: { result: [video(origin)] },
    [`POST /accounts/${ACCOUNT}/stream/${VIDEO}/token`]: { result: { token: "a.signed.token" } },
    [`GET /accounts/${ACCOUNT}/stream/${VIDEO}/captions`]: {
      result: [{ language: "en", label: "English", generated: false, status: "ready" }],
    },
    [`GET /accounts/${ACCOUNT}/stream/${VIDEO}/captions/en/vtt`]: {
      raw: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n",
      headers: { "content-type": "text/vtt" },
    },
    [`GET /accounts/${ACCOUNT}/stream/${VIDEO}/audio`]: { result: { audio: [] } },
    // The download is created for the import, and is ready at the second request.
    [`GET /accounts/${ACCOUNT}/stream/${VIDEO}/downloads`]: () => ({
      result:
        downloadPolls++ === 0
          ? {}
          : { default: { status: "ready", percentComplete: 100, url: `${origin}/${VIDEO}/downloads/default.mp4` } },
    }),
    [`POST /accounts/${ACCOUNT}/stream/${VIDEO}/downloads`]: {
      result: { default: { status: "inprogress", percentComplete: 12 } },
    },
    [`DELETE /accounts/${ACCOUNT}/stream/${VIDEO}/downloads`]: { result: "ok" },
    // A protected video: only the token gives access to the file.
    "GET /a.signed.token/downloads/default.mp4": ({ headers }) => {
      const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(String(headers.range))!;
      const whole = file.subarray(Number(start), Number(end) + 1);
      // The first response with data is truncated; the import resumes from that offset.
      const part = whole.length > 1 && starts.length === 0 ? whole.subarray(0, whole.length / 2) : whole;
      if (whole.length > 1) starts.push(Number(start));
      return {
        status: 206,
        raw: part,
        headers: { "content-range": `bytes ${start}-${Number(start) + whole.length - 1}/${file.length}` },
      };
    },
    [`GET /accounts/${ACCOUNT}/stream/watermarks`]: { result: [watermark()] },
    [`GET /accounts/${ACCOUNT}/stream/keys`]: { result: [{ id: "5".repeat(32), created: TIME }] },
    [`GET /accounts/${ACCOUNT}/stream/live_inputs`]: { result: { liveInputs: [{ uid: INPUT, created: TIME }] } },
    [`GET /accounts/${ACCOUNT}/stream/live_inputs/${INPUT}`]: { result: liveInput() },
    [`GET /accounts/${ACCOUNT}/stream/live_inputs/${INPUT}/outputs`]: { result: [] },
  }));
});
after(() => scope.close());

const run = (...args: string[]) =>
  runCli(
    [
      "import",
      "cloudflare",
      "--from",
      hosted.url,
      "--from-account",
      ACCOUNT,
      "--url",
      target.api,
      "--token",
      target.token,
      ...args,
    ],
    { cwd, env: { CLOUDFLARE_API_TOKEN: "hosted-token" } },
  );

interface Item {
  kind: string;
  action: string;
  reason?: string;
  losses?: string[];
}

test("the plan states which data the hosted service does not return", needsFfmpeg, async () => {
  const { code, json, stderr } = await run("--dry-run", "--json");
  assert.equal(code, 0, stderr + JSON.stringify(json));
  const items = json.items as Item[];
  const lossesOf = (kind: string) => items.find((item) => item.kind === kind)?.losses?.join("; ") ?? "";
  assert.match(lossesOf("zone"), /3 DNS records of the hosted service are not imported.*1 proxied records/);
  assert.match(lossesOf("destination address"), /must be verified again/);
  assert.match(lossesOf("worker"), /env\.BROWSER is missing.*values of its secrets cannot be read: TOKEN/);
  assert.match(lossesOf("video"), /MP4 download is imported instead; its watermark is burned into the video/);
  assert.match(lossesOf("live input"), /key in its WHIP URL changes/);
  assert.match(lossesOf("signing key"), /private keys cannot be read/);
  assert.deepEqual(
    items.filter(({ action }) => action === "impossible").map(({ kind, reason }) => [kind, reason]),
    [
      [
        "part of the account",
        "access was refused: Please enable R2 through the Dashboard. [code: 10042]; the API token may lack a permission",
      ],
      [
        "part of the account",
        "access was refused: Authentication error [code: 10000]; the API token may lack a permission",
      ],
      ["watermark profile", "the API does not return its image; create the profile from the original image"],
    ],
  );
  assert.equal(items.filter(({ kind }) => kind === "routing rule").length, RULES);
});

test("an account of the hosted service is imported, and a second run has nothing to do", needsFfmpeg, async () => {
  const { code, json, stderr } = await run("--yes", "--keep-verified", "--json");
  assert.deepEqual([code, json?.report?.failed], [0, []], stderr + JSON.stringify(json?.report ?? json));
  assert.equal(json.report.imported["KV key"], KEYS);
  const { call, text } = requestsTo(target);
  const base = `/accounts/${target.account}`;
  assert.equal((await call("GET", `/zones/${ZONE}`)).name, "moved.example");
  assert.equal(await text(`${base}/storage/kv/namespaces/${NAMESPACE}/values/key%20249`), "value of key 249");
  const [rows] = await call("POST", `${base}/d1/database/${DATABASE}/query`, { sql: "SELECT * FROM notes" });
  assert.deepEqual(rows.results, [{ id: 1, text: "it's here" }]);
  const imported = await call("GET", `${base}/stream/${VIDEO}`);
  assert.deepEqual(
    [imported.meta, imported.creator, imported.requireSignedURLs, imported.thumbnailTimestampPct, imported.watermark],
    [{ name: "Talk" }, "ada", true, 0.5, null],
  );
  assert.equal(starts[0], 0);
  assert.ok(starts.length === 2 && starts[1]! > 0, `read from ${starts.join(", ")}`);
  const input = await call("GET", `${base}/stream/live_inputs/${INPUT}`);
  assert.match(input.webRTC.url, new RegExp(KEY));
  assert.ok(hosted.seen.includes(`DELETE /accounts/${ACCOUNT}/stream/${VIDEO}/downloads`));
  const again = await run("--yes", "--keep-verified");
  assert.match(again.stdout, /Nothing to do\./);
});

test("the responses in these tests match the schemas of the published API", needsFfmpeg, () => {
  assert.deepEqual([...new Set(hosted.violations)], []);
});
