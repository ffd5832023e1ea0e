import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { ACCOUNT, VIDEO_HEAD as HEAD } from "./uploads.testing.ts";
import * as tus from "tus-js-client";
import { MIB, open, streamed } from "./tus.testing.ts";

const upload = (bytes: Buffer, options: tus.UploadOptions): Promise<tus.Upload & { uid: string | undefined }> =>
  new Promise((resolve, reject) => {
    let uid: string | undefined;
    const running = new tus.Upload(bytes, {
      ...options,
      onError: reject,
      onAfterResponse: (_, response) => void (uid = response.getHeader("stream-media-id") ?? uid),
      onSuccess: () => resolve(Object.assign(running, { uid })),
    });
    running.start();
  });

/** Sent without Content-Length, so chunk size rules do not apply. */

test("tus-js-client uploads in chunks, and the video is queued with exactly the sent bytes", async (t) => {
  const { base, videos, source } = await open(t);
  const bytes = randomBytes(12 * MIB + 12_345);
  const { uid, url } = await upload(bytes, {
    endpoint: `${base}/tus`,
    chunkSize: 5 * MIB,
    metadata: { name: "Holiday", requiresignedurls: "true", filetype: "video/mp4" },
    headers: { authorization: "Bearer x", "Upload-Creator": "me" },
  });
  const video = (await videos.find(uid!))!;
  assert.deepEqual(
    [video.state, video.size, video.meta, video.requireSignedURLs, video.creator],
    ["queued", bytes.length, { name: "Holiday", filetype: "video/mp4" }, true, "me"],
  );
  assert.equal(Buffer.compare((await source(uid!))!, bytes), 0);
  // A client that lost the last response retries, and is informed that everything is stored.
  const again = await upload(bytes, { uploadUrl: url!, endpoint: `${base}/tus` });
  assert.equal(again.uid, uid);
});

test("supports creation-with-upload and the method override", async (t) => {
  const { base, videos, source, ask } = await open(t);
  const bytes = randomBytes(300_000);
  const { uid } = await upload(bytes, {
    endpoint: `${base}/tus`,
    uploadDataDuringCreation: true,
    overridePatchMethod: true,
  });
  assert.equal((await videos.find(uid!))!.state, "queued");
  const over = await upload(randomBytes(200_000), { endpoint: `${base}/tus`, overridePatchMethod: true });
  assert.equal((await videos.find(over.uid!))!.state, "queued");
  assert.equal(Buffer.compare((await source(uid!))!, bytes), 0);
  const early = await ask(
    "POST",
    `${base}/tus`,
    { "upload-length": "10", "content-type": "application/offset+octet-stream" },
    HEAD.subarray(0, 4),
  );
  assert.deepEqual([early.status, early.headers.get("upload-offset")], [201, "4"]);
});

