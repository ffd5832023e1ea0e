import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createManualClock } from "../../kernel/index.ts";
import { storeErrors } from "../../store/errors.ts";
import type { Video } from "../videos/index.ts";
import { ACCOUNT, VIDEO_HEAD as HEAD } from "./uploads.testing.ts";
import { open } from "./tus.testing.ts";
import { createTus } from "./tus.ts";

/** A list sends the header several times; an empty list removes it. */
type Headers = Record<string, string | string[]>;
/** Chunks without Content-Length, or a body with it. */
type Body = string | string[];
/** State of the upload before the request; all but `new`, `done` and `unused` have 8 of 20 bytes. */
type State = "new" | "part" | "named" | "deferred" | "done" | "unused" | "direct" | "broken" | "full" | "expired";
type Response = [status: number, headers: Record<string, string>, text?: string];
type Case = [name: string, state: State, method: string, headers: Headers, body: Body | undefined, expected: Response];

/** Texts and headers in this file are part of the wire contract: clients match on them. */
const CORS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Location, Stream-Media-Id, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Defer-Length, Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset",
};
const TUS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Authorization, Content-Type, Location, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Concat, Upload-Defer-Length, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, X-Requested-With, X-Forwarded-Host, X-Forwarded-Proto, Forwarded, Stream-Media-Id,Upload-Expires",
  "tus-resumable": "1.0.0",
  "stream-media-id": "UID",
};
const OPTIONS: Response = [
  204,
  {
    ...CORS,
    "access-control-allow-methods": "POST, HEAD, PATCH, DELETE, OPTIONS, GET",
    "access-control-max-age": "86400",
    "access-control-allow-headers":
      "Authorization, Content-Type, Tus-Resumable, Upload-Concat, Upload-Creator, Upload-Defer-Length, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, X-Request-ID, X-Requested-With",
    "tus-resumable": "1.0.0",
    "tus-version": "1.0.0",
    "tus-extension": "creation,creation-with-upload,creation-defer-length,expiration,termination",
    "tus-max-size": "16384",
  },
];
const EXPIRES = { "upload-expires": "Sat, 28 Nov 2026 00:00:00 GMT" };
const SOON = { "upload-expires": "Sat, 21 Nov 2026 00:30:00 GMT" };
const plain = (text: string) => ({
  "content-type": "text/plain;charset=UTF-8",
  "content-length": String(Buffer.byteLength(text)),
});
const head = (headers: Record<string, string>): Response => [
  200,
  { ...TUS, ...EXPIRES, "cache-control": "no-store", "content-type": "text/plain;charset=UTF-8", ...headers },
];
const at8 = { "upload-length": "20", "upload-offset": "8" };
const stored = (offset: number): Response => [204, { ...TUS, ...EXPIRES, "upload-offset": String(offset) }];
/** Rejected before the upload is read. */
const invalid = (names: string): Response => [
  400,
  { ...TUS, ...EXPIRES, ...plain(`Invalid ${names}\n`) },
  `Invalid ${names}\n`,
];
const failed = (status: number, text: string): Response => [status, { ...TUS, ...EXPIRES, ...plain(text) }, text];
/** A rejected PATCH, whose connection is closed. */
const rejected = (status: number, text: string): Response => [
  status,
  { ...failed(status, text)[1], connection: "close" },
  text,
];
/** Rejected regardless of the method. */
const refused = (status: number, text: string, headers: Record<string, string> = {}): Response => [
  status,
  {
    ...CORS,
    "tus-resumable": "1.0.0",
    "cache-control": "no-store",
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(text)),
    ...(status === 412 && { "tus-version": "1.0.0" }),
    ...headers,
  },
  text,
];
const created = (headers: Record<string, string> = {}): Response => [
  201,
  {
    ...CORS,
    "tus-resumable": "1.0.0",
    location: "/upload/UID/SECRET",
    "stream-media-id": "UID",
    "content-length": "0",
    ...headers,
  },
];

