import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import {
  canonicalRequest,
  ChunkError,
  decodeChunks,
  decodeQuery,
  encodeComponent,
  readAuthorization,
  readPresigned,
  isSameSignature,
  sha256Hex,
  signingKey,
  signRequest,
  signText,
  type ChunkOptions,
} from "./index.ts";

// The published examples of "Authenticating Requests (AWS Signature Version 4)" in the S3 API reference.
const SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const scope = { day: "20130524", region: "us-east-1", service: "s3" };
const time = "20130524T000000Z";
const key = signingKey(SECRET, scope);
const EMPTY = sha256Hex("");

describe("published examples", () => {
  test("a GET request with a range is signed", () => {
    const canonical = canonicalRequest(
      {
        method: "GET",
        path: "/test.txt",
        query: [],
        headers: {
          host: "examplebucket.s3.amazonaws.com",
          range: "bytes=0-9",
          "x-amz-content-sha256": EMPTY,
          "x-amz-date": time,
        },
      },
      ["host", "range", "x-amz-content-sha256", "x-amz-date"],
      EMPTY,
    );
    assert.equal(
      signRequest(key, canonical, time, scope),
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
  });

  test("a PUT request with a character to encode is signed", () => {
    const hash = sha256Hex("Welcome to Amazon S3.");
    const canonical = canonicalRequest(
      {
        method: "PUT",
        path: "/test$file.text",
        query: [],
        headers: {
          date: "Fri, 24 May 2013 00:00:00 GMT",
          host: "examplebucket.s3.amazonaws.com",
          "x-amz-content-sha256": hash,
          "x-amz-date": time,
          "x-amz-storage-class": "REDUCED_REDUNDANCY",
        },
      },
      ["date", "host", "x-amz-content-sha256", "x-amz-date", "x-amz-storage-class"],
      hash,
    );
    assert.equal(
      signRequest(key, canonical, time, scope),
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    );
  });

  test("a list request with a query is signed", () => {
    const canonical = canonicalRequest(
      {
        method: "GET",
        path: "/",
        query: decodeQuery("prefix=J&max-keys=2"),
        headers: { host: "examplebucket.s3.amazonaws.com", "x-amz-content-sha256": EMPTY, "x-amz-date": time },
      },
      ["host", "x-amz-content-sha256", "x-amz-date"],
      EMPTY,
    );
    assert.equal(
      signRequest(key, canonical, time, scope),
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    );
  });

  test("a presigned URL is signed and parsed", () => {
    const query = decodeQuery(
      "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host",
    );
    const canonical = canonicalRequest(
      { method: "GET", path: "/test.txt", query, headers: { host: "examplebucket.s3.amazonaws.com" } },
      ["host"],
      "UNSIGNED-PAYLOAD",
    );
    const signature = signRequest(key, canonical, time, scope);
    assert.equal(signature, "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
    const result = readPresigned(new Map([...query, ["X-Amz-Signature", signature]]));
    assert.ok(result.ok);
    assert.deepEqual(result.parameters, {
      accessKeyId: "AKIAIOSFODNN7EXAMPLE",
      scope,
      signedHeaders: ["host"],
      signature,
      time,
      timestamp: Date.UTC(2013, 4, 24),
      expires: 86_400,
    });
  });

  test("a body of signed chunks is verified", async () => {
    const body = Buffer.concat([
      Buffer.from("10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n"),
      Buffer.alloc(65_536, "a"),
      Buffer.from("\r\n400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n"),
      Buffer.alloc(1024, "a"),
      Buffer.from("\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n"),
    ]);
    const seedSignature = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
    const options = { signing: { key, scope, time, seedSignature }, trailer: false };
    assert.equal((await decodeAll(body, options)).length, 66_560);
    const modifiedBody = Buffer.from(body);
    modifiedBody[200] = 98;
    await assert.rejects(
      decodeAll(modifiedBody, options),
      (err) => err instanceof ChunkError && err.reason === "signature",
    );
  });
});

test("an Authorization header is parsed, with Date instead of X-Amz-Date", () => {
  const header = `AWS4-HMAC-SHA256 Credential=AK/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date,Signature=${"a".repeat(64)}`;
  const result = readAuthorization(header, "Fri, 24 May 2013 00:00:00 GMT");
  assert.ok(result.ok);
  assert.deepEqual(
    [result.parameters.time, result.parameters.scope, result.parameters.signedHeaders],
    [time, scope, ["host", "x-amz-date"]],
  );
});

test("malformed signatures are rejected with a reason", () => {
  const header = (credential: string, names = "host", signature = "a".repeat(64)) =>
    `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
  const good = "AK/20130524/auto/s3/aws4_request";
  const cases: [string, string | undefined, RegExp][] = [
    ["Bearer x", time, /algorithm/],
    [header(good), undefined, /x-amz-date/],
    [header(good), "20139924T000000Z", /date/],
    [header("AK/20130524/auto/s3"), time, /credential/],
    [header(good, "x-amz-date"), time, /host must be signed/],
    [header(good, "host;Range"), time, /lower-case/],
    [header(good, "host", "zz"), time, /signature/],
    [header("AK/20130525/auto/s3/aws4_request"), time, /differs/],
  ];
  for (const [text, date, why] of cases) {
    const result = readAuthorization(text, date);
    assert.ok(!result.ok, text);
    assert.match(result.why, why);
  }
  for (const expires of ["0", "604801", "1e3", "", "-1"]) {
    const reading = readPresigned(
      new Map([
        ["X-Amz-Algorithm", "AWS4-HMAC-SHA256"],
        ["X-Amz-Expires", expires],
      ]),
    );
    assert.ok(!reading.ok && /X-Amz-Expires/.test(reading.why), expires);
  }
});

test("canonical paths and queries do not depend on the encoding chosen by the client", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }).filter((text) => text.isWellFormed()),
      (text) => {
        const canonicalOf = (path: string, query: string) =>
          canonicalRequest({ method: "GET", path, query: decodeQuery(query), headers: {} }, ["host"], EMPTY);
        const encoded = encodeComponent(text);
        assert.equal(
          canonicalOf(`/${encodeURIComponent(text)}`, `a=${encodeURIComponent(text)}`),
          canonicalOf(`/${encoded}`, `a=${encoded}`),
        );
        assert.deepEqual(decodeQuery(`a=${encoded}`), [["a", text]]);
      },
    ),
  );
});

test("signatures of different lengths differ", () => {
  assert.equal(isSameSignature("aa", "aa"), true);
  assert.equal(isSameSignature("aa", "ab"), false);
  assert.equal(isSameSignature("aa", "a"), false);
});

describe("chunked bodies", () => {
  test("unsigned chunks with a trailer are decoded, however the body is split", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 40 }),
        async (pieces, step) => {
          const body = Buffer.concat([
            ...pieces.flatMap((piece) => [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]),
            Buffer.from("0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n"),
          ]);
          let trailer: Record<string, string> = {};
          const bytes = await decodeAll(body, { trailer: true, onTrailer: (headers) => (trailer = headers) }, step);
          assert.deepEqual(bytes, Buffer.concat(pieces));
          assert.deepEqual(trailer, { "x-amz-checksum-crc32": "AAAA" });
        },
      ),
    );
  });

  test("a signed trailer is verified", async () => {
    const seedSignature = "0".repeat(64);
    const chunk = (previous: string, data: string) =>
      signText(
        key,
        ["AWS4-HMAC-SHA256-PAYLOAD", time, "20130524/us-east-1/s3/aws4_request", previous, EMPTY, sha256Hex(data)].join(
          "\n",
        ),
      );
    const firstSignature = chunk(seedSignature, "abc");
    const lastSignature = chunk(firstSignature, "");
    const trailer = "x-amz-checksum-crc32:NSRBwg==\n";
    const trailerSignature = signText(
      key,
      [
        "AWS4-HMAC-SHA256-TRAILER",
        time,
        "20130524/us-east-1/s3/aws4_request",
        lastSignature,
        createHash("sha256").update(trailer).digest("hex"),
      ].join("\n"),
    );
    const body = (signature: string) =>
      Buffer.from(
        `3;chunk-signature=${firstSignature}\r\nabc\r\n0;chunk-signature=${lastSignature}\r\n${trailer.trim()}\r\nx-amz-trailer-signature:${signature}\r\n\r\n`,
      );
    const options = { signing: { key, scope, time, seedSignature }, trailer: true };
    assert.equal((await decodeAll(body(trailerSignature), options)).toString(), "abc");
    const isSignatureError = (err: unknown) => err instanceof ChunkError && err.reason === "signature";
    await assert.rejects(decodeAll(body("0".repeat(64)), options), isSignatureError);
    await assert.rejects(
      decodeAll(
        Buffer.from(`3;chunk-signature=${firstSignature}\r\nabc\r\n0;chunk-signature=${lastSignature}\r\n\r\n`),
        options,
      ),
      isSignatureError,
    );
  });

  test("malformed bodies are rejected", async () => {
    for (const text of [
      "",
      "3\r\nab",
      "3\r\nabcd\r\n0\r\n\r\n",
      "zz\r\n",
      "0\r\nx: y\r\n\r\n",
      `${"1".repeat(20_000)}`,
    ])
      await assert.rejects(
        decodeAll(Buffer.from(text), { trailer: false }),
        (err) => err instanceof ChunkError && err.reason === "malformed",
        text.slice(0, 20),
      );
  });
});

describe("signed chunks", () => {
  test("the bytes of a chunk are passed on as they arrive, and a wrong signature at its end is an error", async () => {
    const piece = Buffer.alloc(1024 * 1024, "x");
    const pieces = 20;
    let heldBytes = 0;
    let mostHeldBytes = 0;
    async function* body() {
      yield Buffer.from(`${(pieces * piece.length).toString(16)};chunk-signature=${"0".repeat(64)}\r\n`);
      for (let i = 0; i < pieces; i++) {
        heldBytes += piece.length;
        mostHeldBytes = Math.max(mostHeldBytes, heldBytes);
        yield piece;
      }
      yield Buffer.from("\r\n");
    }
    const signing = { key, scope, time, seedSignature: "0".repeat(64) };
    await assert.rejects(
      async () => {
        for await (const bytes of decodeChunks(body(), { signing, trailer: false })) heldBytes -= bytes.length;
      },
      (err) => err instanceof ChunkError && err.reason === "signature",
    );
    assert.equal(mostHeldBytes, piece.length);
  });
});

async function decodeAll(body: Buffer, options: ChunkOptions, stepBytes = 1000): Promise<Buffer> {
  async function* readInSteps() {
    for (let offset = 0; offset < body.length; offset += stepBytes) yield body.subarray(offset, offset + stepBytes);
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of decodeChunks(readInSteps(), options)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
