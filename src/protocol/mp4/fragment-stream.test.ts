import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Mp4Error } from "./boxes.ts";
import { createAdtsReader } from "../aac/index.ts";
import { createMp4SegmentReader } from "./fragment-stream.ts";

function box(type: string, length: number): Buffer {
  const bytes = Buffer.alloc(8 + length, type.charCodeAt(0));
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.write(type, 4, "latin1");
  return bytes;
}

/** Splits the bytes at these offsets. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

const sizes = fc.integer({ min: 0, max: 40 });
const places = fc.array(fc.nat(), { maxLength: 12 });

test("the fragments of a file do not depend on chunking", () => {
  fc.assert(
    fc.property(sizes, fc.array(fc.tuple(sizes, sizes), { maxLength: 4 }), places, (moov, fragments, where) => {
      const init = Buffer.concat([box("ftyp", 12), box("moov", moov)]);
      const media = fragments.map(([head, data]) =>
        Buffer.concat([box("styp", 4), box("moof", head), box("mdat", data)]),
      );
      const reader = createMp4SegmentReader();
      const pieces = cut(Buffer.concat([init, ...media, box("free", 3).subarray(0, 9)]), where).flatMap((chunk) =>
        reader.push(chunk),
      );
      assert.deepEqual(pieces, [{ kind: "init", bytes: init }, ...media.map((bytes) => ({ kind: "fragment", bytes }))]);
      assert.equal(reader.pendingOctets, 9);
    }),
  );
});

test("rejects input that does not consist of boxes or has a box without an end", () => {
  assert.throws(() => createMp4SegmentReader().push(Buffer.alloc(16)), Mp4Error);
  assert.throws(() => createMp4SegmentReader(1000).push(box("mdat", 5000).subarray(0, 2000)), Mp4Error);
});

test("AAC frames do not depend on chunking, and other data is rejected", () => {
  const frames = fc.array(fc.uint8Array({ minLength: 0, maxLength: 60 }), { maxLength: 6 });
  fc.assert(
    fc.property(frames, places, (bodies, where) => {
      const reader = createAdtsReader();
      const stream = Buffer.concat(
        bodies.map((body) => {
          const size = body.length + 7;
          return Buffer.from([
            0xff,
            0xf1,
            0x4c,
            0x80 | (size >> 11),
            (size >> 3) & 255,
            ((size & 7) << 5) | 0x1f,
            0xfc,
            ...body,
          ]);
        }),
      );
      assert.deepEqual(
        cut(stream, where).flatMap((chunk) => reader.push(chunk)),
        bodies.map((body) => Buffer.from(body)),
      );
    }),
  );
  assert.throws(() => createAdtsReader().push(Buffer.from("ID3 and so on")));
});