const NOT_FOUND = refused(404, "Upload not found\n");
const CONFLICT = rejected(409, "Upload-Offset conflict\n");
const LENGTH = rejected(400, "Upload-Length or Upload-Defer-Length header required\n");
const version = (given: string) => refused(412, `Tus-Resumable must be 1.0.0, not ${given}\n`);
const USED = refused(409, "The video UID was already uploaded\n", {
  "x-should-retry": "false",
  "content-length": "64",
});
const CHECKSUM = refused(
  400,
  "Bad Request: Upload-Checksum is not supported (Tus-Extension lists no checksum): send the request without it\n",
);
const BROKEN = "Something went wrong here; what has arrived is kept.\n";
const EXPIRED = refused(410, "This upload URL expired at 2026-11-28T00:00:00.000Z. Create another one.\n");
const bad = (reason: string) => refused(400, `Bad Request: ${reason}\n`);

const TYPE = { "content-type": "application/offset+octet-stream" };
const at = (offset: number | string, headers: Headers = {}): Headers => ({
  ...TYPE,
  "upload-offset": String(offset),
  ...headers,
});
const REST = HEAD.toString("latin1");
const KIB = "\0".repeat(1024);

const CASES: Case[] = [
  ["a preflight", "new", "OPTIONS", { "tus-resumable": [], origin: "https://example.com" }, undefined, OPTIONS],
  ["OPTIONS with another version", "new", "OPTIONS", { "tus-resumable": "0.2.2" }, undefined, OPTIONS],
  ["OPTIONS by POST", "new", "POST", { "x-http-method-override": "OPTIONS" }, undefined, OPTIONS],

  ["HEAD, no data", "new", "HEAD", {}, undefined, head({ ...at8, "upload-offset": "0" })],
  ["HEAD, some data", "part", "HEAD", {}, undefined, head(at8)],
  [
    "HEAD by POST",
    "part",
    "POST",
    { "x-http-method-override": "HEAD" },
    undefined,
    head({ ...at8, "transfer-encoding": "chunked" }),
  ],
  [
    "HEAD with metadata",
    "named",
    "HEAD",
    {},
    undefined,
    head({ ...at8, "upload-metadata": "name aGVsbG8=, requiresignedurls" }),
  ],
  [
    "HEAD, length deferred",
    "deferred",
    "HEAD",
    {},
    undefined,
    head({ "upload-defer-length": "1", "upload-offset": "8" }),
  ],
  ["HEAD, complete", "done", "HEAD", {}, undefined, head({ "upload-length": "20", "upload-offset": "20" })],
  ["HEAD of a one-time URL", "direct", "HEAD", {}, undefined, head(at8)],
  ["HEAD of an unused one-time URL", "unused", "HEAD", {}, undefined, NOT_FOUND],
  ["HEAD with a wrong secret", "part", "HEAD", { ":secret": "wrong" }, undefined, NOT_FOUND],
  ["HEAD without version", "part", "HEAD", { "tus-resumable": [] }, undefined, version("absent")],
  ["HEAD with another version", "part", "HEAD", { "tus-resumable": "0.2.2" }, undefined, version('"0.2.2"')],
  [
    "HEAD with two versions",
    "part",
    "HEAD",
    { "tus-resumable": ["1.0.0", "1.0.0"] },
    undefined,
    version('"1.0.0, 1.0.0"'),
  ],
  ["HEAD with Upload-Checksum", "part", "HEAD", { "upload-checksum": "sha1 AAAA" }, undefined, CHECKSUM],
  ["HEAD with an offset", "part", "HEAD", { "upload-offset": "x" }, undefined, invalid("upload-offset")],
  [
    "HEAD with invalid headers",
    "part",
    "HEAD",
    {
      "upload-offset": "1.5",
      "upload-length": "-1",
      "tus-version": "2",
      "upload-defer-length": "0",
      "upload-concat": "",
    },
    undefined,
    invalid("tus-version upload-concat upload-defer-length upload-length upload-offset"),
  ],
  [
    "HEAD with irrelevant headers",
    "part",
    "HEAD",
    {
      "content-type": "text/plain",
      "x-forwarded-proto": "https, http",
      "upload-metadata": "a b c, a",
      "upload-length": "7",
    },
    undefined,
    head(at8),
  ],
  ["HEAD, storage fails", "broken", "HEAD", {}, undefined, failed(500, BROKEN)],
  ["HEAD, expired", "expired", "HEAD", {}, undefined, EXPIRED],

  ["PATCH in chunks", "part", "PATCH", at(8), ["1234"], stored(12)],
  ["PATCH with the rest", "part", "PATCH", at(8), REST, stored(20)],
  ["PATCH with the rest in chunks", "part", "PATCH", at(8), [REST.slice(0, 3), REST.slice(3)], stored(20)],
  ["PATCH of a one-time URL", "direct", "PATCH", at(8), REST, stored(20)],
  ["PATCH by POST", "part", "POST", at(8, { "x-http-method-override": "patch" }), REST, stored(20)],
  ["PATCH, empty", "part", "PATCH", at(8), "", stored(8)],
  ["PATCH, empty, no Content-Length", "part", "PATCH", at(8), [], stored(8)],
  [
    "PATCH with a small chunk",
    "part",
    "PATCH",
    at(8),
    "1234",
    bad(
      "Chunk size must be a multiple of 256KiB (262144 bytes) unless it is the last one, and not 4 bytes (at offset 8 of 20)",
    ),
  ],
  ["PATCH without version", "part", "PATCH", at(8, { "tus-resumable": [] }), REST, version("absent")],
  ["PATCH with another version", "part", "PATCH", at(8, { "tus-resumable": "2.0.0" }), REST, version('"2.0.0"')],
  ["PATCH with Upload-Checksum", "part", "PATCH", at(8, { "upload-checksum": "sha1 AAAA" }), REST, CHECKSUM],
  ["PATCH without offset", "part", "PATCH", TYPE, REST, rejected(403, "Upload-Offset header required\n")],
  [
    "PATCH without type",
    "part",
    "PATCH",
    { "upload-offset": "8" },
    REST,
    rejected(403, "Content-Type header required\n"),
  ],
  ["PATCH without both", "part", "PATCH", {}, REST, rejected(403, "Upload-Offset header required\n")],
  ["PATCH with another type", "part", "PATCH", at(8, { "content-type": "video/mp4" }), REST, invalid("content-type")],
  [
    "PATCH with a type parameter",
    "part",
    "PATCH",
    at(8, { "content-type": `${TYPE["content-type"]}; a=b` }),
    REST,
    invalid("content-type"),
  ],
  [
    "PATCH with two types",
    "part",
    "PATCH",
    at(8, { "content-type": [TYPE["content-type"], TYPE["content-type"]] }),
    REST,
    invalid("content-type"),
  ],
  ["PATCH with another type and no offset", "part", "PATCH", { "content-type": "a/b" }, REST, invalid("content-type")],
  ...["", "x", "-1", "8.5", "08", "+8", "8e0", "0x8", "1e+21", "9007199254740993"].map((offset): Case => [
    `PATCH at "${offset}"`,
    "part",
    "PATCH",
    at(offset),
    [REST],
    invalid("upload-offset"),
  ]),
  ["PATCH at two offsets", "part", "PATCH", at(8, { "upload-offset": ["8", "8"] }), REST, invalid("upload-offset")],
  ["PATCH with a padded offset", "part", "PATCH", at("  8  "), REST, stored(20)],
  ...[0, 7, 9, 20, 21, 2 ** 53].map((offset): Case => [
    `PATCH at ${offset}`,
    "part",
    "PATCH",
    at(offset),
    [REST],
    CONFLICT,
  ]),
  ["PATCH, too long", "part", "PATCH", at(8), `${REST}1`, rejected(413, "upload's size exceeded\n")],
  ["PATCH, too long, in chunks", "part", "PATCH", at(8), ["1234", REST], rejected(413, "Maximum size exceeded\n")],
  ["PATCH with the known length", "part", "PATCH", at(8, { "upload-length": "20" }), REST, LENGTH],
  ["PATCH with an invalid length", "part", "PATCH", at(8, { "upload-length": "x" }), REST, invalid("upload-length")],
  ["PATCH with Upload-Concat", "part", "PATCH", at(8, { "upload-concat": "partial" }), REST, stored(20)],
  ["PATCH with Upload-Concat: final", "part", "PATCH", at(8, { "upload-concat": "final;/a" }), REST, stored(20)],
  [
    "PATCH with an invalid Upload-Concat",
    "part",
    "PATCH",
    at(8, { "upload-concat": "whole" }),
    REST,
    invalid("upload-concat"),
  ],
  ["PATCH with Upload-Defer-Length", "part", "PATCH", at(8, { "upload-defer-length": "1" }), REST, stored(20)],
  [
    "PATCH with Upload-Defer-Length: 2",
    "part",
    "PATCH",
    at(8, { "upload-defer-length": "2" }),
    REST,
    invalid("upload-defer-length"),
  ],
  ["PATCH with metadata", "part", "PATCH", at(8, { "upload-metadata": "a b c" }), REST, stored(20)],
  [
    "PATCH with invalid headers",
    "part",
    "PATCH",
    { "upload-offset": "x", "upload-length": "y", "tus-version": "0.2.2", "content-type": "a/b" },
    REST,
    invalid("content-type tus-version upload-length upload-offset"),
  ],
  [
    "PATCH with text",
    "new",
    "PATCH",
    at(0),
    "just words, 20 bytes",
    rejected(400, "The file is not a video: it is text\n"),
  ],
  ["PATCH, complete", "done", "PATCH", at(20), [], USED],
  ["PATCH of an unused one-time URL", "unused", "PATCH", at(0), REST, NOT_FOUND],
  ["PATCH with a wrong secret", "part", "PATCH", at(8, { ":secret": "wrong" }), REST, NOT_FOUND],
  ["PATCH, storage fails", "broken", "PATCH", at(8), REST, rejected(500, BROKEN)],
  [
    "PATCH, disk full",
    "full",
    "PATCH",
    at(8),
    REST,
    rejected(
      507,
      "no space left to write it. Free up disk space for the data directory; nothing was partially written.\n",
    ),
  ],
  ["PATCH, expired", "expired", "PATCH", at(8), REST, EXPIRED],

  ["deferred: PATCH", "deferred", "PATCH", at(8), "1234", stored(12)],
  ["deferred: length with the last chunk", "deferred", "PATCH", at(8, { "upload-length": "20" }), REST, stored(20)],
  ["deferred: length with a chunk", "deferred", "PATCH", at(8, { "upload-length": "30" }), ["1234"], stored(12)],
  ["deferred: only the length", "deferred", "PATCH", at(8, { "upload-length": "20" }), "", stored(8)],
  ["deferred: length equal to the offset", "deferred", "PATCH", at(8, { "upload-length": "8" }), "", stored(8)],
  ["deferred: length below the offset", "deferred", "PATCH", at(8, { "upload-length": "7" }), "", LENGTH],
  ["deferred: length 0", "deferred", "PATCH", at(8, { "upload-length": "0" }), "", LENGTH],
  ["deferred: invalid length", "deferred", "PATCH", at(8, { "upload-length": "020" }), REST, invalid("upload-length")],
  ["deferred: wrong offset with a length", "deferred", "PATCH", at(9, { "upload-length": "20" }), REST, CONFLICT],
  [
    "deferred: length over the limit",
    "deferred",
    "PATCH",
    at(8, { "upload-length": "16385" }),
    "",
    rejected(413, "The file is larger than 16384 bytes: Upload-Length is 16385 (stream.upload_gb)\n"),
  ],
  [
    "deferred: longer than the length",
    "deferred",
    "PATCH",
    at(8, { "upload-length": "10" }),
    REST,
    rejected(413, "upload's size exceeded\n"),
  ],
  [
    "deferred: longer than the length, in chunks",
    "deferred",
    "PATCH",
    at(8, { "upload-length": "10" }),
    ["1", REST],
    rejected(413, "Maximum size exceeded\n"),
  ],
  [
    "deferred: over the limit",
    "deferred",
    "PATCH",
    at(8),
    Array.from({ length: 16 }, () => KIB),
    rejected(413, "The file is larger than 16384 bytes: no upload may be larger (stream.upload_gb)\n"),
  ],

  ["DELETE", "part", "DELETE", {}, undefined, [204, { ...TUS, ...EXPIRES }]],
  ["DELETE, length deferred", "deferred", "DELETE", {}, undefined, [204, { ...TUS, ...EXPIRES }]],
  ["DELETE by POST", "part", "POST", { "x-http-method-override": "DELETE" }, undefined, [204, { ...TUS, ...EXPIRES }]],
  ["DELETE of a one-time URL", "direct", "DELETE", {}, undefined, [204, { ...TUS, ...EXPIRES }]],
  ["DELETE with a content type", "part", "DELETE", { "content-type": "a/b" }, undefined, [204, { ...TUS, ...EXPIRES }]],
  ["DELETE, complete", "done", "DELETE", {}, undefined, failed(400, "Cannot terminate an already completed upload")],
  ["DELETE of an unused one-time URL", "unused", "DELETE", {}, undefined, NOT_FOUND],
  ["DELETE with an invalid header", "part", "DELETE", { "upload-offset": "x" }, undefined, invalid("upload-offset")],
  ["DELETE without version", "part", "DELETE", { "tus-resumable": [] }, undefined, version("absent")],
  ["DELETE, storage fails", "broken", "DELETE", {}, undefined, failed(500, BROKEN)],
  ["DELETE, expired", "expired", "DELETE", {}, undefined, EXPIRED],
  [
    "PUT",
    "part",
    "PUT",
    {},
    "x",
    [405, { ...CORS, allow: "POST, HEAD, PATCH, DELETE, OPTIONS, GET", "transfer-encoding": "chunked" }],
  ],

  ["creation", "unused", "POST", { "upload-length": "20" }, undefined, created()],
  ["creation of a partial upload", "direct", "POST", { "upload-length": "20" }, undefined, created()],
  ["creation, length deferred", "unused", "POST", { "upload-defer-length": "1" }, undefined, created()],
  [
    "creation with data",
    "unused",
    "POST",
    { "upload-length": "20", ...TYPE },
    REST,
    created({ "upload-offset": "12" }),
  ],
  [
    "creation with all data",
    "unused",
    "POST",
    { "upload-length": "12", ...TYPE },
    REST,
    created({ "upload-offset": "12" }),
  ],
  [
    "creation with too much data",
    "unused",
    "POST",
    { "upload-length": "4", ...TYPE },
    REST,
    refused(413, "The file is larger than 4 bytes: the declared Upload-Length\n"),
  ],
  [
    "creation with too much data, length deferred",
    "unused",
    "POST",
    { "upload-defer-length": "1", ...TYPE },
    Array.from({ length: 17 }, () => KIB),
    refused(413, "The file is larger than 16384 bytes: no upload may be larger (stream.upload_gb)\n"),
  ],
  [
    "creation without length",
    "unused",
    "POST",
    {},
    undefined,
    bad("Upload-Length is required: the size of the file in bytes, or Upload-Defer-Length: 1"),
  ],
  [
    "creation with two lengths",
    "unused",
    "POST",
    { "upload-length": "20", "upload-defer-length": "1" },
    undefined,
    bad("Upload-Length and Upload-Defer-Length exclude each other: send only one"),
  ],
  [
    "creation with an invalid length",
    "unused",
    "POST",
    { "upload-length": "1e3" },
    undefined,
    bad('Upload-Length is the size of the file in bytes, and not "1e3"'),
  ],
  [
    "creation over the limit",
    "unused",
    "POST",
    { "upload-length": "16385" },
    undefined,
    refused(413, "The file is larger than 16384 bytes: Upload-Length is 16385 (stream.upload_gb)\n"),
  ],
  [
    "creation with Upload-Checksum",
    "unused",
    "POST",
    { "upload-length": "20", "upload-checksum": "md5 AA==" },
    undefined,
    CHECKSUM,
  ],
  [
    "creation with another version",
    "unused",
    "POST",
    { "upload-length": "20", "tus-resumable": "0.2.2" },
    undefined,
    version('"0.2.2"'),
  ],
  ["creation, complete", "done", "POST", { "upload-length": "20" }, undefined, USED],
  ["creation, expired", "expired", "POST", { "upload-length": "20" }, undefined, EXPIRED],
];

