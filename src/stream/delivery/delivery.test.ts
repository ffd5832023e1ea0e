import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import type { ObjectStore } from "../../store/index.ts";
import { customerCode } from "../customers/customer-code.ts";
import { streamErrors } from "../errors.ts";
import { anyVideo, emptyObjects, serveDelivery, UID } from "../playback/playback.testing.ts";
import type { DeliveryRoute, DeliveryContext } from "./route.ts";
import type { Sendable } from "./send-bytes.ts";

const FILE: DeliveryRoute["path"] = "files/{name}";
const files = (
  objects: ObjectStore,
  about: Parameters<DeliveryContext["sendObject"]>[1] = { type: "video/mp4", cache: "immutable" },
): DeliveryRoute => ({
  path: FILE,
  purpose: "play",
  handle: async (viewing) => viewing.sendObject((await objects.open(viewing.params["name"]!))!, about),
});
const route = (path: string, handle: DeliveryRoute["handle"], more: Partial<DeliveryRoute> = {}): DeliveryRoute => ({
  path,
  purpose: "play",
  handle,
  ...more,
});

async function world(
  t: TestContext,
  { routes = [], video = {} }: { routes?: DeliveryRoute[]; video?: Parameters<typeof anyVideo>[0] } = {},
) {
  const objects = await emptyObjects(t);
  const origin = await serveDelivery(t, { videos: [anyVideo(video)], routes: [files(objects), ...routes] });
  const get = (path: string, init: RequestInit = {}) => fetch(`${origin}/${UID}/${path}`, init);
  return { objects, origin, get };
}

test("serves whole objects, HEAD requests, and ranges", async (t) => {
  const { objects, get } = await world(t);
  const bytes = randomBytes(700_001);
  await objects.put("a", bytes);
  const whole = await get("files/a");
  assert.equal(whole.status, 200);
  assert.equal(Buffer.compare(Buffer.from(await whole.arrayBuffer()), bytes), 0);
  const expected = {
    "content-type": "video/mp4",
    "content-length": "700001",
    "accept-ranges": "bytes",
    "cache-control": "public, max-age=604800, immutable",
    "access-control-allow-origin": "*",
    "x-content-type-options": "nosniff",
  };
  for (const response of [whole, await get("files/a", { method: "HEAD" })])
    for (const [name, value] of Object.entries(expected)) assert.equal(response.headers.get(name), value, name);

  const part = async (range: string, more: Record<string, string> = {}) => {
    const response = await get("files/a", { headers: { range, ...more } });
    return {
      status: response.status,
      range: response.headers.get("content-range"),
      body: Buffer.from(await response.arrayBuffer()),
    };
  };
  for (const [range, start, end] of [
    ["bytes=0-0", 0, 0],
    ["bytes=262143-262145", 262_143, 262_145],
    ["bytes=700000-", 700_000, 700_000],
    ["bytes=-600000", 100_001, 700_000],
  ] as const) {
    const { status, range: said, body } = await part(range);
    assert.deepEqual([status, said], [206, `bytes ${start}-${end}/700001`]);
    assert.equal(Buffer.compare(body, bytes.subarray(start, end + 1)), 0);
  }
  const past = await part("bytes=700001-");
  assert.deepEqual([past.status, past.range, past.body.length], [416, "bytes */700001", 0]);
  assert.equal((await part("bytes=0-1,5-6")).status, 200);

  const etag = whole.headers.get("etag")!;
  assert.equal((await get("files/a", { headers: { "if-none-match": etag } })).status, 304);
  assert.equal((await part("bytes=0-9", { "if-range": etag })).status, 206);
  assert.equal((await part("bytes=0-9", { "if-range": '"other"' })).status, 200);
  await objects.put("a", randomBytes(700_001));
  assert.equal((await get("files/a", { headers: { "if-none-match": etag } })).status, 200);
  await objects.put("empty", Buffer.alloc(0));
  const empty = await get("files/empty");
  assert.deepEqual([empty.status, (await empty.arrayBuffer()).byteLength], [200, 0]);
});

