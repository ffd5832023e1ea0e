import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { createManualClock } from "../../kernel/index.ts";
import { ACCOUNT, VIDEO_HEAD as HEAD } from "./uploads.testing.ts";
import { MIB, open, streamed } from "./tus.testing.ts";

test("a URL is valid only for its own upload, even if it also contains the path of a different upload", async (t) => {
  const { ask, patch, create, uploads, videos, base } = await open(t);
  const theirs = await create(6 * MIB);
  const { uploadUrl: mine, video: own } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
  await ask("POST", mine, { "upload-length": String(6 * MIB) });
  const path = new URL(mine).pathname;
  for (const [url, expected] of [
    [`${base}/upload/${theirs.uid}/x${path}`, 204],
    [`${mine}?/upload/${theirs.uid}/x`, 204],
    [`${base}/upload/${theirs.uid}/${"x".repeat(32)}?${path}`, 404],
  ] as const) {
    assert.equal((await patch(url, 0, Buffer.alloc(5 * MIB))).status, expected, url);
    assert.equal((await ask("HEAD", theirs.url)).headers.get("upload-offset"), "0", url);
    assert.equal((await ask("DELETE", url)).status, expected, url);
    assert.equal((await videos.find(theirs.uid))?.state, "pendingupload", url);
    await ask("POST", mine, { "upload-length": String(6 * MIB) });
  }
  assert.equal((await videos.find(own.uid))?.state, "pendingupload");
});

test("a terminated upload is deleted with its video, but an upload to a one-time URL can start again", async (t) => {
  const { create, ask, patch, videos, uploads, source } = await open(t);
  const own = await create(10);
  assert.equal((await ask("DELETE", own.url)).status, 204);
  assert.equal(await videos.find(own.uid), undefined);
  assert.equal((await ask("HEAD", own.url)).status, 404);

  const { uploadUrl, video } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
  assert.equal((await ask("HEAD", uploadUrl)).status, 404);
  const begin = (length: number, name = "mine.mp4") =>
    ask("POST", uploadUrl, {
      "upload-length": String(length),
      "upload-metadata": `name ${Buffer.from(name).toString("base64")},requiresignedurls`,
    });
  assert.deepEqual(
    [(await begin(10)).status, (await patch(uploadUrl, 0, HEAD.subarray(0, 4), { "upload-length": "10" })).status],
    [201, 400],
  );
  const chunked = Readable.toWeb(Readable.from([HEAD.subarray(0, 4)])) as ReadableStream;
  assert.equal((await patch(uploadUrl, 0, chunked)).headers.get("upload-offset"), "4");
  // The same file resumes; a different file starts from its beginning.
  await begin(10);
  assert.equal((await ask("HEAD", uploadUrl)).headers.get("upload-offset"), "4");
  await begin(10, "other.mp4");
  assert.equal((await ask("HEAD", uploadUrl)).headers.get("upload-offset"), "0");
  await patch(uploadUrl, 0, Readable.toWeb(Readable.from([HEAD.subarray(0, 2)])) as ReadableStream);
  await begin(6, "other.mp4");
  assert.equal((await ask("HEAD", uploadUrl)).headers.get("upload-offset"), "0");
  assert.equal((await ask("DELETE", uploadUrl)).status, 204);
  assert.equal((await ask("HEAD", uploadUrl)).status, 404);
  assert.equal((await begin(3)).headers.get("location"), new URL(uploadUrl).pathname);
  assert.equal((await patch(uploadUrl, 0, HEAD.subarray(0, 3))).status, 204);
  assert.deepEqual(await source(video.uid), HEAD.subarray(0, 3));
  // The owner sets the video's properties; the uploader sets the name only if the owner set none.
  const kept = (await videos.find(video.uid))!;
  assert.deepEqual([kept.state, kept.meta, kept.requireSignedURLs], ["queued", { name: "mine.mp4" }, false]);
  const reused = await begin(3);
  assert.deepEqual([reused.status, reused.headers.get("x-should-retry")], [409, "false"]);
});