test("responses have exactly the status codes, headers and texts that clients know", async (t) => {
  const now = Date.UTC(2026, 10, 21);
  const settings = { upload_gb: 2 ** -16, basic_upload_mb: 1, chunk_mb: 200 };
  const clock = { ...createManualClock(), now: () => now + later };
  let later = 0;
  const { base, uploads, objects } = await open(t, { clock, more: { settings } });
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());

  const size = (uid: string) => partial(`stream/${uid}/source`).size();
  const partial = objects.partial.bind(objects);
  let fault: "broken" | "full" | undefined;
  objects.partial = (key) => {
    if (fault === "broken") throw new Error("broken");
    const full = () => Promise.reject(storeErrors.diskFull({ what: "it" }));
    return fault === "full" ? { ...partial(key), append: full } : partial(key);
  };

  /** Names in lower case; without those that Node adds to a connection that stays open. */
  async function ask(method: string, url: string, headers: Headers, body?: Body): Promise<Response> {
    const all: Headers = { "tus-resumable": "1.0.0", ...headers };
    const given = Object.entries(all).filter(
      ([name, value]) => !name.startsWith(":") && (typeof value === "string" || value.length > 0),
    );
    const request = send(url, { method, agent, headers: Object.fromEntries(given) });
    if (Array.isArray(body)) {
      request.setHeader("transfer-encoding", "chunked");
      for (const piece of body) request.write(piece, "latin1");
      request.end();
    } else {
      if (body !== undefined) request.setHeader("content-length", body.length);
      request.end(body, "latin1");
    }
    const [response] = await once(request, "response");
    response.setEncoding("latin1");
    const text = (await response.toArray()).join("");
    const { date: _, "keep-alive": __, connection, ...rest } = response.headers;
    return [response.statusCode, { ...rest, ...(connection === "close" && { connection }) }, text];
  }

  async function create(state: State): Promise<{ url: string; uid: string }> {
    if (state === "unused" || state === "direct") {
      const { uploadUrl: url, video } = await uploads.direct(ACCOUNT, { maxDurationSeconds: 60 });
      if (state === "direct") {
        await ask("POST", url, { "upload-length": "20" });
        await ask("PATCH", url, at(0), [REST.slice(0, 8)]);
      }
      return { url, uid: video.uid };
    }
    const length: Headers = state === "deferred" ? { "upload-defer-length": "1" } : { "upload-length": "20" };
    const metadata: Headers | false = state === "named" && { "upload-metadata": "name aGVsbG8=, requiresignedurls" };
    const [, headers] = await ask("POST", `${base}/tus`, { ...length, ...metadata });
    const [url, uid] = [headers["location"]!, headers["stream-media-id"]!];
    const data = state === "done" ? `${REST}12345678` : REST.slice(0, 8);
    if (state !== "new") assert.equal((await ask("PATCH", url, at(0), [data]))[0], 204);
    return { url, uid };
  }

  for (const [name, state, method, headers, body, expected] of CASES) {
    const { url, uid } = await create(state);
    const secret = url.split("/").at(-1)!;
    const before = await size(uid);
    if (state === "broken" || state === "full") fault = state;
    if (state === "expired") later = 9 * 86_400_000;
    const path = headers[":secret"] === undefined ? url : url.replace(secret, "x".repeat(32));
    const [status, answered, text] = await ask(method, path, headers, body);
    fault = undefined;
    later = 0;
    const hide = (value: string) => value.replaceAll(uid, "UID").replaceAll(secret, "SECRET");
    const wanted = { ...expected[1] };
    // A one-time URL expires early, and a complete upload does not.
    if ("upload-expires" in wanted && state === "direct") Object.assign(wanted, SOON);
    if (state === "done") delete wanted["upload-expires"];
    assert.deepEqual(
      [status, Object.fromEntries(Object.entries(answered).map(([key, value]) => [key, hide(value)])), hide(text!)],
      [expected[0], wanted, method === "HEAD" ? "" : (expected[2] ?? "")],
      name,
    );
    const now = await size(uid);
    if (status >= 400 && !Array.isArray(body))
      assert.equal(now, before, `${name}: data of a rejected request is stored`);
    assert.ok(now <= settings.upload_gb * 1024 ** 3, `${name}: ${now} bytes`);
  }
});

test("a request that cannot get the lock is asked to retry", async (t) => {
  const locked = { acquire: () => Promise.resolve(undefined), has: () => true, close() {} };
  const unused = {} as Parameters<typeof createTus>[0];
  const tus = createTus({ ...unused, lock: locked });
  const video = { uid: "0".repeat(32), maxSizeBytes: null } as Video;
  const server = createServer((request, response) => {
    void tus(request, response, { method: request.method as "HEAD" | "PATCH" | "DELETE", video });
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const text = "Another request is writing this upload. Retry in a few seconds.\n";
  for (const method of ["HEAD", "PATCH", "DELETE"]) {
    const response = await fetch(url, { method, headers: at(8) as Record<string, string> });
    assert.deepEqual([response.status, await response.text()], [423, method === "HEAD" ? "" : text]);
  }
});
