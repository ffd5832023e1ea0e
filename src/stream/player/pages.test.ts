import assert from "node:assert/strict";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { gunzipSync, brotliDecompressSync } from "node:zlib";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { createAccess } from "../access/access.ts";
import { customerCode } from "../customers/customer-code.ts";
import { createDelivery } from "../delivery/delivery.ts";
import { testModel } from "../videos/videos.testing.ts";
import type { Video } from "../videos/video.ts";
import { createPlayerAssets } from "./assets.ts";
import { createPlayer } from "./player.ts";
import { createPlayerVideos, playerVideo } from "./player-video.ts";
import { sharedAssets, someVideo } from "./player.testing.ts";

const UID = "0123456789abcdef0123456789abcdef";
const origin = (request: IncomingMessage) =>
  `${request.headers["x-secure"] === undefined ? "http" : "https"}://${request.headers.host}`;

/** Starts the player behind a delivery server. */
async function start(
  t: TestContext,
  {
    video = someVideo(),
    base = "",
    assets = sharedAssets,
    domain = "",
    publicOrigin = () => undefined,
  }: {
    video?: Video;
    base?: string;
    assets?: typeof sharedAssets;
    domain?: string;
    publicOrigin?: () => string | undefined;
  } = {},
) {
  const access = createAccess({
    videos: { find: async (uid) => (uid === video.uid ? video : undefined) },
    keys: { find: async () => undefined },
    countryOf: () => undefined,
    clock: systemClock,
  });
  const common = { base, log: silentLog, origin, address: () => "127.0.0.1", access };
  const player = createPlayer({ ...common, assets, domain, publicOrigin });
  const delivery = createDelivery({ ...common, routes: player.delivery });
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url!.startsWith("/upload/"))
      return player.uploadPage(request, response, { state: "open", maxBytes: 1000 });
    if (!(await player.handle(request, response)) && !(await delivery.handle(request, response)))
      response.writeHead(404).end();
  };
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`;
}

const policyOf = (response: Response) =>
  new Map(
    (response.headers.get("content-security-policy") ?? "").split("; ").map((part) => [part.split(" ", 1)[0], part]),
  );

test("an input that is not live responds with 204 to API clients, and with a waiting page to browsers", async (t) => {
  const url = await start(t, {
    video: someVideo({ uid: UID, liveInput: UID, state: "pendingupload", readyToStream: false }),
  });
  for (const method of ["GET", "HEAD"]) {
    const empty = await fetch(`${url}/${UID}/iframe`, { method });
    assert.deepEqual([empty.status, await empty.text(), empty.headers.get("cache-control")], [204, "", "no-store"]);
  }
  for (const headers of [{ accept: "text/html,application/xhtml+xml,*/*;q=0.8" }, { "sec-fetch-dest": "iframe" }]) {
    const page = await fetch(`${url}/${UID}/iframe`, { headers: { ...headers } });
    assert.equal(page.status, 200, JSON.stringify(headers));
    assert.match(await page.text(), /"state":"waiting"/);
  }
  assert.equal((await fetch(`${url}/${UID}/watch`)).status, 200, "a link opened in a browser shows the page");
  const live = await start(t, { video: someVideo({ liveInput: "f".repeat(32), state: "live-inprogress" }) });
  assert.equal((await fetch(`${live}/${UID}/iframe`)).status, 200);
});

test("user-supplied text is escaped in the page, and only the page's own script may run", async (t) => {
  const nasty = `"><script>alert(1)</script><!--`;
  const url = await start(t, {
    video: someVideo({
      publicDetails: { title: nasty, share_link: null, channel_link: "javascript:alert(1)", logo: nasty },
    }),
  });
  for (const page of ["iframe", "watch"]) {
    const response = await fetch(`${url}/${UID}/${page}?poster=${encodeURIComponent(nasty)}`);
    const html = await response.text();
    assert.equal(html.includes("<script>alert"), false);
    assert.equal(html.includes("<!--"), false);
    const nonces = [...html.matchAll(/nonce="([^"]+)"/g)].map(([, nonce]) => nonce);
    assert.equal(nonces.length, 1);
    assert.equal(policyOf(response).get("script-src"), `script-src 'nonce-${nonces[0]}'`);
    assert.equal(policyOf(response).get("default-src"), "default-src 'none'");
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal(JSON.parse(/id="config">(.*?)<\/script>/.exec(html)![1]!).video.details.title, nasty);
  }
  const [first, second] = await Promise.all(
    [1, 2].map(async () => policyOf(await fetch(`${url}/${UID}/iframe`)).get("script-src")),
  );
  assert.notEqual(first, second);
});

