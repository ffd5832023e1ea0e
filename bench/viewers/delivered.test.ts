import assert from "node:assert/strict";
import { test } from "node:test";
import { deliveredShare, requireDelivered } from "./delivered.ts";

test("a run fails if the viewers received less than 90 % of the published media", () => {
  const published = 50_000;
  assert.equal(deliveredShare({ octets: 20 * 51_000, viewers: 20, published }), 1.02);
  for (const delivered of [1.02, 0.9]) requireDelivered("srt", 20, delivered);
  assert.throws(
    () => requireDelivered("srt", 120, 0.71),
    /^Error: srt: 120 viewers received 71 % of the published media, less than 90 %\. Stop/,
  );
  assert.throws(() => requireDelivered("srt", 0, Number.NaN), /0 viewers received NaN %/);
});
