import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createGuardedFetch } from "../../kernel/guarded-fetch.ts";
import { createManualClock, UserError } from "../../kernel/index.ts";
import { VIDEO_CHANGED } from "../videos/known.ts";
import { createUploadsTable } from "./uploads-table.ts";
import { ACCOUNT, openUploadsFixture, VIDEO_HEAD, type UploadsFixtureOptions } from "./uploads.testing.ts";

async function open(t: TestContext, options: Partial<UploadsFixtureOptions> = {}) {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "reelpost-copies-"));
  const world = await openUploadsFixture({ ...options, folder });
  t.after(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });
  /** Waits until the video's state is no longer `downloading`. */
  const settled = async (uid: string) => {
    for (;;) {
      const video = (await world.videos.find(uid))!;
      if (video.state !== "downloading") return video;
      await new Promise((resolve) => setTimeout(resolve, 5).unref());
    }
  };
  return { ...world, settled };
}

type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** Starts an origin that records its requests. */
async function startOrigin(t: TestContext, answer: Answer) {
  const requested: string[] = [];
  const server = createServer((request, response) => {
    requested.push(`${request.method} ${request.headers.range ?? ""}`.trim());
    answer(request, response, requested.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/video.mp4?secret=1`, requested };
}

/** Responds like a file server; `cut`: number of bytes after which this response ends. */
function serve(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  { etag = '"1"', cut }: { etag?: string; cut?: number } = {},
) {
  const [, from] = /^bytes=(\d+)-/.exec(request.headers.range ?? "") ?? [];
  const fits = request.headers["if-range"] === undefined || request.headers["if-range"] === etag;
  const start = from !== undefined && fits ? Number(from) : 0;
  response.writeHead(from !== undefined && fits ? 206 : 200, {
    etag,
    "content-length": bytes.length - start,
    ...(from !== undefined && fits && { "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
  });
  if (request.method === "HEAD") return void response.end();
  if (cut === undefined) return void response.end(bytes.subarray(start));
  response.write(bytes.subarray(start, start + cut), () => setTimeout(() => response.destroy(), 5));
}

const video = (size: number) => Buffer.concat([VIDEO_HEAD, randomBytes(size)]);
const refusedWith = (code: number, text: RegExp) => (err: unknown) =>
  (err instanceof UserError && err.code === code && text.test(err.message)) || assert.fail(String(err));

test("a video is fetched from its URL, and its size is known immediately", async (t) => {
  const bytes = video(3_000_000);
  const origin = await startOrigin(t, (request, response) => serve(request, response, bytes));
  const { uploads, settled, source } = await open(t);
  const made = await uploads.copy(ACCOUNT, { url: origin.url, creator: "me", meta: { name: "Dog" } });
  assert.deepEqual(
    [made.state, made.size, made.meta, made.creator, made.readyToStream],
    ["downloading", bytes.length, { name: "Dog", "downloaded-from": origin.url }, "me", false],
  );
  uploads.start();
  const done = await settled(made.uid);
  assert.deepEqual([done.state, done.size], ["queued", bytes.length]);
  assert.equal(Buffer.compare((await source(made.uid))!, bytes), 0);
  assert.deepEqual(origin.requested, ["HEAD", "GET"]);
});

test("an interrupted copy resumes where it stopped, even after a process restart", async (t) => {
  const bytes = video(900_000);
  const waiting = Promise.withResolvers<void>();
  // HEAD, two responses that end early, a request without a response, and a complete response.
  const origin = await startOrigin(t, (request, response, count) => {
    if (count === 4) return waiting.resolve();
    serve(request, response, bytes, count === 2 || count === 3 ? { cut: 300_000 } : {});
  });
  const folder = mkdtempSync(join(tmpdir(), "reelpost-copies-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const first = await openUploadsFixture({ folder });
  first.uploads.start();
  const { uid } = await first.uploads.copy(ACCOUNT, { url: origin.url });
  await waiting.promise;
  await first.close();
  const { uploads, settled, source } = await open(t, { folder });
  uploads.start();
  assert.equal((await settled(uid)).state, "queued");
  assert.equal(Buffer.compare((await source(uid))!, bytes), 0);
  const [head, whole, ...ranges] = origin.requested;
  assert.deepEqual([head, whole], ["HEAD", "GET"]);
  // Data that had not been read when the connection closed is requested again.
  const [second, third, fourth] = ranges.map((range) => Number(/^GET bytes=(\d+)-$/.exec(range)?.[1]));
  assert.ok(0 < second! && second! <= 300_000 && second! < third! && third! <= 600_000, ranges.join());
  assert.equal(fourth, third);
  assert.equal(ranges.length, 3);
});

test("a file that changes during the copy is copied again from the start, and origins without HEAD, ranges or length are supported", async (t) => {
  const [first, second] = [video(500_000), video(500_000)];
  const changing = await startOrigin(t, (request, response, count) =>
    serve(
      request,
      response,
      count <= 2 ? first : second,
      count <= 2 ? (request.method === "GET" ? { cut: 200_000 } : {}) : { etag: '"2"' },
    ),
  );
  const plain = await startOrigin(t, (request, response, count): void => {
    if (request.method === "HEAD") return void response.writeHead(405).end();
    // Chunked, without ranges; the first response is incomplete.
    response.writeHead(200, { "transfer-encoding": "chunked" });
    if (count === 3) return void response.write(first.subarray(0, 1000), () => response.destroy());
    response.end(first);
  });
  const { uploads, settled, source } = await open(t);
  uploads.start();
  for (const [origin, bytes, size] of [
    [changing, second, first.length],
    [plain, first, 0],
  ] as const) {
    const { uid, size: reported } = await uploads.copy(ACCOUNT, { url: origin.url });
    assert.equal(reported, size);
    const done = await settled(uid);
    assert.deepEqual([done.state, done.size], ["queued", bytes.length]);
    assert.equal(Buffer.compare((await source(uid))!, bytes), 0);
  }
});

test("an invalid URL is rejected immediately, and no video is created", async (t) => {
  const status =
    (code: number): Answer =>
    (_, response) =>
      void response.writeHead(code).end();
  const world = await open(t, { more: { settings: { upload_gb: 0.001, basic_upload_mb: 1, chunk_mb: 1 } } });
  const refused = async (response: Answer, code: number, text: RegExp) => {
    const { url } = await startOrigin(t, response);
    await assert.rejects(world.uploads.copy(ACCOUNT, { url }), refusedWith(code, text));
  };
  await refused(status(404), 10010, /Invalid URL: 127\.0\.0\.1 responded with status 404$/);
  await refused(status(500), 10010, /status 500/);
  await refused((request, response) => serve(request, response, Buffer.alloc(0)), 10059, /empty/);
  await refused(
    (_, response) => void response.writeHead(200, { "content-length": 40_000_000_000 }).flushHeaders(),
    10901,
    /larger than 1073741 bytes/,
  );
  await refused(
    (request, response) => void response.writeHead(302, { location: request.url! }).end(),
    10010,
    /redirected more than 5 times/,
  );
  await refused(
    (_, response) => void response.writeHead(302, { location: "file:///etc/passwd" }).end(),
    10010,
    /file:/,
  );
  for (const url of ["ftp://example.com/a.mp4", "/etc/passwd", "http://a:b@example.com/x", ""])
    await assert.rejects(world.uploads.copy(ACCOUNT, { url }), refusedWith(10010, /^Invalid URL/), url);
  assert.deepEqual(await world.videos.list(ACCOUNT), []);
});

test("internal hosts cannot be reached by address, by name, by redirect, or by DNS rebinding", async (t) => {
  const inside = await startOrigin(t, (request, response) => serve(request, response, video(10)));
  const { port } = new URL(inside.url);
  const names: Record<string, string[]> = { "inside.example": ["127.0.0.1"], "mixed.example": ["10.0.0.1", "::1"] };
  const guarded = createGuardedFetch({ allowPrivate: false, lookup: async (host) => names[host] ?? [] });
  const { uploads, base } = await open(t, { more: { fetch: guarded } });
  for (const url of [
    inside.url,
    `http://inside.example:${port}/`,
    `http://mixed.example/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `http://169.254.169.254/latest/meta-data`,
    `${base}/upload/x`,
  ]) {
    await assert.rejects(
      uploads.copy(ACCOUNT, { url }),
      (err) =>
        refusedWith(10010, /^Invalid URL: \S+ does not resolve to a public IP address$/)(err) &&
        /stream\.allow_private/.test((err as UserError).fix!),
      url,
    );
  }
  assert.equal(inside.requested.length, 0);

  // The name resolves to a public address when it is checked and to an internal one when it is fetched.
  let open_ = true;
  const rebinding = createGuardedFetch({ allowPrivate: () => open_ });
  const world = await open(t, { more: { fetch: rebinding } });
  const { uid } = await world.uploads.copy(ACCOUNT, { url: inside.url });
  open_ = false;
  world.uploads.start();
  const failed = await world.settled(uid);
  assert.deepEqual([failed.state, failed.errorReason?.code], ["error", "ERR_FETCH_ORIGIN_ERROR"]);
  assert.ok(!inside.requested.includes("GET"));
});

