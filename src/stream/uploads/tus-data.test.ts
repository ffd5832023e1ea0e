import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as send } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import * as fc from "fast-check";
import { ACCOUNT, VIDEO_HEAD as HEAD } from "./uploads.testing.ts";
import { MIB, open, streamed } from "./tus.testing.ts";

/** One request of a client; `take` and `cuts` are shares of the rest of the file. */
type Step =
  | { kind: "chunk"; take: number; cuts: number[] }
  | { kind: "lost"; take: number; declared: boolean }
  | { kind: "wrong offset"; by: number }
  | { kind: "excess"; by: number };

const share = fc.double({ min: 0, max: 1, noNaN: true });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("chunk"), take: share, cuts: fc.array(share, { maxLength: 6 }) }),
  fc.record({ kind: fc.constant("lost"), take: share, declared: fc.boolean() }),
  fc.record({ kind: fc.constant("wrong offset"), by: fc.integer({ min: -1000, max: 1000 }).filter((by) => by !== 0) }),
  fc.record({ kind: fc.constant("excess"), by: fc.integer({ min: 1, max: 100_000 }) }),
);

const inPieces = (bytes: Buffer, cuts: number[]): ReadableStream => {
  const ends = [...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b), bytes.length];
  return Readable.toWeb(Readable.from(ends.map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end)))) as ReadableStream;
};

test("stores exactly the source, despite any chunking, lost connections, wrong offsets and excess data", async (t) => {
  const { base, ask, patch, videos, source } = await open(t, {
    more: { settings: { upload_gb: 1, basic_upload_mb: 8, chunk_mb: 0 } },
  });

  /** Sends the start of a PATCH, then closes the connection. */
  async function lose(url: string, offset: number, bytes: Buffer, length: number | undefined) {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const size = length === undefined ? "transfer-encoding: chunked" : `content-length: ${length}`;
    socket.write(
      `PATCH ${new URL(url).pathname} HTTP/1.1\r\nhost: x\r\ntus-resumable: 1.0.0\r\nupload-offset: ${offset}\r\ncontent-type: application/offset+octet-stream\r\n${size}\r\n\r\n`,
    );
    if (length === undefined && bytes.length > 0) socket.write(`${bytes.length.toString(16)}\r\n`);
    socket.end(bytes);
    await once(socket.resume(), "close");
  }

  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 300_000 }),
      fc.boolean(),
      fc.array(step, { maxLength: 6 }),
      async (size, deferred, steps) => {
        const bytes = Buffer.concat([HEAD, randomBytes(size)]).subarray(0, size);
        const length: Record<string, string> = deferred
          ? { "upload-defer-length": "1" }
          : { "upload-length": String(size) };
        const created = await ask("POST", `${base}/tus`, length);
        const [url, uid] = [created.headers.get("location")!, created.headers.get("stream-media-id")!];
        let acknowledged = 0;
        const offsetNow = async () => {
          const offset = Number((await ask("HEAD", url)).headers.get("upload-offset"));
          assert.ok(offset >= acknowledged && offset <= size, `${offset}, ${acknowledged} acknowledged, of ${size}`);
          return (acknowledged = offset);
        };
        const finished = async () => (await videos.find(uid))!.state === "queued";

        for (const [n, each] of steps.entries()) {
          // The server may still be storing the data of a connection that the client has lost.
          const unsure = steps[n - 1]?.kind === "lost";
          const offset = await offsetNow();
          const rest = bytes.subarray(offset);
          if (await finished()) break;
          const taken = "take" in each ? rest.subarray(0, Math.floor(each.take * rest.length)) : rest;
          if (each.kind === "chunk") {
            const { status, headers } = await patch(url, offset, inPieces(taken, each.cuts));
            if (unsure && status === 409) continue;
            acknowledged = offset + taken.length;
            assert.deepEqual([status, headers.get("upload-offset")], [204, String(acknowledged)]);
          } else if (each.kind === "lost") await lose(url, offset, taken, each.declared ? rest.length : undefined);
          else if (each.kind === "wrong offset") {
            const wrong = Math.max(0, offset + each.by);
            if (wrong !== offset && !unsure) assert.equal((await patch(url, wrong, streamed(rest))).status, 409);
            assert.ok(unsure || (await offsetNow()) === offset);
          } else if (!deferred) {
            const excess = Buffer.concat([rest, randomBytes(each.by)]);
            const { status } = await patch(url, offset, inPieces(excess, [rest.length / excess.length]));
            assert.ok(status === 413 || (unsure && status === 409), String(status));
          }
        }
        for (let offset = await offsetNow(); !(await finished()); offset = await offsetNow()) {
          const declared = deferred ? { "upload-length": String(size) } : undefined;
          const { status, text } = await patch(url, offset, bytes.subarray(offset), declared);
          assert.ok(status === 204 || status === 409, text);
        }
        assert.equal(Buffer.compare((await source(uid))!, bytes), 0);
      },
    ),
    { numRuns: 40 },
  );
});