test("a disconnected client resumes where it stopped, and a wrong offset changes nothing", async (t) => {
  const { create, ask, patch, videos, source, base } = await open(t);
  const bytes = randomBytes(6 * MIB);
  const { url, uid } = await create(bytes.length);
  // A connection that breaks in the middle of a chunk.
  const half = 2 * MIB + 4321;
  const socket = connect(Number(new URL(base).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    `PATCH ${new URL(url).pathname} HTTP/1.1\r\nhost: x\r\ntus-resumable: 1.0.0\r\nupload-offset: 0\r\ncontent-type: application/offset+octet-stream\r\ncontent-length: ${bytes.length}\r\n\r\n`,
  );
  await new Promise<void>((resolve) => socket.write(bytes.subarray(0, half), () => resolve()));
  const sent = async (): Promise<number> => Number((await ask("HEAD", url)).headers.get("upload-offset"));
  // HEAD causes the previous request to release the lock, although its connection is still open.
  let offset = await sent();
  while (offset === 0) offset = await sent();
  assert.ok(offset <= half, String(offset));
  socket.destroy();

  for (const wrong of [0, offset - 1, offset + 1, bytes.length]) {
    const refused = await patch(url, wrong, bytes.subarray(wrong));
    assert.equal(refused.status, 409, `${wrong}: ${refused.text}`);
  }
  assert.equal(await sent(), offset);
  const done = await patch(url, offset, bytes.subarray(offset));
  assert.deepEqual([done.status, done.headers.get("upload-offset")], [204, String(bytes.length)]);
  assert.equal(Buffer.compare((await source(uid))!, bytes), 0);
  assert.equal((await videos.find(uid))!.state, "queued");
  // A completed upload is not written again.
  assert.equal((await patch(url, bytes.length, Buffer.alloc(0))).status, 409);
  assert.equal((await ask("DELETE", url)).status, 400);
});

test("chunks that violate the rules are rejected with an error that states the rule and the value, and leave the upload unchanged", async (t) => {
  const { create, ask, patch, videos } = await open(t);
  const { url, uid } = await create(20 * MIB);
  const refused = await patch(url, 0, Buffer.alloc(5 * MIB + 100));
  assert.equal(refused.status, 400);
  assert.match(
    refused.text,
    /Chunk size must be a multiple of 256KiB \(262144 bytes\) unless it is the last one, not 5242980 bytes/,
  );
  assert.match((await patch(url, 0, Buffer.alloc(262_144))).text, /at least 5242880/);
  // Sends more than the upload's length, with and without Content-Length.
  assert.equal((await patch(url, 0, Buffer.alloc(21 * MIB))).status, 413);
  const endless = Readable.toWeb(
    Readable.from(
      (async function* () {
        for (let n = 0; n < 90; n++) yield Buffer.alloc(256 * 1024);
      })(),
    ),
  ) as ReadableStream;
  const tooMuch = await patch(url, 0, endless);
  assert.equal(tooMuch.status, 413, tooMuch.text);
  assert.equal((await videos.find(uid))!.state, "pendingupload");
  const head = await ask("HEAD", url);
  assert.ok(Number(head.headers.get("upload-offset")) <= 20 * MIB);
});

test("invalid creations are rejected before a video is created", async (t) => {
  const { base, ask, db } = await open(t, {
    more: { settings: { upload_gb: 0.001, basic_upload_mb: 1, chunk_mb: 1 } },
  });
  const creation = (headers: Record<string, string>) => ask("POST", `${base}/tus`, headers);
  for (const [headers, status, text] of [
    [{}, 400, /Upload-Length is required/],
    [{ "upload-length": "-1" }, 400, /not "-1"/],
    [{ "upload-length": "1e3" }, 400, /Upload-Length must be/],
    [{ "upload-defer-length": "2" }, 400, /Upload-Defer-Length must be 1/],
    [{ "upload-defer-length": "1", "upload-length": "5" }, 400, /mutually exclusive/],
    [{ "upload-length": "0" }, 400, /empty/],
    [{ "upload-length": "1073742" }, 413, /larger than 1073741 bytes: Upload-Length is 1073742/],
    [{ "upload-length": "5", "upload-concat": "partial" }, 400, /Concat/],
    [{ "upload-length": "5", "tus-resumable": "0.2.2" }, 412, /not "0.2.2"/],
    [{ "upload-length": "5", "upload-creator": "c".repeat(65) }, 400, /64/],
    [
      { "upload-length": "5", "upload-metadata": `watermark ${Buffer.from("x").toString("base64")}` },
      400,
      /watermark profile "x" does not exist/,
    ],
    [
      { "upload-length": "5", "upload-metadata": `expiry ${Buffer.from("2020-01-01T00:00:00Z").toString("base64")}` },
      400,
      /in the future/,
    ],
  ] as const) {
    const refused = await creation(headers);
    assert.equal(refused.status, status);
    assert.match(refused.text, text);
  }
  assert.deepEqual(
    await db.tables<{ stream_videos: { uid: string } }>().selectFrom("stream_videos").select("uid").execute(),
    [],
  );
});

test("an unknown URL is not found, and CORS headers list the allowed and exposed headers", async (t) => {
  const { create, ask, base } = await open(t);
  const { url, uid } = await create(10);
  for (const other of [
    `${base}/upload/${uid}/${"x".repeat(32)}`,
    `${base}/upload/${"0".repeat(32)}/${"x".repeat(32)}`,
    `${base}/upload/${uid}`,
    `${base}/upload/`,
    url.slice(0, -1),
  ]) {
    for (const method of ["HEAD", "PATCH", "DELETE", "GET", "POST"])
      assert.equal((await ask(method, other)).status, 404, `${method} ${other}`);
  }
  assert.equal((await ask("HEAD", url, { "tus-resumable": "9" })).status, 412);
  assert.equal((await ask("PUT", url)).status, 405);
  const preflight = await ask("OPTIONS", url, {
    origin: "https://example.com",
    "access-control-request-method": "PATCH",
  });
  assert.deepEqual([preflight.status, preflight.headers.get("access-control-allow-origin")], [204, "*"]);
  for (const method of ["POST", "HEAD", "PATCH", "DELETE", "OPTIONS"])
    assert.ok(preflight.headers.get("access-control-allow-methods")!.includes(method));
  for (const name of [
    "Authorization",
    "Content-Type",
    "Tus-Resumable",
    "Upload-Length",
    "Upload-Metadata",
    "Upload-Offset",
    "Upload-Creator",
    "X-HTTP-Method-Override",
    "X-Request-ID",
  ])
    assert.ok(preflight.headers.get("access-control-allow-headers")!.includes(name), name);
  // Headers of a reverse proxy, in any form.
  const head = await ask("HEAD", url, { origin: "https://example.com", "x-forwarded-proto": "https, http" });
  assert.deepEqual(
    [
      head.status,
      head.headers.get("upload-offset"),
      head.headers.get("upload-length"),
      head.headers.get("access-control-allow-origin"),
      head.headers.get("cache-control"),
      head.headers.get("stream-media-id"),
    ],
    [200, "0", "10", "*", "no-store", uid],
  );
  for (const name of ["Location", "Stream-Media-Id", "Upload-Offset", "Upload-Length", "Tus-Resumable"])
    assert.ok(head.headers.get("access-control-expose-headers")!.includes(name), name);
});

test("no data of a deleted video remains, and data that still arrives is rejected", async (t) => {
  const { create, patch, videos, objects, uploads } = await open(t);
  const { url, uid } = await create(10);
  await patch(url, 0, Readable.toWeb(Readable.from([HEAD.subarray(0, 4)])) as ReadableStream);
  assert.equal(await objects.partial(`stream/${uid}/source`).size(), 4);
  videos.start();
  await videos.delete(ACCOUNT, uid);
  while ((await objects.partial(`stream/${uid}/source`).size()) > 0 || (await uploads.isArriving(uid)))
    await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await patch(url, 4, HEAD.subarray(4, 10))).status, 404);
});

