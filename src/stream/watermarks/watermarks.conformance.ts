import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { deflateSync } from "node:zlib";
import type { TestEngine } from "../../../test/support/databases.ts";
import { needsFfmpeg } from "../../../test/support/media.ts";
import { createManualClock, randomIds, silentLog, UserError } from "../../kernel/index.ts";
import { createGuardedFetch } from "../../kernel/guarded-fetch.ts";
import { streamErrors } from "../errors.ts";
import { createMediaTools } from "../media/tools.ts";
import { chunk, END, header, png, SIGNATURE } from "./png.testing.ts";
import { MAX_WATERMARK_BYTES } from "./port.ts";
import { streamWatermarksMigrations } from "./watermarks-table.ts";
import { createWatermarks, type WatermarksDeps } from "./watermarks.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";

const A = "a".repeat(32);
const B = "b".repeat(32);
const VIDEO = "e".repeat(32);
const NOW = Date.UTC(2026, 10, 21);
const PNG = png(20, 10);
const kind =
  (name: string, text = /./) =>
  (err: unknown) =>
    err instanceof UserError && err.kind === name && text.test(err.message);
const noTools: WatermarksDeps["tools"] = {
  ffmpeg: async () => Promise.reject(streamErrors.mediaToolsMissing({ reason: "none in this test" })),
};

async function setUp(t: TestContext, engine: TestEngine, more: Partial<WatermarksDeps> = {}) {
  const { db } = await engine.open(t, streamWatermarksMigrations);
  const folder = mkdtempSync(join(tmpdir(), "reelpost-watermarks-"));
  const objects = await openWriteOnceObjects({ folder });
  const clock = createManualClock(NOW);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const watermarks = createWatermarks({
    db,
    objects,
    tools: noTools,
    fetch: createGuardedFetch({ allowPrivate: true }),
    clock,
    ids: randomIds,
    log: silentLog,
    ...more,
  });
  const kept = async (prefix: string) => {
    const keys: string[] = [];
    for await (const { key } of objects.list(prefix)) keys.push(key);
    return keys;
  };
  return { watermarks, objects, clock, kept };
}

