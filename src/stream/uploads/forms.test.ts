import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { createManualClock, type UserError } from "../../kernel/index.ts";
import { openSqlite } from "../../store/index.ts";
import { mountSmallDisk } from "../../../test/support/small-disk.ts";
import { readStreamedForm } from "./form.ts";
import { createUploadsTable, NO_DATA_YET } from "./uploads-table.ts";
import { ACCOUNT, openUploadsFixture, VIDEO_HEAD, type UploadsFixtureOptions } from "./uploads.testing.ts";

async function open(t: TestContext, options: Partial<UploadsFixtureOptions> = {}) {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "reelpost-forms-"));
  const world = await openUploadsFixture({ folder, ...options });
  t.after(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const send = async (url: string, body: FormData | string, headers?: Record<string, string>) => {
    const response = await fetch(url, { method: "POST", body, ...(headers && { headers }) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
  };
  /** Files stored under the objects folder: none from a rejected upload may remain. */
  const kept = () =>
    readdirSync(join(folder, "objects"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  const videoCount = async () => (await world.videos.list(ACCOUNT)).length;
  return { ...world, send, kept, videoCount };
}

const form = (bytes: Uint8Array<ArrayBuffer>, name = "clip.mp4", field = "file") => {
  const data = new FormData();
  data.set("before", "something");
  data.set(field, new Blob([bytes]), name);
  data.set("after", "something");
  return data;
};
const video = (size: number) => Buffer.concat([VIDEO_HEAD, randomBytes(size)]) as Buffer<ArrayBuffer>;

/** Sends a form of `declared` bytes over a raw connection; resolves with the response when the connection is closed. */
function beginForm(url: string, declared: number): [Socket, Promise<string>] {
  const { port, pathname } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.write(
    `POST ${pathname} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: multipart/form-data; boundary=XX\r\ncontent-length: ${declared}\r\n\r\n`,
  );
  let answer = "";
  socket.on("data", (piece) => (answer += String(piece))).on("error", () => {});
  return [socket, new Promise((resolve) => socket.once("close", () => resolve(answer)))];
}

/** Sends the first `sent` bytes of a form, then aborts or ends it; resolves with the response. */
async function sendBroken(
  url: string,
  body: Buffer,
  { sent, declared, end }: { sent: number; declared: number; end: "cut" | "wait" },
): Promise<string> {
  const [socket, answer] = beginForm(url, declared);
  await new Promise<void>((resolve) => socket.write(body.subarray(0, sent), () => resolve()));
  if (end === "cut") socket.destroy();
  return answer;
}
const rawForm = (bytes: Buffer) =>
  Buffer.concat([
    Buffer.from('--XX\r\ncontent-disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n'),
    bytes,
    Buffer.from("\r\n--XX--\r\n"),
  ]);

test("a form with its file becomes a video named after the file", async (t) => {
  const { base, send, source, videos } = await open(t);
  for (const bytes of [video(100), video(3_000_000), video(8 * 1024 * 1024 - VIDEO_HEAD.length)]) {
    const made = (await send(`${base}/form`, form(bytes))).json();
    assert.deepEqual(
      [made.state, made.size, made.meta, made.account],
      ["queued", bytes.length, { name: "clip.mp4" }, ACCOUNT],
    );
    assert.equal(Buffer.compare((await source(made.uid))!, bytes), 0);
    assert.equal((await videos.find(made.uid))!.sourceKey, `stream/${made.uid}/source`);
  }
});

test("a file from a worker becomes a video, unless it is clearly not a video", async (t) => {
  const { uploads, source, kept, videoCount } = await open(t);
  const bytes = video(200_000);
  const made = await uploads.bytes(ACCOUNT, Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]), {
    meta: { name: "From a mail" },
    requireSignedURLs: true,
  });
  assert.deepEqual([made.state, made.meta, made.requireSignedURLs], ["queued", { name: "From a mail" }, true]);
  assert.equal(Buffer.compare((await source(made.uid))!, bytes), 0);
  await assert.rejects(uploads.bytes(ACCOUNT, Readable.from([Buffer.from("some text")])), /it is text/);
  await assert.rejects(
    uploads.bytes(
      ACCOUNT,
      Readable.from(
        (async function* () {
          yield bytes;
          throw new Error("the worker failed");
        })(),
      ),
    ),
    /the worker failed/,
  );
  assert.deepEqual([kept().length, await videoCount()], [1, 1]);
});

test("rejects files that are not video, invalid forms and excessive sizes, and stores no data from them", async (t) => {
  const { base, send, kept, videoCount } = await open(t);
  const big = Buffer.concat([VIDEO_HEAD, Buffer.alloc(9 * 1024 * 1024)]) as Buffer<ArrayBuffer>;
  for (const [body, headers, status, text] of [
    [form(Buffer.alloc(0)), undefined, 400, /not a video: it is empty/],
    [form(Buffer.from("#EXTM3U\n/etc/passwd\n"), "x.mp4"), undefined, 400, /it is text/],
    [form(Buffer.from("89504e470d0a1a0a0000", "hex")), undefined, 400, /PNG/],
    [form(big), undefined, 413, /larger than 8388608 bytes: the maximum for an upload in one request/],
    [new FormData(), undefined, 400, /no part named file/],
    ["plain", { "content-type": "text/plain" }, 400, /send multipart\/form-data .* not "text\/plain"/],
    ["--x", { "content-type": "multipart/form-data" }, 400, /form-data/],
    ["garbage", { "content-type": "multipart/form-data; boundary=XX" }, 400, /form/],
  ] as const) {
    const refused = await send(`${base}/form`, body, headers);
    assert.deepEqual([refused.status, text.test(refused.text)], [status, true], refused.text);
  }
  assert.deepEqual([kept(), await videoCount()], [[], 0]);
});

test("a form that is aborted or declares a wrong length leaves nothing behind", async (t) => {
  const { base, kept, videoCount, uploads } = await open(t);
  const body = rawForm(video(500_000));
  const { uploadUrl } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
  for (const url of [`${base}/form`, uploadUrl]) {
    for (const sent of [10, 60, 300_000, body.length - 12, body.length - 3])
      await sendBroken(url, body, { sent, declared: body.length, end: "cut" });
    // The declared length is smaller than the sent one: the form ends in the middle.
    for (const declared of [10, 60, 300_000, body.length - 9])
      assert.match(await sendBroken(url, body, { sent: declared, declared, end: "wait" }), /^HTTP\/1.1 400/);
    // The declared length is larger than the sent one, and the peer disconnects.
    await sendBroken(url, body, { sent: body.length, declared: body.length + 1000, end: "cut" });
  }
  const left = async () => [kept(), await videoCount()];
  while (JSON.stringify(await left()) !== "[[],1]") await new Promise((resolve) => setImmediate(resolve));
});

test(
  "a form whose sender disconnects before it is read counts as aborted, even if all of it has arrived",
  { timeout: 110_000 },
  async (t) => {
    const settled: ((how: string) => void)[] = [];
    const server = createServer((request) => {
      request.once(
        "close",
        () =>
          void readStreamedForm(request, 1_000_000, ({ body }) => buffer(body))
            .then(
              () => "whole",
              ({ kind }: UserError) => kind,
            )
            .then(settled.shift()!),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    const body = rawForm(video(1000));
    for (const sent of [60, body.length]) {
      const how = new Promise<string>((resolve) => settled.push(resolve));
      await sendBroken(`http://127.0.0.1:${(server.address() as AddressInfo).port}/form`, body, {
        sent,
        declared: body.length,
        end: "cut",
      });
      assert.equal(await how, "formBrokeOff", `${sent} octets`);
    }
  },
);

test("a one-time URL accepts one form before it expires, and responds with the API envelope", async (t) => {
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const { uploads, send, videos, source } = await open(t, { clock });
  const { uploadUrl, video: made } = await uploads.direct(ACCOUNT, {
    maxDurationSeconds: 60,
    meta: { name: "chosen" },
    requireSignedURLs: true,
  });
  assert.deepEqual(
    [made.state, made.uploadExpiry, made.maxDurationSeconds],
    ["pendingupload", clock.now() + 30 * 60_000, 60],
  );
  const bytes = video(50_000);
  const bad = await send(uploadUrl, form(Buffer.from("text, not video")));
  assert.deepEqual(
    [bad.status, bad.json().errors[0].code, bad.json().success, bad.headers.get("access-control-allow-origin")],
    [400, 10059, false, "*"],
  );
  // Only one of two concurrent forms is accepted.
  const both = await Promise.all([send(uploadUrl, form(bytes)), send(uploadUrl, form(bytes))]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
  const taken = both.find(({ status }) => status === 200)!;
  assert.deepEqual(taken.json(), { result: { uid: made.uid }, success: true, errors: [], messages: [] });
  const reused = await send(uploadUrl, form(bytes));
  assert.deepEqual(
    [reused.status, reused.json().errors[0].code, reused.headers.get("x-should-retry")],
    [409, 10902, "false"],
  );
  assert.deepEqual(
    [(await videos.find(made.uid))!.state, (await videos.find(made.uid))!.meta],
    ["queued", { name: "chosen" }],
  );
  assert.equal(Buffer.compare((await source(made.uid))!, bytes), 0);

  const late = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
  clock.advance(30 * 60_000 + 1);
  const expired = await send(late.uploadUrl, form(bytes));
  assert.deepEqual([expired.status, expired.json().errors[0].code], [410, 10903]);
  await assert.rejects(
    uploads.direct(ACCOUNT, { maxDurationSeconds: 60, uploadExpiry: clock.now() }),
    /expiry must be in the future/,
  );
});

test("a stored form is neither overwritten nor removed by another form that arrives at another process", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-forms-"));
  const { uploads, send, videos, objects, db } = await open(t, { folder });
  const other = await openUploadsFixture({ folder });
  t.after(() => other.close());
  const table = createUploadsTable(db);
  const keysOf = async (uid: string) => {
    const keys: string[] = [];
    for await (const { key } of objects.list(`stream/${uid}/`)) keys.push(key);
    return keys;
  };
  for (const end of ["cut", "wait"] as const) {
    const {
      uploadUrl,
      video: { uid },
    } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
    const late = rawForm(video(400_000));
    const [sent, answer] = beginForm(new URL(new URL(uploadUrl).pathname, other.base).href, late.length);
    sent.write(late.subarray(0, 200_000));
    while ((await table.find(uid))!.touched_at === NO_DATA_YET) await new Promise((resolve) => setImmediate(resolve));
    const bytes = video(50_000);
    assert.equal((await send(uploadUrl, form(bytes))).status, 200);
    if (end === "wait") sent.write(late.subarray(200_000));
    else sent.destroy();
    assert.match(await answer, end === "wait" ? /^HTTP\/1.1 409/ : /^$/);
    const { sourceKey, state } = (await videos.find(uid))!;
    // The upload has ended, so this is true only while the lock is held.
    while (await other.uploads.isArriving(uid)) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([state, await keysOf(uid)], ["queued", [sourceKey]]);
    assert.equal(Buffer.compare(await (await objects.open(sourceKey!))!.bytes(), bytes), 0);
  }
});

test("a full disk is reported as such, and uploads work again once there is space", async (t) => {
  const disk = mountSmallDisk(t, 12);
  if (disk === undefined) return t.skip("cannot mount a disk here");
  // The rows are stored on a different disk: SQLite has separate tests for this.
  const rows = mkdtempSync(join(tmpdir(), "reelpost-forms-db-"));
  t.after(() => rmSync(rows, { recursive: true, force: true }));
  const db = openSqlite({ path: join(rows, "db.sqlite") });
  const { base, send, uploads, kept, videoCount } = await open(t, { folder: disk.folder, db });
  disk.fill();
  const full = await send(`${base}/form`, form(video(1_000_000)));
  assert.deepEqual([full.status, await videoCount()], [507, 0], full.text);
  const { uploadUrl } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
  assert.equal((await send(uploadUrl, form(video(1_000_000)))).status, 507);
  const bytes = video(2_000_000);
  const headers = { "tus-resumable": "1.0.0", "upload-length": String(bytes.length) };
  assert.equal((await fetch(uploadUrl, { method: "POST", headers })).status, 201);
  const patch = (offset: number) =>
    fetch(uploadUrl, {
      method: "PATCH",
      headers: {
        "tus-resumable": "1.0.0",
        "upload-offset": String(offset),
        "content-type": "application/offset+octet-stream",
      },
      body: bytes.subarray(offset),
    });
  assert.equal((await patch(0)).status, 507);
  disk.free();
  const offset = Number((await fetch(uploadUrl, { method: "HEAD", headers })).headers.get("upload-offset"));
  assert.equal((await patch(offset)).status, 204);
  assert.deepEqual(kept(), ["source"]);
});