test("concurrent readers each receive their own bytes, even if buffers are reused and readers are slow", async (t) => {
  const { objects, get } = await world(t);
  const names = ["a", "b", "c", "d"];
  const sums = new Map<string, string>();
  for (const name of names) {
    // More than the system buffers for a client that does not read.
    const bytes = randomBytes(12_000_001);
    sums.set(name, createHash("sha256").update(bytes).digest("hex"));
    await objects.put(name, bytes, { durable: false });
  }
  // The first response is read to its end when all responses have started and none has been read.
  const begun = await Promise.all(names.map(async (name) => [name, await get(`files/${name}`)] as const));
  for (const [name, response] of begun)
    assert.equal(
      createHash("sha256")
        .update(Buffer.from(await response.arrayBuffer()))
        .digest("hex"),
      sums.get(name),
      name,
    );
});

test("a viewer that disconnects midway leaves nothing open", async (t) => {
  const closed = Promise.withResolvers<void>();
  const size = 500_000_000;
  const endless: Sendable = {
    size,
    read: () => assert.fail("the object was read"),
    reader: () => ({ read: (into) => into.length, close: () => closed.resolve() }),
  };
  let signal: AbortSignal | undefined;
  const { origin } = await world(t, {
    routes: [
      route("endless", (viewing) => {
        ({ signal } = viewing);
        return viewing.sendObject(endless, { type: "video/mp4" });
      }),
    ],
  });
  const client = request(`${origin}/${UID}/endless`, (response) => void response.once("data", () => client.destroy()));
  client.on("error", () => {}).end();
  await closed.promise;
  assert.equal(signal?.aborted, true);
});

test("a response that fails midway is aborted, so that it does not look complete", async (t) => {
  const { get } = await world(t, {
    routes: [
      route("broken", (viewing) =>
        viewing.sendObject(
          {
            size: 1_000_000,
            read: () => assert.fail(),
            reader: () => ({
              read: (into, at) => (at > 300_000 ? Promise.reject(new Error("disk")) : into.length),
              close: () => {},
            }),
          },
          { type: "video/mp4" },
        ),
      ),
      route("gone", (viewing) =>
        viewing.sendObject(
          {
            size: 1_000_000,
            read: () => assert.fail(),
            reader: () => {
              throw new Error("disk");
            },
          },
          { type: "video/mp4" },
        ),
      ),
      route("fault", () => Promise.reject(new Error("secret detail"))),
    ],
  });
  await assert.rejects(async () => (await get("broken")).arrayBuffer());
  await assert.rejects(async () => (await get("gone")).arrayBuffer());
  const fault = await get("fault");
  assert.equal(fault.status, 500);
  assert.doesNotMatch(await fault.text(), /secret/);
});