async function serve(
  t: TestContext,
  answers: Record<string, { status?: number; body?: Buffer; location?: string }>,
): Promise<string> {
  const server = createServer((request, response) => {
    const { status = 200, body = Buffer.alloc(0), location } = answers[request.url ?? ""] ?? { status: 404 };
    response.writeHead(status, location === undefined ? {} : { location }).end(body);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function watermarksConformance(engine: TestEngine): void {
  test("a profile is created with the given or default values, and listed, shown and deleted only by its account", async (t) => {
    const { watermarks, clock } = await setUp(t, engine);
    const usual = await watermarks.create(A, PNG);
    assert.deepEqual(usual, {
      uid: usual.uid,
      name: "",
      size: PNG.length,
      width: 20,
      height: 10,
      opacity: 1,
      padding: 0.05,
      scale: 0.15,
      position: "upperRight",
      downloadedFrom: null,
      created: NOW,
    });
    clock.advance(5);
    const customized = await watermarks.create(A, PNG, {
      name: "Logo",
      opacity: 0.75,
      padding: 0.1,
      scale: 0,
      position: "center",
    });
    assert.deepEqual(await watermarks.list(A), [usual, customized]);
    assert.deepEqual(await watermarks.get(A, customized.uid), {
      ...usual,
      uid: customized.uid,
      name: "Logo",
      opacity: 0.75,
      padding: 0.1,
      scale: 0,
      position: "center",
      created: NOW + 5,
    });
    assert.deepEqual(await watermarks.list(B), []);
    await assert.rejects(watermarks.get(B, usual.uid), kind("watermarkNotFound"));
    await assert.rejects(watermarks.delete(B, usual.uid), kind("watermarkNotFound"));
    for (const work of [() => watermarks.get(A, "a\0"), () => watermarks.delete(A, "a\0")])
      await assert.rejects(work(), kind("watermarkNotFound"));
    await watermarks.delete(A, usual.uid);
    await assert.rejects(watermarks.get(A, usual.uid), kind("watermarkNotFound"));
    await assert.rejects(watermarks.delete(A, usual.uid), kind("watermarkNotFound"));
    assert.deepEqual(await watermarks.list(A), [customized]);
  });

  test("invalid parameters, invalid images and profiles above the limit are rejected, and no data from them is stored", async (t) => {
    const { watermarks, kept } = await setUp(t, engine, { max: 1 });
    for (const invalid of [
      { opacity: 1.1 },
      { padding: -0.1 },
      { scale: Number.NaN },
      { position: "middle" as "center" },
      { name: "x".repeat(256) },
    ])
      await assert.rejects(watermarks.create(A, PNG, invalid), kind("badParameter"));
    await assert.rejects(watermarks.create(A, Buffer.from("no image")), kind("badImage", /not a PNG/));
    await assert.rejects(watermarks.create(A, Buffer.alloc(MAX_WATERMARK_BYTES + 1)), kind("badImage", /2097152/));
    await assert.rejects(
      watermarks.create(A, Buffer.concat([SIGNATURE, header(10_000, 10_000), END])),
      kind("badImage", /16777216/),
    );
    await watermarks.create(A, PNG);
    await assert.rejects(watermarks.create(A, PNG), kind("tooManyWatermarks", /maximum of 1 /));
    assert.equal((await kept("stream-watermarks/")).length, 1);
    assert.equal(streamErrors.badImage().entry.code, 10004);
  });

  test("an image is fetched from its URL, through redirects, and the URL is stored", async (t) => {
    const { watermarks, kept } = await setUp(t, engine);
    const base = await serve(t, {
      "/logo.png": { body: PNG },
      "/moved": { status: 302, location: "/logo.png" },
      "/text": { body: Buffer.from("hello") },
      "/large": { body: Buffer.alloc(MAX_WATERMARK_BYTES + 1) },
    });
    assert.equal((await watermarks.createFromUrl(A, `${base}/moved`)).downloadedFrom, `${base}/moved`);
    await assert.rejects(watermarks.createFromUrl(A, `${base}/none`), kind("invalidUrl", /responded with status 404/));
    await assert.rejects(watermarks.createFromUrl(A, `${base}/text`), kind("badImage"));
    await assert.rejects(watermarks.createFromUrl(A, `${base}/large`), kind("invalidUrl", /exceeds 2097152 bytes/));
    await assert.rejects(
      watermarks.createFromUrl(A, "file:///etc/passwd"),
      kind("invalidUrl", /only http: and https: are supported/),
    );
    await assert.rejects(
      (await setUp(t, engine, { fetch: createGuardedFetch({ allowPrivate: false }) })).watermarks.createFromUrl(
        A,
        `${base}/logo.png`,
      ),
      kind("urlNotPublic"),
    );
    assert.equal((await kept("stream-watermarks/")).length, 1);
  });

  test("a video keeps its watermark after the profile is deleted, and images are deleted once no upload can use them", async (t) => {
    const { watermarks, objects, clock, kept } = await setUp(t, engine);
    const profile = await watermarks.create(A, PNG, { opacity: 0.5 });
    assert.equal(await watermarks.copyForVideo({ uid: VIDEO, watermark: null }), undefined);
    await watermarks.delete(A, profile.uid);
    await watermarks.sweep();
    // A slow upload.
    assert.deepEqual(await watermarks.copyForVideo({ uid: VIDEO, watermark: profile }), {
      key: `stream/${VIDEO}/watermark.png`,
      width: 20,
      height: 10,
      opacity: 0.5,
      padding: 0.05,
      scale: 0.15,
      position: "upperRight",
    });
    clock.advance(31 * 86_400_000);
    await watermarks.sweep();
    assert.deepEqual(await kept("stream-watermarks/"), []);
    assert.deepEqual(await (await objects.open(`stream/${VIDEO}/watermark.png`))!.bytes(), PNG);
    assert.ok(await watermarks.copyForVideo({ uid: VIDEO, watermark: profile }));
    assert.equal(await watermarks.copyForVideo({ uid: "f".repeat(32), watermark: profile }), undefined);
  });

  test("an image with a valid structure but corrupt pixels is rejected by the decoder", needsFfmpeg, async (t) => {
    const tools = createMediaTools({
      settings: { ffmpeg: "", ffprobe: "", sandbox: "auto", user_id: 70_000, encoders: 1, urgent_encoders: 1 },
      log: silentLog,
    });
    t.after(() => tools.close());
    const { watermarks, kept } = await setUp(t, engine, { tools });
    await watermarks.create(A, png(33, 17));
    await assert.rejects(
      watermarks.create(A, png(33, 17, { pixels: Buffer.alloc(40) })),
      kind("badImage", /cannot be decoded/),
    );
    await assert.rejects(
      watermarks.create(A, Buffer.concat([SIGNATURE, header(8, 8), chunk("IDAT", Buffer.from("no zlib at all")), END])),
      kind("badImage", /cannot be decoded/),
    );
    await assert.rejects(
      watermarks.create(
        A,
        Buffer.concat([SIGNATURE, header(8, 8), chunk("IDAT", deflateSync(Buffer.alloc(8 * 33)).subarray(0, 6)), END]),
      ),
      kind("badImage", /cannot be decoded/),
    );
    assert.equal((await kept("stream-watermarks/")).length, 1);
  });
}
