import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { truncate, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { UserError } from "../../kernel/index.ts";
import { createApiClient } from "../api/client.ts";
import { folderWith, type Scope } from "../cli.testing.ts";
import { createUpload, sendUpload, type TusSending } from "./tus.ts";

const MIB = 1024 * 1024;
const SIZE = 3 * MIB + 17;

/** Injected failure of a request; true if it handled the request. */
type Trouble = (request: IncomingMessage, response: ServerResponse, upload: Upload) => boolean | Promise<boolean>;

interface Upload {
  url: string;
  kept: Buffer;
  length: number;
  calls: string[];
  headers: IncomingMessage["headers"][];
  /** One per request, in order. */
  troubles: (Trouble | undefined)[];
}

/** Starts a server with one upload. It keeps all received bytes, including those from interrupted requests. */
async function startTus(t: Scope, ...troubles: (Trouble | undefined)[]): Promise<Upload> {
  const upload: Upload = { url: "", kept: Buffer.alloc(0), length: SIZE, calls: [], headers: [], troubles };
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    upload.calls.push(`${request.method} ${request.headers["upload-offset"] ?? ""}`.trim());
    upload.headers.push(request.headers);
    if (await upload.troubles.shift()?.(request, response, upload)) return;
    if (request.method === "PATCH")
      for await (const piece of request as AsyncIterable<Buffer>) upload.kept = Buffer.concat([upload.kept, piece]);
    response
      .writeHead(request.method === "HEAD" ? 200 : 204, {
        "upload-offset": upload.kept.length,
        "upload-length": upload.length,
      })
      .end();
  }
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(async () => void server.close().closeAllConnections());
  upload.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/upload`;
  return upload;
}

const says =
  (status: number, text: string): Trouble =>
  (request, response) => {
    request.resume();
    response.writeHead(status).end(text);
    return true;
  };

/** Keeps the first bytes, then closes the connection. */
const cutAfter =
  (octets: number): Trouble =>
  async (request, response, upload) => {
    for await (const piece of request as AsyncIterable<Buffer>) {
      upload.kept = Buffer.concat([upload.kept, piece]);
      if (upload.kept.length >= octets) break;
    }
    response.destroy();
    return true;
  };

/** Keeps everything, but the response is lost. */
const answerLost: Trouble = async (request, response, upload) => {
  for await (const piece of request as AsyncIterable<Buffer>) upload.kept = Buffer.concat([upload.kept, piece]);
  response.destroy();
  return true;
};

async function sending(t: Scope, { url }: Upload, more: Partial<TusSending> = {}) {
  const folder = await folderWith(t);
  const content = randomBytes(SIZE);
  const file = join(folder, "a clip.mp4");
  await writeFile(file, content);
  const offsets: number[] = [];
  const pauses: string[] = [];
  const run = () =>
    sendUpload({
      address: url,
      file,
      displayName: "a clip.mp4",
      size: SIZE,
      resume: false,
      signal: new AbortController().signal,
      chunk: MIB,
      pause: async () => {},
      onOffset: (octets) => void offsets.push(octets),
      onPause: (reason, seconds) => void pauses.push(`${seconds} ${reason}`),
      ...more,
    });
  return { content, file, offsets, pauses, run };
}

const failure = async (run: () => Promise<void>): Promise<UserError> =>
  run().then(
    () => assert.fail("the upload succeeded"),
    (thrown: UserError) => thrown,
  );

test("a file is sent in chunks, each starting where the previous one ended", async (t) => {
  const upload = await startTus(t);
  const { content, offsets, run } = await sending(t, upload);
  await run();
  assert.deepEqual(
    upload.calls,
    [0, MIB, 2 * MIB, 3 * MIB].map((offset) => `PATCH ${offset}`),
  );
  assert.ok(upload.kept.equals(content));
  assert.deepEqual(
    upload.headers.map((headers) => headers["content-length"]),
    [MIB, MIB, MIB, 17].map(String),
  );
  for (const headers of upload.headers)
    assert.deepEqual(
      [headers["tus-resumable"], headers["content-type"], headers.authorization],
      ["1.0.0", "application/offset+octet-stream", undefined],
    );
  assert.equal(offsets.at(-1), SIZE);
});

test("resumes from the server's offset after a broken connection, a lost response or a server outage", async (t) => {
  const upload = await startTus(t, undefined, cutAfter(MIB + 300_000), says(503, "starting"), undefined, answerLost);
  const { content, offsets, pauses, run } = await sending(t, upload);
  await run();
  const [, , third] = upload.calls.filter((call) => call.startsWith("PATCH")).map((call) => Number(call.slice(6)));
  assert.ok(third! >= MIB + 300_000 && third! < 2 * MIB);
  assert.deepEqual(
    upload.calls.map((call) => call.split(" ")[0]),
    ["PATCH", "PATCH", "HEAD", "HEAD", "PATCH", "HEAD", "PATCH"],
  );
  assert.ok(upload.kept.equals(content));
  assert.equal(offsets.at(-1), SIZE);
  assert.deepEqual(
    pauses.map((pause) => Number(pause.split(" ")[0])),
    [0.5, 1, 0.5],
  );
});

test("queries the offset again after an offset mismatch or a locked upload", async (t) => {
  const upload = await startTus(t, says(409, "Offset conflict"), undefined, says(423, "busy"));
  const { content, pauses, run } = await sending(t, upload);
  await run();
  assert.ok(upload.kept.equals(content));
  assert.deepEqual(pauses, ["0.5 Offset conflict", "1 busy"]);
});

test("an existing upload is resumed, and one for a different file is left unchanged", async (t) => {
  const upload = await startTus(t);
  const { content, run } = await sending(t, upload, { resume: true });
  upload.kept = content.subarray(0, 2 * MIB + 5);
  await run();
  assert.deepEqual(upload.calls, ["HEAD", `PATCH ${2 * MIB + 5}`, `PATCH ${3 * MIB + 5}`]);
  assert.ok(upload.kept.equals(content));
  await run();
  assert.equal(upload.calls.length, 4);

  upload.length = 5;
  const { code, message } = await failure(run);
  assert.deepEqual(
    [code, message],
    ["E_OTHER_FILE", `The upload expects a file of 5 bytes, but a clip.mp4 is ${SIZE} bytes.`],
  );
});

test("reports permanent errors immediately, with the server's message", async (t) => {
  const upload = await startTus(
    t,
    says(400, "Chunk size must be a multiple of 256KiB\n"),
    says(413, ""),
    (_, response) => {
      response.writeHead(204).end();
      return true;
    },
  );
  const { run } = await sending(t, upload);
  assert.match(
    (await failure(run)).message,
    /^The server rejected the upload \(status 400\): Chunk size must be a multiple of 256KiB$/,
  );
  assert.match((await failure(run)).message, /\(status 413\): status 413 without a message$/);
  assert.match((await failure(run)).message, /no longer exists|has no Upload-Offset/);
  assert.equal(upload.calls.length, 3);
});

test("the error after too many failures or an interruption contains the command to resume", async (t) => {
  const dead = await startTus(
    t,
    undefined,
    ...Array.from({ length: 40 }, (_, nth) => (nth % 2 === 0 ? says(507, "no space left") : undefined)),
  );
  const { pauses, run } = await sending(t, dead);
  const given = await failure(run);
  assert.equal(given.code, "E_UPLOAD_STOPPED");
  assert.equal(given.message, "The upload was interrupted after 1.0 MB of 3.0 MB: no space left.");
  assert.equal(given.fix, `Resume it with: reelpost stream upload 'a clip.mp4' --resume ${dead.url}`);
  assert.deepEqual(
    pauses.map((pause) => Number(pause.split(" ")[0])),
    [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30],
  );

  const interrupt = new AbortController();
  const silent = await startTus(t, (request) => {
    request.once("data", () => interrupt.abort()).resume();
    return true;
  });
  const { run: interrupted } = await sending(t, silent, { signal: interrupt.signal });
  assert.match((await failure(interrupted)).message, /it was interrupted/);

  const waiting = new AbortController();
  const busy = await startTus(t, says(423, "busy"));
  const { run: impatient } = await sending(t, busy, {
    signal: waiting.signal,
    pause: async (_, signal) => {
      waiting.abort();
      signal.throwIfAborted();
    },
  });
  assert.match((await failure(impatient)).message, /it was interrupted/);
});

test("a file that shrinks during its upload ends the upload", async (t) => {
  const upload = await startTus(t);
  const { file, run } = await sending(t, upload);
  await truncate(file, MIB + 5);
  assert.match((await failure(run)).message, /^Cannot read a clip\.mp4: the file was truncated\.$/);
});

test("a creation sends the video's metadata and takes its URL and id from the response", async (t) => {
  let created: IncomingMessage["headers"] = {};
  const upload = await startTus(
    t,
    (request, response) => {
      created = request.headers;
      response.writeHead(201, { location: "/upload/1/secret", "stream-media-id": "a".repeat(32) }).end();
      return true;
    },
    says(201, ""),
  );
  const origin = new URL(upload.url).origin;
  const api = createApiClient({ url: `${origin}/client/v4`, token: "t", version: "0" });
  const creation = { size: SIZE, metadata: { name: "Añb", requiresignedurls: true as const }, creator: "ada" };
  assert.deepEqual(await createUpload(api, "/accounts/1/stream", creation), {
    address: `${origin}/upload/1/secret`,
    uid: "a".repeat(32),
  });
  assert.deepEqual(
    [created["upload-length"], created["upload-metadata"], created["upload-creator"], created["tus-resumable"]],
    [String(SIZE), "name QcOxYg==,requiresignedurls", "ada", "1.0.0"],
  );
  await assert.rejects(createUpload(api, "/accounts/1/stream", creation), { code: "E_NOT_THE_API" });
});
