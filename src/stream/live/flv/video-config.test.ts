import assert from "node:assert/strict";
import { test } from "node:test";
import { readVideoConfig } from "./video-config.ts";

test("of an hvcC that is cut off nothing is made", () => {
  const head = Buffer.alloc(23);
  // Lengths of two octets, and one array.
  head.set([0xfd, 1], 21);
  const whole = Buffer.concat([head, Buffer.from([0xa1, 0, 2, 0, 3, 1, 2, 3, 0, 1, 4])]);
  assert.deepEqual([readVideoConfig("hevc", whole)?.lengthSize, readVideoConfig("hevc", whole)?.config[21]], [2, 0xff]);
  for (let size = 0; size < whole.length; size++) assert.equal(readVideoConfig("hevc", whole.subarray(0, size)), undefined, `${size} octets`);
});