test("an origin that fails later makes the video fail with the reason, and an endless response ends at the limit", async (t) => {
  const cases: [Answer, RegExp][] = [
    [
      (request, response) =>
        request.method === "HEAD" ? serve(request, response, video(100)) : void response.writeHead(403).end(),
      /could not be fetched: 127\.0\.0\.1 responded with status 403/,
    ],
    [
      (request, response) =>
        request.method === "HEAD" ? serve(request, response, video(100)) : void response.destroy(),
      /could not be fetched/,
    ],
    [
      (request, response) => {
        response.writeHead(200);
        if (request.method === "HEAD") return void response.end();
        const more = () => {
          while (response.writable && response.write(Buffer.alloc(64 * 1024, 1)));
          if (response.writable) response.once("drain", more);
        };
        more();
      },
      /exceeds 1073741 bytes/,
    ],
    // Declares two bytes and sends none.
    [
      (request, response) =>
        void response.writeHead(200, request.method === "HEAD" ? { "content-length": 2 } : {}).end(),
      /empty/,
    ],
  ];
  const { uploads, settled, objects } = await open(t, {
    more: { settings: { upload_gb: 0.001, basic_upload_mb: 1, chunk_mb: 1 } },
  });
  uploads.start();
  for (const [answer, text] of cases) {
    const { url } = await startOrigin(t, answer);
    const { uid } = await uploads.copy(ACCOUNT, { url });
    const failed = await settled(uid);
    assert.deepEqual([failed.state, failed.errorReason?.code], ["error", "ERR_FETCH_ORIGIN_ERROR"]);
    assert.match(failed.errorReason!.text, text);
    assert.ok(!failed.errorReason!.text.includes("secret"));
    assert.equal(await objects.partial(`stream/${uid}/source`).size(), 0);
  }
});