test("an expired URL is rejected, but an upload that started in time may finish", async (t) => {
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const { create, ask, patch, uploads, videos } = await open(t, { clock });
  const begun = await create(10, {}, "/direct");
  const idle = await create(10, {}, "/direct");
  const { uploadUrl, video } = await uploads.direct(ACCOUNT, {
    maxDurationSeconds: 60,
    uploadExpiry: clock.now() + 120_000,
  });
  assert.equal(video.uploadExpiry, clock.now() + 120_000);
  clock.advance(29 * 60_000);
  assert.equal(
    (await patch(begun.url, 0, Readable.toWeb(Readable.from([HEAD.subarray(0, 4)])) as ReadableStream)).status,
    204,
  );
  clock.advance(2 * 60_000);
  await videos.sweep();
  for (const url of [idle.url, uploadUrl]) {
    for (const method of ["HEAD", "POST", "PATCH"]) {
      const { status } = await ask(method, url, { "upload-length": "5" });
      // Its video has been swept, or the URL has expired.
      assert.ok(status === 404 || status === 410, `${method} ${status}`);
    }
  }
  assert.equal((await ask("HEAD", begun.url)).headers.get("upload-offset"), "4");
  assert.equal(await uploads.isArriving(begun.uid), true);
  assert.equal((await patch(begun.url, 4, HEAD.subarray(4, 10))).status, 204);
  assert.equal((await videos.find(begun.uid))!.state, "queued");
});

test("closes an upload a day after its URL has expired, even if data keeps arriving", async (t) => {
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const { ask, patch, uploads } = await open(t, { clock });
  const { uploadUrl } = await uploads.direct(ACCOUNT, {
    maxDurationSeconds: 60,
    uploadExpiry: clock.now() + 10 * 60_000,
  });
  assert.equal((await ask("POST", uploadUrl, { "upload-length": "1000" })).status, 201);
  const drip = async (offset: number) =>
    (await patch(uploadUrl, offset, Readable.toWeb(Readable.from([Buffer.from("x")])) as ReadableStream)).status;
  // One byte every half hour, from ten minutes before the expiry until a day after it.
  for (let n = 0; n < 48; n++) {
    assert.equal(await drip(n), 204, `${n / 2} h`);
    clock.advance(30 * 60_000);
  }
  assert.equal(await drip(48), 204, "ten minutes before the end");
  clock.advance(11 * 60_000);
  assert.equal(await drip(49), 410);
  assert.equal((await ask("HEAD", uploadUrl)).status, 410);
});

test("rejects TUS uploads that cannot be videos, then accepts a video at the same URL", async (t) => {
  const { create, ask, patch, uploads, videos, objects, source } = await open(t);
  const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(6000, 7)]);
  for (const url of [(await create(png.length)).url, await direct()]) {
    for (const [file, reason] of [
      [png, /not a video: it is a PNG image/],
      [Buffer.from("just words, ".repeat(600)), /not a video: it is text/],
    ] as const) {
      assert.equal((await ask("POST", url, { "upload-length": String(file.length) })).status, 201);
      const refused = await patch(url, 0, file);
      assert.deepEqual([refused.status, reason.test(refused.text)], [400, true], refused.text);
    }
    // Sent in one-byte chunks, so that no single request has enough data to sniff.
    assert.equal((await ask("POST", url, { "upload-length": "3" })).status, 201);
    for (const [offset, byte] of ["a", "b"].entries())
      assert.equal((await patch(url, offset, streamed(Buffer.from(byte)))).status, 204);
    assert.match((await patch(url, 2, streamed(Buffer.from("c")))).text, /not a video: it is text/);
    const uid = new URL(url).pathname.split("/")[2]!;
    assert.deepEqual(
      [
        (await videos.find(uid))!.state,
        await objects.partial(`stream/${uid}/source`).size(),
        await objects.open(`stream/${uid}/source`),
      ],
      ["pendingupload", 0, undefined],
    );
    assert.equal((await ask("POST", url, { "upload-length": String(HEAD.length) })).status, 201);
    assert.equal((await patch(url, 0, HEAD)).status, 204);
    assert.deepEqual([(await videos.find(uid))!.state, await source(uid)], ["queued", HEAD]);
  }
  async function direct() {
    const { uploadUrl } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
    return uploadUrl;
  }
});