test("a PATCH whose lock is requested acknowledges the stored data and closes the connection", async (t) => {
  const { create, ask } = await open(t);
  const { url } = await create(MIB);
  const request = send(url, {
    method: "PATCH",
    headers: { "tus-resumable": "1.0.0", "content-type": "application/offset+octet-stream", "upload-offset": "0" },
  });
  const response = once(request, "response");
  request.on("error", () => {}).write(Buffer.concat([HEAD, Buffer.alloc(100_000)]));
  // Until the data arrives, HEAD finds nothing and does not wait.
  let offset: string | null = "0";
  while (offset === "0") offset = (await ask("HEAD", url)).headers.get("upload-offset");
  const [{ statusCode, headers }] = await response;
  assert.deepEqual(
    [statusCode, headers["upload-offset"], headers.connection, offset],
    [204, String(HEAD.length + 100_000), "close", String(HEAD.length + 100_000)],
  );
});

test("a deferred-length upload stays within the size limit of its video", async (t) => {
  const { ask, patch, uploads, videos, objects, source } = await open(t);
  const limits = { maxDurationSeconds: 60, maxSizeBytes: 1000 };
  const { uploadUrl: url, video } = await uploads.direct(ACCOUNT, limits);
  const stored = () => objects.partial(`stream/${video.uid}/source`).size();
  const bytes = Buffer.concat([HEAD, Buffer.alloc(2000)]);
  const begin = (body?: ReadableStream) =>
    ask(
      "POST",
      url,
      { "upload-defer-length": "1", ...(body && { "content-type": "application/offset+octet-stream" }) },
      body,
    );
  const limit = /The file is larger than 1000 bytes: the maximum for this video/;

  // With the creation, with one chunk, with a later one, by Content-Length, and by the late Upload-Length.
  const whole = await begin(inPieces(bytes, [0.2, 0.4, 0.6]));
  assert.deepEqual([whole.status, limit.test(whole.text), (await stored()) <= 1000], [413, true, true]);
  assert.equal((await ask("DELETE", url)).status, 204);
  assert.equal((await begin()).status, 201);
  assert.equal((await patch(url, 0, streamed(bytes))).status, 413);
  assert.equal(await stored(), 0);
  assert.equal((await patch(url, 0, streamed(bytes.subarray(0, 600)))).status, 204);
  for (const body of [streamed(bytes.subarray(600, 1001)), bytes.subarray(600)]) {
    const refused = await patch(url, 600, body);
    assert.deepEqual([refused.status, limit.test(refused.text), await stored()], [413, true, 600]);
  }
  const late = await patch(url, 600, bytes.subarray(600, 1001), { "upload-length": "1001" });
  assert.deepEqual(
    [late.status, /Upload-Length is 1001, more than this video allows/.test(late.text), await stored()],
    [413, true, 600],
  );
  const head = await ask("HEAD", url);
  assert.deepEqual([head.headers.get("upload-defer-length"), head.headers.get("upload-offset")], ["1", "600"]);

  assert.equal((await patch(url, 600, bytes.subarray(600, 1000), { "upload-length": "1000" })).status, 204);
  assert.deepEqual(
    [(await videos.find(video.uid))!.state, await source(video.uid)],
    ["queued", bytes.subarray(0, 1000)],
  );
});
