import assert from "node:assert/strict";
import { test } from "node:test";
import { MalformedMessage, readUncompressedName } from "./wire-reader.ts";

const wire = (...lengths: number[]) =>
  Buffer.concat([
    ...lengths.map((length) => Buffer.concat([Buffer.of(length), Buffer.alloc(length, "a")])),
    Buffer.of(0),
  ]);

test("limits a name to 255 octets, including length octets and the root (RFC 1035 2.3.4)", () => {
  const longest = wire(63, 63, 63, 61);
  assert.equal(longest.length, 255);
  assert.equal(readUncompressedName(longest, 0).end, 255);
  assert.throws(() => readUncompressedName(wire(63, 63, 63, 62), 0), MalformedMessage);
  // The limit applies from the start of the name.
  assert.equal(readUncompressedName(Buffer.concat([Buffer.alloc(12), longest]), 12).end, 267);
  assert.throws(
    () => readUncompressedName(Buffer.concat([Buffer.alloc(12), wire(63, 63, 63, 62)]), 12),
    MalformedMessage,
  );
});

test("limits a label to 63 octets and rejects a compression pointer", () => {
  assert.equal(readUncompressedName(wire(63), 0).name, "a".repeat(63));
  assert.throws(() => readUncompressedName(wire(64), 0), MalformedMessage);
  assert.throws(() => readUncompressedName(Buffer.from([0xc0, 0x0c]), 0), MalformedMessage);
  assert.throws(() => readUncompressedName(Buffer.from([3, 97, 98]), 0), MalformedMessage);
});

test("escapes octets outside host name characters, including a dot inside a label", () => {
  assert.equal(readUncompressedName(Buffer.from([3, 0x61, 0x2e, 0x42, 1, 0x80, 0]), 0).name, "a\\046b.\\128");
});