test("framing is limited to the video's origins, and plain http to pages that were loaded over it", async (t) => {
  const url = await start(t, {
    video: someVideo({ allowedOrigins: ["example.com", "*.shop.example", "localhost:3000", "bad;script-src *"] }),
  });
  const policy = policyOf(await fetch(`${url}/${UID}/iframe`, { headers: { "x-secure": "yes" } }));
  assert.equal(
    policy.get("frame-ancestors"),
    "frame-ancestors 'self' http://example.com https://example.com http://*.shop.example https://*.shop.example http://localhost:3000 https://localhost:3000",
  );
  assert.equal(policy.get("connect-src"), "connect-src 'self' https:");
  assert.match(
    (await fetch(`${url}/${UID}/iframe`)).headers.get("content-security-policy") ?? "",
    /connect-src 'self' https: http:/,
  );
  const open = await start(t);
  assert.equal(policyOf(await fetch(`${open}/${UID}/iframe`)).has("frame-ancestors"), false);
});

test("scripts are resolved relative to the page, with a trailing slash and behind a prefix, and cached permanently by their hash", async (t) => {
  const url = await start(t, { base: "/cdn-cgi/stream" });
  for (const page of [`${url}/${UID}/iframe`, `${url}/${UID}/watch/`]) {
    const html = await (await fetch(page)).text();
    for (const [, address] of html.matchAll(/(?:src|href)="([./]+embed\/assets\/[^"]+)"/g)) {
      const script = new URL(address!, page).href;
      const response = await fetch(script);
      assert.equal(response.status, 200, script);
      assert.equal(response.headers.get("cache-control"), "public, max-age=31536000, immutable");
      assert.equal(
        (await fetch(script, { headers: { "if-none-match": response.headers.get("etag") ?? "" } })).status,
        304,
      );
    }
  }
  const stale = await fetch(`${url}/embed/assets/player-000000000000.js`);
  assert.deepEqual([stale.status, stale.headers.get("cache-control")], [200, "no-store"]);
  const sdk = await fetch(`${url}/embed/sdk.latest.js`);
  assert.deepEqual(
    [sdk.status, sdk.headers.get("cache-control"), sdk.headers.get("access-control-allow-origin")],
    [200, "public, max-age=3600", "*"],
  );
  for (const path of ["embed/nothing.js", "embed/../../secret", "embed/%2e%2e/x", "embed/", "embed/assets/"])
    assert.equal((await fetch(`${url}/${path}`)).status, 404, path);
  assert.equal((await fetch(`${url}/embed/local.js`, { method: "POST" })).status, 405);
  assert.match(await (await fetch(`${url}/embed/licenses.txt`)).text(), /hls\.js 1\./);
});