test("fails a copy when the origin sends fewer bytes than it declared", { timeout: 110_000 }, async (t) => {
  const bytes = video(100_000);
  const cases: [string, Answer][] = [
    // Every response declares the full length and ends early; no range support.
    [
      "cut",
      (request, response) => {
        response.writeHead(200, { "content-length": bytes.length });
        if (request.method === "HEAD") return void response.end();
        response.write(bytes.subarray(0, 40_000), () => void response.socket!.end());
      },
    ],
    // Range requests for the rest return no data.
    [
      "range",
      (request, response) => {
        const rest = request.headers.range !== undefined;
        response.writeHead(rest ? 206 : 200, {
          etag: '"1"',
          "content-length": rest ? bytes.length - 40_000 : bytes.length,
          ...(rest && { "content-range": `bytes 40000-${bytes.length - 1}/${bytes.length}` }),
        });
        if (request.method === "HEAD") return void response.end();
        if (rest) return (void response.flushHeaders(), void response.socket!.end());
        response.write(bytes.subarray(0, 40_000), () => void response.socket!.end());
      },
    ],
    // Only HEAD declares the length: a truncated chunked response looks complete.
    [
      "chunked",
      (request, response) => {
        if (request.method === "HEAD") return void response.writeHead(200, { "content-length": bytes.length }).end();
        response.writeHead(200, { "transfer-encoding": "chunked" }).end(bytes.subarray(0, 40_000));
      },
    ],
  ];
  const { uploads, settled, objects } = await open(t, { more: { copyRetries: { attempts: 10, backoff: () => 10 } } });
  uploads.start();
  for (const [name, answer] of cases) {
    const { url } = await startOrigin(t, answer);
    const { uid } = await uploads.copy(ACCOUNT, { url });
    const failed = await settled(uid);
    assert.deepEqual([failed.state, failed.errorReason?.code], ["error", "ERR_FETCH_ORIGIN_ERROR"], name);
    assert.match(
      failed.errorReason!.text,
      new RegExp(`: the origin ended its response early: received \\d+ of ${bytes.length} bytes`),
      name,
    );
    assert.equal(await objects.partial(`stream/${uid}/source`).size(), 0);
  }
});

test("a copy ends when its video is deleted", { timeout: 110_000 }, async (t) => {
  const begun = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const slow = await startOrigin(t, (request, response) => {
    if (request.method === "HEAD") return serve(request, response, video(1000));
    response.writeHead(200, { "content-length": 1012 }).write("drop");
    begun.resolve();
    // A request without a body would complete immediately.
    response.once("close", closed.resolve);
  });
  const { uploads, videos, objects } = await open(t);
  uploads.start();
  videos.start();
  const { uid } = await uploads.copy(ACCOUNT, { url: slow.url });
  await begun.promise;
  await videos.delete(ACCOUNT, uid);
  await closed.promise;
  while ((await objects.partial(`stream/${uid}/source`).size()) > 0)
    await new Promise((resolve) => setImmediate(resolve));
});

