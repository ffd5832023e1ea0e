import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { silentLog } from "../../../kernel/index.ts";
import { customerCode } from "../../customers/customer-code.ts";
import { createDelivery } from "../../delivery/delivery.ts";
import type { Video } from "../../videos/video.ts";
import { testVideo } from "../../videos/videos.testing.ts";
import type { PublicLiveStatus } from "./broadcasts.ts";
import { createPublicStatus } from "./public-status.ts";
import type { LiveInput } from "./port.ts";
import { DEFAULTS } from "./rules.ts";

const ACCOUNT = "a".repeat(32);
const [INPUT, VIDEO, OTHER, NOBODY] = ["1", "2", "3", "4"].map((digit) => digit.repeat(32)) as [
  string,
  string,
  string,
  string,
];

async function open(t: TestContext) {
  const input: LiveInput = { ...DEFAULTS, uid: INPUT, account: ACCOUNT, created: 0, modified: 0, keysRotatedAt: null };
  const state: { now: PublicLiveStatus; hidden: boolean; broken: boolean } = {
    now: { live: false, video: null },
    hidden: false,
    broken: false,
  };
  const videos: Video[] = [
    testVideo({ uid: VIDEO, liveInput: INPUT, state: "live-inprogress" }),
    testVideo({ uid: OTHER, state: "ready" }),
  ];
  const routes = createPublicStatus({
    directory: {
      find: async (uid) =>
        uid === INPUT ? { ...input, recording: { ...input.recording, hideLiveViewerCount: state.hidden } } : undefined,
    },
    videos: { find: async (uid) => videos.find((video) => video.uid === uid) },
    broadcasts: { now: async () => (state.broken ? Promise.reject(new Error("the disk is gone")) : state.now) },
    viewers: async () => 113,
    domain: "videos.example.com",
  });
  const delivery = createDelivery({
    routes: [],
    publicRoutes: routes,
    access: { check: () => assert.fail("access was checked") },
    address: () => "127.0.0.1",
    origin: () => "http://localhost",
    log: silentLog,
  });
  const server = createServer(
    (requested, response) =>
      void delivery.handle(requested, response).then((handled) => handled || response.writeHead(299).end()),
  );
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const { port } = server.address() as AddressInfo;
  const ask = (path: string, { method = "GET", host = "localhost" } = {}) =>
    new Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
      request({ port, path, method, headers: { host }, agent: false }, (response) => {
        text(response).then(
          (body) => resolve({ status: response.statusCode!, text: body, headers: response.headers }),
          reject,
        );
      })
        .on("error", reject)
        .end();
    });
  return { state, videos, ask, reported: async (path: string) => JSON.parse((await ask(path)).text) as unknown };
}

const tokenFor = (sub: string) =>
  [
    { alg: "RS256", kid: "k".repeat(32) },
    { sub, kid: "k".repeat(32), exp: 2_000_000_000 },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .concat(Buffer.alloc(256).toString("base64url"))
    .join(".");

test("the lifecycle of an input (by uid or token), or of its video, states the video and whether it is live", async (t) => {
  const { state, reported, ask, videos } = await open(t);
  assert.deepEqual(await reported(`/${INPUT}/lifecycle`), { isInput: true, videoUID: null, live: false });
  state.now = { live: true, video: VIDEO };
  for (const id of [INPUT, tokenFor(INPUT)])
    assert.deepEqual(await reported(`/${id}/lifecycle?x=1`), { isInput: true, videoUID: VIDEO, live: true });
  assert.deepEqual(await reported(`/${VIDEO}/lifecycle`), { isInput: false, videoUID: VIDEO, live: true });
  videos[0]!.state = "ready";
  assert.deepEqual(await reported(`/${VIDEO}/lifecycle`), { isInput: false, videoUID: VIDEO, live: false });
  const { headers } = await ask(`/${INPUT}/lifecycle`);
  assert.deepEqual(
    [headers["content-type"], headers["cache-control"], headers["access-control-allow-origin"]],
    ["application/json", "no-store", "*"],
  );
});

test("reports the number of viewers, unless the owner hides it", async (t) => {
  const { state, reported, ask, videos } = await open(t);
  for (const id of [INPUT, VIDEO]) assert.deepEqual(await reported(`/${id}/views`), { liveViewers: 113 });
  assert.deepEqual(await reported(`/${OTHER}/views`), { liveViewers: 0 });
  state.hidden = true;
  for (const id of [INPUT, VIDEO]) assert.equal((await ask(`/${id}/views`)).status, 403);
  state.hidden = false;
  videos[0]!.state = "ready";
  assert.deepEqual(await reported(`/${VIDEO}/views`), { liveViewers: 0 });
});

test("rejects unknown ids, ids of other accounts and invalid requests, and ignores all other URLs", async (t) => {
  const { state, ask } = await open(t);
  for (const id of [NOBODY, tokenFor(NOBODY)])
    for (const word of ["lifecycle", "views"]) assert.equal((await ask(`/${id}/${word}`)).status, 404);
  assert.equal(
    (await ask(`/${INPUT}/lifecycle`, { host: `customer-${customerCode(ACCOUNT)}.videos.example.com` })).status,
    200,
  );
  assert.equal(
    (await ask(`/${INPUT}/lifecycle`, { host: `customer-${customerCode("b".repeat(32))}.videos.example.com` })).status,
    404,
  );
  assert.equal((await ask(`/eyJhbGciOiJSUzI1NiJ9.e30.${"x".repeat(40)}/lifecycle`)).status, 403);
  for (const path of ["/", "/nonsense/lifecycle"]) assert.equal((await ask(path)).status, 299, path);
  for (const path of [
    `/${INPUT}/watch`,
    `/${INPUT}/lifecycle/x`,
    `/${INPUT}`,
    `/${INPUT}/constructor`,
    `/${INPUT}/toString`,
  ])
    assert.equal((await ask(path)).status, 404, path);
  const head = await ask(`/${INPUT}/lifecycle`, { method: "HEAD" });
  assert.deepEqual([head.status, head.text], [200, ""]);
  assert.deepEqual(
    [
      (await ask(`/${INPUT}/views`, { method: "POST" })).status,
      (await ask(`/${INPUT}/views`, { method: "OPTIONS" })).status,
    ],
    [405, 204],
  );
  state.broken = true;
  const failed = await ask(`/${INPUT}/lifecycle`);
  assert.deepEqual([failed.status, failed.text.includes("disk")], [500, false]);
});
