import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { chunk, END, header, png, SIGNATURE } from "./png.testing.ts";
import { readPng } from "./png.ts";

const why = (file: Buffer): string => {
  const result = readPng(file);
  assert.equal(typeof result, "string", "the file was accepted");
  return result as string;
};

test("an image is accepted with its size, and stripped of chunks that are not needed to show it", () => {
  const result = readPng(
    Buffer.concat([
      png(20, 10, {
        between: [
          chunk("tEXt", Buffer.from("Author\0me")),
          chunk("iCCP", Buffer.alloc(50)),
          chunk("acTL", Buffer.alloc(8)),
        ],
      }),
      Buffer.from("and more behind it"),
    ]),
  );
  assert.ok(typeof result === "object");
  assert.deepEqual([result.width, result.height], [20, 10]);
  assert.deepEqual(result.bytes, png(20, 10));
});

test("an invalid PNG is rejected with the reason", () => {
  const good = png(4, 4);
  assert.match(why(Buffer.from("GIF89a")), /not a PNG/);
  assert.match(why(Buffer.from([0xff, 0xd8, 0xff])), /not a PNG/);
  assert.match(why(Buffer.alloc(0)), /not a PNG/);
  assert.match(why(good.subarray(0, -1)), /truncated/);
  assert.match(why(SIGNATURE), /truncated/);
  assert.match(why(Buffer.concat([SIGNATURE, END])), /header is not where/);
  assert.match(why(Buffer.concat([SIGNATURE, header(4, 4), header(4, 4), END])), /header is not where/);
  assert.match(why(Buffer.concat([SIGNATURE, header(4, 4), END])), /no image data/);
  assert.match(why(Buffer.concat([SIGNATURE, chunk("IHDR", Buffer.alloc(12)), END])), /length/);
  assert.match(why(png(4, 4, { between: [chunk("EvIL", Buffer.alloc(1))] })), /unknown critical chunk \(EvIL\)/);
  const bad = Buffer.from(good);
  bad[20]! ^= 1;
  assert.match(why(bad), /checksum of a chunk \(IHDR\)/);
});

test("invalid or excessive sizes and pixel formats are rejected before decoding", () => {
  for (const [width, height, text] of [
    [0, 4, /no pixels/],
    [4, 0, /no pixels/],
    [4097, 4096, /4097 x 4096/],
    [4_000_000_000, 4_000_000_000, /the maximum is 16777216/],
    [16_385, 1, /16385 x 1/],
  ] as const)
    assert.match(why(Buffer.concat([SIGNATURE, header(width, height), END])), text);
  for (const kind of [{ colour: 1 }, { colour: 2, depth: 4 }, { colour: 3, depth: 16 }, { depth: 3 }, { interlace: 2 }])
    assert.match(why(Buffer.concat([SIGNATURE, header(4, 4, kind), END])), /header is invalid/);
});

test("a mutated image is either rejected or still valid", () => {
  const good = png(8, 8);
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), (place, value, length) => {
      const changed = Buffer.from(good);
      changed[place] = value;
      const result = readPng(changed.subarray(0, length));
      if (typeof result === "object") assert.deepEqual(result.bytes, good);
    }),
  );
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 100 }),
      (bytes) => void readPng(Buffer.concat([SIGNATURE, Buffer.from(bytes)])),
    ),
  );
});
