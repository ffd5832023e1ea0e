import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../kernel/index.ts";
import { readTusMetadata } from "./tus-metadata.ts";

const b64 = (text: string) => Buffer.from(text).toString("base64");

test("reads the published example, which has spaces after its commas", () => {
  assert.deepEqual(
    readTusMetadata("name aGVsbG8gd29ybGQ=, requiresignedurls, allowedorigins ZXhhbXBsZS5jb20sdGVzdC5jb20="),
    { meta: { name: "hello world" }, requireSignedURLs: true, allowedOrigins: ["example.com", "test.com"] },
  );
});

test("accepts known keys in any case and values without padding, and keeps other keys unchanged", () => {
  const header = `maxDurationSeconds ${b64("3600")},expiry ${b64("2026-12-01T10:00:00Z")},ScheduledDeletion ${b64("2027-02-01T00:00:00+01:00")},thumbnailTimestampPct ${b64("0.25")},watermark ${b64("w".repeat(32))},filename ${b64("ein Vidéo.mp4").replace(/=+$/, "")},relativePath,fileType ${b64("video/mp4")}`;
  assert.deepEqual(readTusMetadata(header), {
    maxDurationSeconds: 3600,
    uploadExpiry: Date.UTC(2026, 11, 1, 10),
    scheduledDeletion: Date.UTC(2027, 0, 31, 23),
    thumbnailTimestampPct: 0.25,
    watermark: "w".repeat(32),
    meta: { filename: "ein Vidéo.mp4", relativePath: "", fileType: "video/mp4" },
  });
  assert.deepEqual(readTusMetadata(""), {});
  assert.deepEqual(readTusMetadata(" , ,"), {});
  assert.deepEqual(Object.keys(readTusMetadata(`__proto__ ${b64("x")}`).meta!), ["__proto__"]);
});

test("rejects invalid values, with the key and the value in the error", () => {
  for (const [header, text] of [
    ["name aGk= more", /one base64 value/],
    ["name a%b", /not base64: "a%b"/],
    [`name ${b64("a")},Name ${b64("b")}`, /duplicate key "Name"/],
    [`maxdurationseconds ${b64("long")}`, /maxdurationseconds in Upload-Metadata must be a number, not "long"/],
    ["thumbnailtimestamppct", /must be a number, not ""/],
    [`expiry ${b64("tomorrow")}`, /expiry in Upload-Metadata must be a time such as/],
    [Array.from({ length: 101 }, (_, n) => `k${n}`).join(), /at most 100 keys, not 101/],
  ] as const)
    assert.throws(
      () => readTusMetadata(header),
      (err) => err instanceof UserError && err.code === 10005 && text.test(err.message),
      header.slice(0, 40),
    );
});

test("preserves any client value, and never throws unexpectedly on any header", () => {
  const key = fc.stringMatching(/^x[A-Za-z0-9_.-]{0,12}$/);
  fc.assert(
    fc.property(
      fc.dictionary(
        key,
        fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0")),
      ),
      (meta) => {
        const unique = Object.fromEntries(
          Object.entries(meta).filter(
            ([name], at, all) => all.findIndex(([other]) => other.toLowerCase() === name.toLowerCase()) === at,
          ),
        );
        assert.deepEqual(
          readTusMetadata(
            Object.entries(unique)
              .map(([name, value]) => `${name} ${b64(value)}`)
              .join(","),
          ).meta ?? {},
          { ...unique },
        );
      },
    ),
  );
  fc.assert(
    fc.property(fc.string(), (header) => {
      try {
        readTusMetadata(header);
      } catch (err) {
        assert.ok(err instanceof UserError);
      }
    }),
  );
});
