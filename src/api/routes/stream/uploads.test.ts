import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as tus from "tus-js-client";
import { createGuardedFetch } from "../../../kernel/guarded-fetch.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { createJobs, createLocalEvents, jobsMigrations, migrate, openSqlite } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import { streamErrors, streamMigrations } from "../../../stream/index.ts";
import { type WatermarkProfile, createVideos, createStreamUrls } from "../../../stream/videos/index.ts";
import { createUploads } from "../../../stream/uploads/index.ts";
import { startApi, TEST_ACCOUNT, TEST_TOKEN } from "../../api.testing.ts";
import { streamCopyRoutes } from "./copy.ts";
import { streamDirectUploadRoutes } from "./direct-upload.ts";
import { streamUploadsRoutes } from "./uploads.ts";

const STREAM = `/accounts/${TEST_ACCOUNT}/stream`;
const NOW = Date.UTC(2026, 10, 21);
const VIDEO = Buffer.concat([Buffer.from("000000206674797069736f6d", "hex"), Buffer.alloc(100_000, 7)]);
const PROFILE: WatermarkProfile = {
  uid: "f".repeat(32),
  name: "logo",
  size: 1000,
  width: 100,
  height: 50,
  opacity: 1,
  padding: 0.05,
  scale: 0.15,
  position: "upperRight",
  downloadedFrom: "https://example.com/logo.png",
  created: NOW,
};