test("Upload-Defer-Length lets a later chunk declare the length", async (t) => {
  const { base, ask, patch, uploads, videos, source } = await open(t);
  const bytes = Buffer.concat([HEAD, randomBytes(11 * MIB)]);
  // tus-js-client, with a stream of unknown length.
  const uid = await new Promise<string>((resolve, reject) => {
    let media = "";
    new tus.Upload(
      Readable.from(
        (function* () {
          for (let at = 0; at < bytes.length; at += 300_000) yield bytes.subarray(at, at + 300_000);
        })(),
      ),
      {
        endpoint: `${base}/tus`,
        chunkSize: 5 * MIB,
        uploadLengthDeferred: true,
        retryDelays: [],
        onError: reject,
        onAfterResponse: (_, response) => void (media = response.getHeader("stream-media-id") ?? media),
        onSuccess: () => resolve(media),
      },
    ).start();
  });
  const video = (await videos.find(uid))!;
  assert.deepEqual([video.state, video.size, Buffer.compare((await source(uid))!, bytes)], ["queued", bytes.length, 0]);

  const { uploadUrl: url } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
  assert.equal((await ask("POST", url, { "upload-defer-length": "1" })).status, 201);
  assert.equal((await patch(url, 0, streamed(HEAD.subarray(0, 8)))).headers.get("upload-offset"), "8");
  const head = await ask("HEAD", url);
  assert.deepEqual(
    [head.headers.get("upload-defer-length"), head.headers.get("upload-length"), head.headers.get("upload-offset")],
    ["1", null, "8"],
  );
  assert.equal((await patch(url, 8, HEAD.subarray(8), { "upload-length": "4" })).status, 400);
  assert.equal((await patch(url, 8, streamed(HEAD.subarray(8)), { "upload-length": String(2 ** 31) })).status, 413);
  assert.equal((await patch(url, 8, new Uint8Array(0), { "upload-length": String(HEAD.length) })).status, 204);
  assert.equal((await ask("HEAD", url)).headers.get("upload-length"), String(HEAD.length));
  assert.equal((await patch(url, 8, HEAD.subarray(8))).status, 204);
});

test("rejects a deferred-length upload that exceeds stream.upload_gb", async (t) => {
  const {
    create: _,
    ask,
    patch,
    uploads,
  } = await open(t, { more: { settings: { upload_gb: 0.001, basic_upload_mb: 1, chunk_mb: 0 } } });
  const { uploadUrl: url } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
  assert.equal((await ask("POST", url, { "upload-defer-length": "1" })).status, 201);
  const refused = await patch(url, 0, streamed(Buffer.concat([HEAD, Buffer.alloc(1_100_000)])));
  assert.deepEqual(
    [refused.status, /larger than 1073741 bytes.*stream.upload_gb/.test(refused.text)],
    [413, true],
    refused.text,
  );
});

test("rejects Upload-Checksum, an extension that OPTIONS does not list", async (t) => {
  const { create, ask, patch, base } = await open(t);
  const { url } = await create(HEAD.length);
  const checksum = { "upload-checksum": "sha1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=" };
  for (const refused of [
    await patch(url, 0, HEAD, checksum),
    await ask("POST", `${base}/tus`, { "upload-length": "5", ...checksum }),
  ])
    assert.deepEqual(
      [refused.status, /Upload-Checksum is not supported/.test(refused.text)],
      [400, true],
      refused.text,
    );
  assert.equal((await ask("HEAD", url)).headers.get("upload-offset"), "0");
  const { headers } = await ask("OPTIONS", url);
  assert.deepEqual(
    [headers.get("tus-version"), headers.get("tus-extension"), headers.get("tus-max-size")],
    ["1.0.0", "creation,creation-with-upload,creation-defer-length,expiration,termination", String(1024 ** 3)],
  );
});