test("a copy without a job is resumed", async (t) => {
  const bytes = video(1000);
  const origin = await startOrigin(t, (request, response) => serve(request, response, bytes));
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const { uploads, db, settled } = await open(t, { clock });
  const { uid } = await uploads.copy(ACCOUNT, { url: origin.url });
  const jobs = db.tables<{ jobs: { kind: string } }>();
  await jobs.deleteFrom("jobs").where("kind", "=", "stream.copy").execute();
  uploads.start();
  await uploads.recover();
  // A copy that was active recently may still have a job, so none is created.
  assert.deepEqual(await jobs.selectFrom("jobs").selectAll().where("kind", "=", "stream.copy").execute(), []);
  clock.advance(11 * 60_000);
  await uploads.recover();
  assert.equal((await settled(uid)).state, "queued");
});

test("a restart deletes the rows of copies that are complete or have failed", { timeout: 110_000 }, async (t) => {
  const origin = await startOrigin(t, (request, response) => serve(request, response, video(1000)));
  const { uploads, db, videos, objects, source } = await open(t);
  const table = createUploadsTable(db);
  const [whole, failed] = [
    await uploads.copy(ACCOUNT, { url: origin.url }),
    await uploads.copy(ACCOUNT, { url: origin.url }),
  ];
  // The state after a crash immediately after the video was announced.
  await objects.put(`stream/${whole.uid}/source`, Buffer.from("film"));
  await videos.uploaded(whole.uid, { key: `stream/${whole.uid}/source`, size: 4 });
  await videos.failed(failed.uid, "ERR_FETCH_ORIGIN_ERROR");
  uploads.start();
  for (const { uid } of [whole, failed])
    while ((await table.find(uid)) !== undefined) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    [(await source(whole.uid))?.toString(), (await videos.find(whole.uid))?.state, origin.requested.includes("GET")],
    ["film", "queued", false],
  );
});

test(
  "a database outage during all attempts neither abandons a copy nor leaks listeners",
  { timeout: 110_000 },
  async (t) => {
    const bytes = video(1000);
    const origin = await startOrigin(t, (request, response) => serve(request, response, bytes));
    const { uploads, db, videos, events, settled } = await open(t);
    let listening = 0;
    const subscribe = events.subscribe.bind(events);
    t.mock.method(events, "subscribe", (topic: string, hear: (id: string) => void) => {
      const unsubscribe = subscribe(topic, hear);
      if (topic === VIDEO_CHANGED) listening++;
      return () => {
        if (topic === VIDEO_CHANGED) listening--;
        unsubscribe();
      };
    });
    const { uid } = await uploads.copy(ACCOUNT, { url: origin.url });
    const away = t.mock.method(videos, "find", () => Promise.reject(new Error("database unavailable")));
    uploads.start();
    const jobs = db
      .tables<{ jobs: { kind: string; status: string } }>()
      .selectFrom("jobs")
      .select("status")
      .where("kind", "=", "stream.copy");
    while ((await jobs.execute())[0]!.status !== "failed") await new Promise((resolve) => setTimeout(resolve, 5));
    away.mock.restore();
    assert.deepEqual([listening, (await videos.find(uid))?.state], [0, "downloading"]);
    await createUploadsTable(db).change(uid, { touched_at: 1 });
    await uploads.recover();
    assert.equal((await settled(uid)).state, "queued");
  },
);

test("a slow copy is not started twice", { timeout: 110_000 }, async (t) => {
  const bytes = video(3000);
  const pieces: ServerResponse[] = [];
  const begun = Promise.withResolvers<void>();
  const origin = await startOrigin(t, (request, response) => {
    if (request.method === "HEAD") return serve(request, response, bytes);
    response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, 1000));
    pieces.push(response);
    begun.resolve();
  });
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const { uploads, db, settled } = await open(t, { clock });
  const table = createUploadsTable(db);
  uploads.start();
  const { uid } = await uploads.copy(ACCOUNT, { url: origin.url });
  await begun.promise;
  // Advances in steps, because the job must renew its lease.
  for (let step = 0; step < 70; step++) {
    clock.advance(10_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const before = (await table.find(uid))!.touched_at;
  pieces[0]!.write(bytes.subarray(1000, 2000));
  while ((await table.find(uid))!.touched_at === before) await new Promise((resolve) => setImmediate(resolve));
  await uploads.recover();
  const jobs = await db
    .tables<{ jobs: { kind: string } }>()
    .selectFrom("jobs")
    .select("kind")
    .where("kind", "=", "stream.copy")
    .execute();
  pieces[0]!.end(bytes.subarray(2000));
  assert.deepEqual([(await settled(uid)).state, jobs.length, origin.requested], ["queued", 1, ["HEAD", "GET"]]);
});