async function setUp(t: TestContext, storageMinutes = 0) {
  const folder = mkdtempSync(join(tmpdir(), "stream-uploads-api-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...streamMigrations]);
  const events = createLocalEvents({ log: silentLog });
  const clock = createManualClock(NOW);
  const common = {
    db,
    events,
    clock,
    ids: randomIds,
    log: silentLog,
    objects: await openWriteOnceObjects({ folder: join(folder, "objects") }),
    jobs: createJobs({ db, clock, ids: randomIds, events, log: silentLog }),
  };
  const videos = createVideos({
    ...common,
    settings: { max_duration_seconds: 36_000, storage_minutes: storageMinutes, max_queued: 120, min_deletion_days: 30 },
  });
  const platform = createServer((request, response) => void uploads.http(request, response));
  await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(platform.address() as AddressInfo).port}`;
  const urls = createStreamUrls({ deliveryDomain: "", base: () => base });
  const uploads = createUploads({
    ...common,
    videos,
    urls,
    settings: { upload_gb: 1, basic_upload_mb: 1, chunk_mb: 200 },
    fetch: createGuardedFetch({ allowPrivate: true }),
    findWatermark: async (_, uid) =>
      uid === PROFILE.uid ? PROFILE : Promise.reject(streamErrors.videoNotFound({ uid })),
  });
  t.after(async () => {
    platform.closeAllConnections();
    await new Promise((resolve) => platform.close(resolve));
    await uploads.close();
    await videos.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const routes = [
    ...streamUploadsRoutes({ uploads, urls }),
    ...streamCopyRoutes({ uploads, urls }),
    ...streamDirectUploadRoutes({ uploads, urls }),
  ];
  return { ...(await startApi(t, { routes, clock })), videos, base, common };
}

test("a form upload returns the video, and an invalid form returns error 10059", async (t) => {
  const { call } = await setUp(t);
  const form = (bytes: Buffer) => {
    const data = new FormData();
    data.set("file", new Blob([new Uint8Array(bytes)]), "dog.mp4");
    return data;
  };
  const {
    status,
    body: { result },
  } = await call("POST", STREAM, { body: form(VIDEO) });
  assert.deepEqual(
    [status, result.status.state, result.status.pctComplete, result.size, result.meta, result.uploaded],
    [200, "queued", "0.000000", VIDEO.length, { name: "dog.mp4" }, new Date(NOW).toISOString()],
  );
  const refused = async (body: FormData | string, headers?: Record<string, string>) => {
    const response = await call("POST", STREAM, { body, ...(headers && { headers }) });
    return [response.status, response.body.errors[0].code];
  };
  assert.deepEqual(await refused(form(Buffer.from("<html>"))), [400, 10059]);
  assert.deepEqual(await refused(form(Buffer.concat([VIDEO, Buffer.alloc(1024 * 1024)]))), [413, 10901]);
  assert.deepEqual(await refused("{}", { "content-type": "application/json" }), [400, 10005]);
});

test("a TUS creation returns 201 with the URL and the video id, or its error in the envelope, and works with tus-js-client", async (t) => {
  const { call, url, videos, base } = await setUp(t);
  const created = await call("POST", STREAM, {
    headers: {
      "tus-resumable": "1.0.0",
      "upload-length": "100000",
      "upload-creator": "me",
      "upload-metadata": `name ${Buffer.from("a dog").toString("base64")}, requiresignedurls, watermark ${Buffer.from(PROFILE.uid).toString("base64")}`,
    },
    query: { direct_user: "true" },
  });
  assert.deepEqual([created.status, created.text, created.headers.get("tus-resumable")], [201, "", "1.0.0"]);
  const uid = created.headers.get("stream-media-id")!;
  assert.ok(created.headers.get("location")!.startsWith(`${base}/upload/${uid}/`));
  assert.match(created.headers.get("access-control-expose-headers")!, /location, stream-media-id/);
  const video = (await videos.find(uid))!;
  assert.deepEqual(
    [video.state, video.size, video.meta, video.requireSignedURLs, video.creator, video.watermark, video.uploadExpiry],
    ["pendingupload", 100_000, { name: "a dog" }, true, "me", PROFILE, NOW + 30 * 60_000],
  );
  const refused = await call("POST", STREAM, { headers: { "tus-resumable": "1.0.0" } });
  assert.deepEqual([refused.status, refused.body.errors[0].code, refused.body.result], [400, 10005, null]);
  const unknown = await call("POST", STREAM, {
    headers: {
      "tus-resumable": "1.0.0",
      "upload-length": "1",
      "upload-metadata": `watermark ${Buffer.from("x").toString("base64")}`,
    },
  });
  assert.deepEqual([unknown.status, unknown.body.errors[0].code], [404, 10003]);

  let media: string | undefined;
  for (const uploadDataDuringCreation of [false, true]) {
    await new Promise<void>((resolve, reject) =>
      new tus.Upload(VIDEO, {
        endpoint: `${url}${STREAM}`,
        headers: { Authorization: `Bearer ${TEST_TOKEN}` },
        metadata: { name: "by tus" },
        chunkSize: 52_428_800,
        retryDelays: [],
        uploadDataDuringCreation,
        onAfterResponse: (_, response) => void (media = response.getHeader("stream-media-id") ?? media),
        onError: reject,
        onSuccess: () => resolve(),
      }).start(),
    );
    assert.deepEqual([(await videos.find(media!))!.state, (await videos.find(media!))!.size], ["queued", VIDEO.length]);
  }
});

test("OPTIONS reports the TUS version, the extensions and the maximum size", async (t) => {
  const { url } = await setUp(t);
  const { status, headers } = await fetch(`${url}${STREAM}`, { method: "OPTIONS" });
  assert.deepEqual(
    [
      status,
      headers.get("tus-version"),
      headers.get("tus-resumable"),
      headers.get("tus-extension"),
      headers.get("tus-max-size"),
      headers.get("access-control-allow-origin"),
    ],
    [
      204,
      "1.0.0",
      "1.0.0",
      "creation,creation-with-upload,creation-defer-length,expiration,termination",
      String(1024 ** 3),
      "*",
    ],
  );
});

test("a one-time URL stores the requested fields, reserves quota, and releases it if unused", async (t) => {
  const {
    call,
    videos,
    common: { clock },
  } = await setUp(t, 10);
  const deletion = new Date(NOW + 40 * 86_400_000).toISOString();
  const {
    status,
    body: { result },
  } = await call("POST", `${STREAM}/direct_upload`, {
    body: {
      maxDurationSeconds: 300,
      creator: "me",
      scheduledDeletion: deletion,
      watermark: { uid: PROFILE.uid },
      meta: { name: "x", number: 5 },
      allowedOrigins: ["example.com"],
      requireSignedURLs: true,
      thumbnailTimestampPct: 0.5,
      expiry: new Date(NOW + 3_600_000).toISOString(),
    },
  });
  assert.deepEqual(
    [status, Object.keys(result).sort(), result.creator, result.scheduledDeletion, result.watermark.uid],
    [200, ["creator", "scheduledDeletion", "uid", "uploadURL", "watermark"], "me", deletion, PROFILE.uid],
  );
  const video = (await videos.find(result.uid))!;
  assert.deepEqual(
    [
      video.state,
      video.maxDurationSeconds,
      video.meta,
      video.allowedOrigins,
      video.requireSignedURLs,
      video.thumbnailTimestampPct,
      video.uploadExpiry,
    ],
    ["pendingupload", 300, { name: "x", number: 5 }, ["example.com"], true, 0.5, NOW + 3_600_000],
  );
  const plain = await call("POST", `${STREAM}/direct_upload`, {
    body: { maxDurationSeconds: 60 },
    headers: { "Upload-Creator": "you" },
  });
  assert.deepEqual(
    [plain.body.result.watermark, plain.body.result.scheduledDeletion, plain.body.result.creator],
    [null, null, "you"],
  );
  const full = await call("POST", `${STREAM}/direct_upload`, { body: { maxDurationSeconds: 300 } });
  assert.deepEqual([full.status, full.body.errors[0].code], [413, 10011]);
  clock.advance(3_600_001);
  await videos.sweep();
  assert.equal((await call("POST", `${STREAM}/direct_upload`, { body: { maxDurationSeconds: 300 } })).status, 200);
  for (const body of [
    {},
    { maxDurationSeconds: 0 },
    { maxDurationSeconds: 36_001 },
    { maxDurationSeconds: "60" },
    { maxDurationSeconds: 1.5 },
    { maxDurationSeconds: 60, expiry: "soon" },
    { maxDurationSeconds: 60, expiry: new Date(NOW).toISOString() },
    { maxDurationSeconds: 60, scheduledDeletion: new Date(NOW + 86_400_000).toISOString() },
  ]) {
    const refused = await call("POST", `${STREAM}/direct_upload`, { body });
    assert.deepEqual([refused.status, refused.body.errors[0].code], [400, 10005], refused.text);
  }
});

test("a copy returns the video with its size, and accepts input or the older fields url, name and meta.name", async (t) => {
  const { call } = await setUp(t);
  const origin = createServer((_, response) => void response.writeHead(200, { "content-length": VIDEO.length }).end());
  await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve));
  t.after(() => void origin.close());
  const from = `http://127.0.0.1:${(origin.address() as AddressInfo).port}/dog.mp4`;
  for (const [body, name] of [
    [{ input: from, meta: { name: "A" } }, "A"],
    [{ url: from, name: "B" }, "B"],
  ] as const) {
    const {
      status,
      body: { result },
    } = await call("POST", `${STREAM}/copy`, { body });
    assert.deepEqual(
      [
        status,
        result.status.state,
        result.readyToStream,
        result.duration,
        result.input,
        result.meta,
        result.size,
        result.maxSizeBytes,
      ],
      [200, "downloading", false, -1, { width: -1, height: -1 }, { name, "downloaded-from": from }, VIDEO.length, 0],
    );
  }
  for (const [body, code] of [
    [{}, 10005],
    [{ input: "video.mp4" }, 10010],
    [{ input: "http://127.0.0.1:1/" }, 10010],
    [{ input: from, watermark: { uid: 5 } }, 10005],
  ] as const) {
    const refused = await call("POST", `${STREAM}/copy`, { body });
    assert.deepEqual([refused.status, refused.body.errors[0].code], [400, code], refused.text);
  }
});