test("scripts are compressed for clients that accept it", async (t) => {
  const url = await start(t);
  const plain = (await sharedAssets.get("local.js")).body;
  const get = (accept: string) => fetch(`${url}/embed/local.js`, { headers: { "accept-encoding": accept } });
  // fetch decompresses known encodings; the length shows that the response was compressed.
  for (const [accept, name] of [
    ["gzip, br", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip", "gzip"],
  ] as const) {
    const response = await get(accept);
    assert.equal(response.headers.get("content-encoding"), name);
    assert.equal(await response.text(), plain.toString());
  }
  assert.equal((await get("identity")).headers.get("content-encoding"), null);
  const asset = await sharedAssets.get("local.js");
  assert.deepEqual(
    [gunzipSync(await asset.encoded("gzip")), brotliDecompressSync(await asset.encoded("br"))],
    [plain, plain],
  );
});

test("a watch page shows the title and the description of the video, and an embedded player does not", async (t) => {
  const url = await start(t, { video: someVideo({ meta: { name: "A <b>", description: "First & last" } }) });
  const read = async (page: string) => (await fetch(`${url}/${UID}/${page}`)).text();
  const watch = await read("watch");
  assert.ok(watch.includes("<h1>A &lt;b&gt;</h1><p>First &amp; last</p>"), watch);
  assert.ok(watch.includes('<meta name="description" content="First &amp; last">'), watch);
  assert.equal((await read("iframe")).includes("First &amp; last"), false);
});

test("a watch page declares how to embed it, and its oEmbed response agrees", async (t) => {
  const video = someVideo({ publicDetails: { title: "A & B", share_link: null, channel_link: null, logo: null } });
  const url = await start(t, { video });
  const html = await (await fetch(`${url}/${UID}/watch`)).text();
  const address = /application\/json\+oembed" href="([^"]+)"/.exec(html)![1]!.replaceAll("&amp;", "&");
  const response = (await (await fetch(address)).json()) as Record<string, unknown>;
  assert.deepEqual(
    { ...response, html: undefined },
    {
      type: "video",
      version: "1.0",
      provider_name: "Reelpost",
      provider_url: url,
      title: "A & B",
      width: 640,
      height: 360,
      html: undefined,
      thumbnail_url: `${url}/${UID}/thumbnails/thumbnail.jpg?width=640&height=360`,
      thumbnail_width: 640,
      thumbnail_height: 360,
    },
  );
  assert.match(
    String(response["html"]),
    new RegExp(`^<iframe src="${url}/${UID}/iframe" title="A &amp; B" width="640" height="360" `),
  );
  const small = (await (await fetch(`${address}&maxwidth=320&maxheight=9999`)).json()) as Record<string, unknown>;
  assert.deepEqual([small["width"], small["height"]], [320, 180]);
  const status = async (query: string) => (await fetch(`${url}/embed/oembed?${query}`)).status;
  assert.deepEqual(
    await Promise.all([
      status(""),
      status("url=x"),
      status(`url=${url}/${"f".repeat(32)}/watch`),
      status(`format=xml&url=${url}/${UID}/watch`),
    ]),
    [404, 404, 404, 501],
  );
  const guarded = await start(t, { video: someVideo({ requireSignedURLs: true }) });
  assert.equal((await fetch(`${guarded}/embed/oembed?url=${guarded}/${UID}/watch`)).status, 401);
  // Restricted videos must not be stored in shared caches.
  const some = await start(t, { video: someVideo({ allowedOrigins: ["a.example"] }) });
  const cached = async (server: string) =>
    (await fetch(`${server}/embed/oembed?url=${server}/${UID}/watch`)).headers.get("cache-control");
  assert.deepEqual([await cached(url), await cached(some)], ["public, max-age=300", "private, max-age=300"]);
});

test("oEmbed uses the server's public URL, regardless of the Host header of the request", async (t) => {
  const url = await start(t, { video: someVideo(), publicOrigin: () => "https://videos.example" });
  const answer = await new Promise<string>((resolve, reject) => {
    get(
      `${url}/embed/oembed?url=${url}/${UID}/watch`,
      { headers: { host: "evil.example" } },
      (response) => void text(response).then(resolve, reject),
    );
  });
  assert.doesNotMatch(answer, /evil/);
  assert.equal((JSON.parse(answer) as { provider_url: string }).provider_url, "https://videos.example");
});

test("oEmbed describes a video only where delivery would serve it", async (t) => {
  const video = someVideo({ allowedOrigins: ["good.example"] });
  const url = await start(t, { video, domain: "videos.example" });
  // fetch is not used because it overrides the Host header.
  const status = (headers: Record<string, string> = {}) =>
    new Promise(
      (resolve) =>
        void get(`${url}/embed/oembed?url=${url}/${UID}/watch`, { headers }, (response) =>
          resolve(response.resume().statusCode),
        ),
    );
  // Services that convert a link to a player send no origin.
  assert.equal(await status(), 200);
  assert.equal(await status({ origin: "https://good.example" }), 200);
  assert.equal(await status({ origin: "https://evil.example" }), 401);
  assert.equal(await status({ "sec-fetch-site": "cross-site" }), 401);
  assert.equal(await status({ host: `customer-${customerCode(video.account)}.videos.example` }), 200);
  assert.equal(await status({ host: `customer-${customerCode("b".repeat(32))}.videos.example` }), 404);
});

test("third-party players can read the public details in every state of the video, and our player also its state", async (t) => {
  const details = { title: "T", share_link: "https://a.example", channel_link: null, logo: null };
  const url = await start(t, {
    video: someVideo({
      publicDetails: details,
      state: "error",
      readyToStream: false,
      errorReason: { code: "ERR_NON_VIDEO", text: "no" },
    }),
  });
  assert.deepEqual(await (await fetch(`${url}/${UID}/metadata/playerEnhancementInfo.json`)).json(), details);
  assert.deepEqual(await (await fetch(`${url}/${UID}/metadata/player.json`)).json(), {
    id: UID,
    uid: UID,
    state: "error",
    readyToStream: false,
    pctComplete: 100,
    error: { code: "ERR_NON_VIDEO", text: "no" },
    duration: 12,
    width: 640,
    height: 360,
    picture: true,
    poster: null,
    details,
    chapters: [],
    live: null,
    frames: null,
  });
});

test("sends the chapters of a video to the player, except during a broadcast", async () => {
  const chapters = [{ start: 0, title: "Start" }];
  const read = createPlayerVideos({ chaptersOf: async () => chapters });
  const liveInput = "f".repeat(32);
  assert.deepEqual((await read(someVideo(), UID)).chapters, chapters);
  assert.deepEqual((await read(someVideo({ liveInput }), UID)).chapters, chapters);
  assert.deepEqual((await read(someVideo({ liveInput, state: "live-inprogress" }), UID)).chapters, []);
});

test("the player shows the thumbnail of an audio-only video, its cover or waveform, once it is playable", () => {
  const { video: _, ...audioOnly } = testModel();
  const audio = { model: audioOnly, input: { width: -1, height: -1 } };
  assert.deepEqual(
    [
      playerVideo(someVideo(audio), UID).picture,
      playerVideo(someVideo(audio), UID).poster,
      playerVideo(someVideo({ ...audio, readyToStream: false }), UID).poster,
    ],
    [false, "thumbnails/thumbnail.jpg?width=1280&height=720", null],
  );
});

test("the upload page cannot be framed and sends no referrer", async (t) => {
  const url = await start(t);
  const response = await fetch(`${url}/upload/${UID}/secretsecretsecret`);
  assert.match(response.headers.get("content-security-policy") ?? "", /frame-ancestors 'self'$/);
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
  assert.match(await response.text(), /"maxBytes":1000/);
});

test("sources that fail to compile break only one request, and the next one succeeds once they are fixed", async () => {
  let broken = true;
  const assets = createPlayerAssets({
    log: silentLog,
    load: async () => (broken ? Promise.reject(new Error("no")) : new Map([["player.js", Buffer.from("1")]])),
  });
  await assert.rejects(assets.get("player.js"), /^Error: no$/);
  broken = false;
  assert.equal((await assets.get("player.js")).hashedName, "player-6b86b273ff34.js");
});

test("a broadcast is described with its state and whether another one may follow at the same URL", async () => {
  const input = "1".repeat(32);
  const broadcast = someVideo({ liveInput: input, state: "live-inprogress" });
  const token = `eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.${Buffer.from(JSON.stringify({ sub: input, exp: 2e9 })).toString("base64url")}.c2ln`;
  const liveOf = (video: Video, id: string, interrupted = false) => playerVideo(video, id, { interrupted }).live;
  assert.deepEqual(liveOf(someVideo({ uid: input, liveInput: input, state: "pendingupload" }), input), {
    state: "waiting",
    follows: true,
    unrecorded: false,
  });
  assert.deepEqual(liveOf(broadcast, input), { state: "running", follows: true, unrecorded: false });
  assert.deepEqual(liveOf(broadcast, token, true), { state: "interrupted", follows: true, unrecorded: false });
  assert.deepEqual(liveOf(broadcast, UID), { state: "running", follows: false, unrecorded: false });
  assert.deepEqual(liveOf({ ...broadcast, state: "ready" }, input), {
    state: "over",
    follows: true,
    unrecorded: false,
  });
  assert.equal(liveOf(someVideo(), UID), null);
  const of = createPlayerVideos({ isPublished: async () => true, isRecorded: async () => false });
  const shown = await of({ ...broadcast, state: "ready" }, input);
  assert.deepEqual(
    [shown.uid, shown.readyToStream, shown.poster, shown.live],
    [input, true, null, { state: "running", follows: true, unrecorded: true }],
    "an unrecorded broadcast has no video",
  );
  assert.equal((await of({ ...broadcast, state: "ready" }, UID)).live?.state, "over");
});
