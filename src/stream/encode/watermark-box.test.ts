import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { BurnedWatermark } from "../model.ts";
import { watermarkBox } from "./watermark-box.ts";

const mark: BurnedWatermark = {
  key: "k",
  width: 200,
  height: 100,
  opacity: 1,
  padding: 0.05,
  scale: 0.15,
  position: "upperRight",
};
const hd = { width: 1920, height: 1080 };

test("the watermark covers its share of the frame and keeps its aspect ratio", () => {
  assert.deepEqual(watermarkBox(mark, hd, hd), { x: 1920 - 96 - 288, y: 54, width: 288, height: 144 });
  assert.deepEqual(watermarkBox({ ...mark, position: "lowerLeft" }, { width: 640, height: 360 }, hd), {
    x: 32,
    y: 360 - 18 - 48,
    width: 96,
    height: 48,
  });
  assert.deepEqual(watermarkBox({ ...mark, position: "center" }, hd, hd), { x: 816, y: 468, width: 288, height: 144 });
});

test("without a scale, the watermark has its own size in the largest rendition, and the same proportion in the others", () => {
  assert.deepEqual(watermarkBox({ ...mark, scale: 0, position: "upperLeft" }, hd, hd), {
    x: 96,
    y: 54,
    width: 200,
    height: 100,
  });
  assert.deepEqual(watermarkBox({ ...mark, scale: 0, position: "upperLeft" }, { width: 640, height: 360 }, hd), {
    x: 32,
    y: 18,
    width: 67,
    height: 33,
  });
});

test("the watermark never exceeds the frame", () => {
  const sizes = fc.record({ width: fc.integer({ min: 2, max: 4096 }), height: fc.integer({ min: 2, max: 4096 }) });
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const positions = fc.constantFrom("upperRight", "upperLeft", "lowerLeft", "lowerRight", "center" as const);
  fc.assert(
    fc.property(sizes, sizes, sizes, share, share, positions, (own, size, source, scale, padding, position) => {
      const { x, y, width, height } = watermarkBox({ ...mark, ...own, scale, padding, position }, size, source);
      assert.ok(x >= 0 && y >= 0 && width >= 1 && height >= 1 && x + width <= size.width && y + height <= size.height);
    }),
  );
});