test("handles methods, CORS, unknown paths and unknown videos", async (t) => {
  const { get, origin, objects } = await world(t);
  await objects.put("a", Buffer.from("a"));
  const preflight = await get("files/a", {
    method: "OPTIONS",
    headers: {
      origin: "https://other.example",
      "access-control-request-method": "GET",
      "access-control-request-headers": "range",
    },
  });
  assert.deepEqual(
    [
      preflight.status,
      preflight.headers.get("access-control-allow-origin"),
      preflight.headers.get("access-control-allow-headers"),
    ],
    [204, "*", "*"],
  );
  const posted = await get("files/a", { method: "POST", body: "x" });
  assert.deepEqual([posted.status, posted.headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
  for (const path of [`${UID}`, `${UID}/`, `${UID}/nothing`, `${"f".repeat(32)}/files/a`, `${UID}/files/%zz`]) {
    const response = await fetch(`${origin}/${path}`);
    assert.deepEqual(
      [response.status, response.headers.get("access-control-allow-origin"), response.headers.get("cache-control")],
      [404, "*", "no-store"],
      path,
    );
    assert.notEqual(await response.text(), "elsewhere");
  }
  for (const path of ["", "embed/sdk.latest.js", "0123/files/a"])
    assert.equal(await (await fetch(`${origin}/${path}`)).text(), "elsewhere", path);
});

test("errors are sent as text, and on pages as an HTML page", async (t) => {
  const objects = await emptyObjects(t);
  const origin = await serveDelivery(t, {
    videos: [],
    access: {
      check: (id) =>
        Promise.reject(
          id === UID ? streamErrors.signedUrlNeeded() : streamErrors.tokenRefused({ reason: "<b>it</b> has expired" }),
        ),
    },
    routes: [files(objects), route("watch", () => Promise.resolve(), { purpose: "page" })],
  });
  const media = await fetch(`${origin}/${UID}/files/a`);
  assert.deepEqual(
    [media.status, media.headers.get("content-type"), await media.text()],
    [401, "text/plain; charset=utf-8", "This video requires a signed URL\n"],
  );
  const page = await fetch(`${origin}/eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0./watch`);
  assert.deepEqual([page.status, page.headers.get("content-type")], [403, "text/html; charset=utf-8"]);
  assert.match(await page.text(), /&#60;b&#62;it&#60;\/b&#62; has expired/);
  assert.equal((await (await fetch(`${origin}/${UID}/files/a`, { method: "HEAD" })).arrayBuffer()).byteLength, 0);
});

test("a failed video serves only its page", async (t) => {
  const { get, objects } = await world(t, {
    video: { state: "error", errorReason: { code: "ERR_MALFORMED_VIDEO", text: "" } },
    routes: [
      route("watch", async (viewing) => viewing.sendText("sorry", { type: "text/html" }), { purpose: "page" }),
      route("thumbnails/thumbnail.jpg", () => assert.fail()),
      route("downloads/default.mp4", () => assert.fail(), { purpose: "download" }),
    ],
  });
  await objects.put("a", Buffer.from("a"));
  for (const path of ["files/a", "thumbnails/thumbnail.jpg", "downloads/default.mp4"]) {
    const response = await get(path);
    assert.equal(response.status, 424);
    assert.match(await response.text(), /^Failed Dependency.*ERR_MALFORMED_VIDEO/);
  }
  assert.equal(await (await get("watch")).text(), "sorry");
});

test("restricted content is not stored in shared caches, downloads have file names, and text responses have ETags", async (t) => {
  for (const video of [{ requireSignedURLs: true }, { allowedOrigins: ["example.com"] }]) {
    const { get, objects } = await world(t, { video });
    await objects.put("a", Buffer.from("a"));
    assert.equal((await get("files/a")).headers.get("cache-control"), "private, max-age=604800, immutable");
  }
  const { get, objects } = await world(t, {
    routes: [
      route("named", async (viewing) =>
        viewing.sendObject((await objects.open("a"))!, { type: "video/mp4", filename: 'a"b\r\nx: ü.mp4' }),
      ),
      route("text", async (viewing) =>
        viewing.sendText(`hello ${viewing.query.get("to")}`, { type: "text/plain", cache: 5 }),
      ),
    ],
  });
  await objects.put("a", Buffer.from("a"));
  const named = await get("named");
  assert.equal(named.headers.get("content-disposition"), 'attachment; filename="a_b__x: _.mp4"');
  assert.equal(named.headers.get("cache-control"), "no-store");
  const text = await get("text?to=you%20there");
  assert.deepEqual(
    [await text.text(), text.headers.get("cache-control"), text.headers.get("content-length")],
    ["hello you there", "public, max-age=5", "15"],
  );
  assert.equal(
    (await get("text?to=you%20there", { headers: { "if-none-match": text.headers.get("etag")! } })).status,
    304,
  );
  assert.equal((await get("text?to=me", { headers: { "if-none-match": text.headers.get("etag")! } })).status, 200);
});

test("long texts are compressed for clients that accept it, with the same ETag", async (t) => {
  const long = "#EXTINF:4.004,\n../segments/1080p/1.m4s\n".repeat(9000);
  const { origin } = await world(t, {
    routes: [route("long", async (viewing) => viewing.sendText(long, { type: "text/plain", cache: 5 }))],
  });
  const ask = (encoding: string, method = "GET") =>
    new Promise<{ headers: Record<string, unknown>; octets: number }>((resolve, reject) => {
      const client = request(
        `${origin}/${UID}/long`,
        { method, headers: { "accept-encoding": encoding } },
        (response) => {
          let octets = 0;
          response
            .on("data", (part: Buffer) => (octets += part.length))
            .on("end", () => resolve({ headers: response.headers, octets }));
        },
      );
      client.on("error", reject).end();
    });
  const plain = await ask("identity");
  assert.deepEqual(
    [plain.octets, plain.headers["content-encoding"], plain.headers["vary"]],
    [long.length, undefined, "Accept-Encoding"],
  );
  for (const field of ["gzip", "br, gzip", "gzip;q=0.5", "*"]) {
    const packed = await ask(field);
    assert.equal(packed.headers["content-encoding"], "gzip", field);
    assert.ok(packed.octets < long.length / 10);
    assert.equal(packed.headers["etag"], plain.headers["etag"]);
  }
  for (const field of ["br", "gzip;q=0", "gzip;q=0.0, br", "xgzip"])
    assert.equal((await ask(field)).headers["content-encoding"], undefined, field);
  assert.equal((await ask("gzip", "HEAD")).octets, 0);
  assert.equal(await (await fetch(`${origin}/${UID}/long`)).text(), long);
});

test("a customer's host serves only the videos of that account, and other hosts serve all videos", async (t) => {
  const video = anyVideo();
  const origin = new URL(
    await serveDelivery(t, {
      videos: [video],
      routes: [route("a", async (viewing) => viewing.sendText("here", { type: "text/plain" }))],
      domain: "videos.example",
    }),
  );
  const status = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      request({ host: origin.hostname, port: origin.port, path: `/${UID}/a`, headers: { host } }, (response) =>
        resolve(response.resume().statusCode),
      )
        .on("error", reject)
        .end();
    });
  assert.equal(await status(`customer-${customerCode(video.account)}.videos.example:8787`), 200);
  assert.equal(await status(`customer-${customerCode("b".repeat(32))}.videos.example`), 404);
  assert.equal(await status("127.0.0.1:8787"), 200);
});

/** Serves a body that yields what the test pushes, and whether the request accepts such a body. */
async function growingWorld(t: TestContext) {
  const sent = new TransformStream<Buffer, Buffer>(undefined, undefined, { highWaterMark: 0 });
  const result = Promise.withResolvers<unknown>();
  const more = await world(t, {
    routes: [
      route("growing", async (viewing) => {
        const sending = viewing.sendGrowing(sent.readable, { type: "video/mp4", cache: "immutable" });
        sending.then(() => result.resolve(undefined), result.resolve);
        await sending;
      }),
      route("accepts", async (viewing) => viewing.sendText(String(viewing.acceptsGrowing), { type: "text/plain" })),
    ],
  });
  return { ...more, body: sent.writable.getWriter(), result: result.promise };
}

test("a growing body is sent as it grows, without a length, and is complete only if its source is", async (t) => {
  const { get, body, result } = await growingWorld(t);
  const response = get("growing");
  await body.write(Buffer.from("begin"));
  const reader = (await response).body!.getReader();
  assert.equal(Buffer.from((await reader.read()).value!).toString(), "begin");
  const { headers } = await response;
  assert.deepEqual(
    ["content-length", "transfer-encoding", "etag", "cache-control"].map((name) => headers.get(name)),
    [null, "chunked", null, "public, max-age=604800, immutable"],
  );
  await body.write(Buffer.from(" end"));
  assert.equal(Buffer.from((await reader.read()).value!).toString(), " end");
  await body.close();
  assert.equal((await reader.read()).done, true);
  assert.equal(await result, undefined);

  const failing = await growingWorld(t);
  const broken = failing.get("growing");
  await failing.body.write(Buffer.from("begin"));
  await failing.body.abort(new Error("encoder"));
  await assert.rejects(async () => (await broken).arrayBuffer());
  assert.match(String(await failing.result), /encoder/);
});

test("a growing body is read no faster than the viewer, and ends when the viewer disconnects", async (t) => {
  const buffered: number[] = [];
  const ended = Promise.withResolvers<void>();
  const endless = async function* ({ response }: DeliveryContext) {
    try {
      for (;;) {
        buffered.push(response.writableLength);
        yield Buffer.alloc(1_000_000);
      }
    } finally {
      ended.resolve();
    }
  };
  const { origin } = await world(t, {
    routes: [route("endless", (viewing) => viewing.sendGrowing(endless(viewing), { type: "video/mp4" }))],
  });
  const client = request(`${origin}/${UID}/endless`, (response) => {
    let received = 0;
    response.on("data", ({ length }: Buffer) => (received += length) > 5_000_000 && client.destroy());
  });
  client.on("error", () => {}).end();
  await ended.promise;
  assert.ok(buffered.length > 5);
  assert.ok(Math.max(...buffered) < 1_000_000, `${Math.max(...buffered)} octets were buffered when more were read`);
});

test("only a GET request for the whole object over HTTP/1.1 gets a body that is still growing", async (t) => {
  const { origin, get } = await growingWorld(t);
  const accepts = async (headers: Record<string, string>) => (await get("accepts", { headers })).text();
  assert.equal(await accepts({}), "true");
  assert.equal(await accepts({ range: "bytes=0-9" }), "false");
  assert.equal(await accepts({ "if-none-match": '"a"' }), "false");
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  socket.end(`GET /${UID}/accepts HTTP/1.0\r\nHost: localhost\r\n\r\n`);
  assert.match(await text(socket), /false$/);
});