test("a one-time URL accepts another file after one that fails processing, but not after a playable video", async (t) => {
  const { ask, patch, uploads, videos, objects, source } = await open(t);
  const {
    uploadUrl: url,
    video: { uid },
  } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
  const shown = async () =>
    JSON.parse((await ask("GET", url, { accept: "application/json" })).text) as { state: string; problem?: object };
  const send = async (bytes: Uint8Array) => {
    const { status } = await ask("POST", url, { "upload-length": String(bytes.length) });
    return status === 201 ? (await patch(url, 0, bytes)).status : status;
  };
  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of objects.list(`stream/${uid}/`)) found.push(key);
    return found;
  };
  assert.equal((await shown()).state, "open");
  assert.equal(await send(HEAD), 204);
  assert.deepEqual([await send(HEAD), (await shown()).state], [409, "processing"]);
  await objects.put(`stream/${uid}/mezzanine.mp4`, Buffer.from("an indexed copy"));
  await objects.put(`stream/${uid}/captions/x.vtt`, Buffer.from("the owner's"));
  await videos.failed(uid, "ERR_NON_VIDEO", "It has neither video nor audio.");
  const failed = await shown();
  assert.deepEqual(
    [failed.state, failed.problem],
    ["failed", { code: "ERR_NON_VIDEO", text: "It has neither video nor audio.", retry: true }],
  );
  const usage = () => videos.storageUsage(ACCOUNT);
  assert.equal((await usage()).reservedSeconds, 0);

  const other = Buffer.concat([HEAD, Buffer.alloc(500)]);
  assert.equal(await send(other), 204);
  const video = (await videos.find(uid))!;
  assert.deepEqual(
    [video.state, video.errorReason, video.size, await source(uid), (await usage()).reservedSeconds],
    ["queued", undefined, other.length, other, 60],
  );
  assert.deepEqual(await keys(), [`stream/${uid}/captions/x.vtt`, video.sourceKey]);
  assert.notEqual(video.sourceKey, `stream/${uid}/source`, "no object is replaced by one with other bytes");
  // Also with a form; after an internal error the URL accepts no other file.
  await videos.failed(uid, "ERR_MALFORMED_VIDEO");
  const form = new FormData();
  form.set("file", new Blob([HEAD]), "a.mp4");
  assert.equal((await ask("POST", url, {}, form)).status, 200);
  assert.deepEqual(await source(uid), HEAD);
  await videos.failed(uid, "ERR_UNKNOWN");
  assert.deepEqual(
    [await send(HEAD), (await shown()).problem],
    [409, { code: "ERR_UNKNOWN", text: (await videos.find(uid))!.errorReason!.text, retry: false }],
  );
});

test("a one-time URL with a failed file still expires", async (t) => {
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const { ask, patch, uploads, videos } = await open(t, { clock });
  const {
    uploadUrl: url,
    video: { uid },
  } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
  await ask("POST", url, { "upload-length": String(HEAD.length) });
  await patch(url, 0, HEAD);
  await videos.failed(uid, "ERR_NON_VIDEO");
  clock.advance(2 * 3_600_000);
  assert.equal((await ask("POST", url, { "upload-length": "5" })).status, 410);
  assert.equal(
    (JSON.parse((await ask("GET", url, { accept: "application/json" })).text) as { problem: { retry: boolean } })
      .problem.retry,
    false,
  );
});
