import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { createViewerPresence } from "./present.ts";
import { countDistinct, sketchOf, readSketch, SKETCH, writeSketch } from "./sketch.ts";
import { viewersConformance } from "./viewers.conformance.ts";

onEveryDatabase(viewersConformance);

test("counts small audiences exactly, regardless of how many processes each viewer uses", () => {
  const viewer = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  fc.assert(
    fc.property(fc.array(fc.array(viewer, { maxLength: 60 }), { maxLength: 8 }), (processes) => {
      const sketches = processes.map((one) => readSketch(writeSketch(sketchOf(one))));
      assert.equal(countDistinct(sketches), new Set(processes.flat()).size);
    }),
  );
  assert.equal(writeSketch(sketchOf(Array.from({ length: 2 * SKETCH }, (_, n) => n))).length, SKETCH * 8);
});

test("beyond the maximum, evicts only the oldest viewer of the same input", () => {
  let now = 0;
  const present = createViewerPresence({ now: () => now, most: 10 });
  for (let n = 0; n < 6; n++) present.markSeen("a", `viewer ${n}`);
  for (let n = 0; n < 50; n++) present.markSeen("b", `viewer ${n}`);
  assert.deepEqual([present.count("a"), present.count("b")], [6, 4]);
  now = 5;
  present.markSeen("a", "viewer 0");
  present.forget(5);
  assert.deepEqual([present.count("a"), present.count("b"), present.inputs()], [1, 0, ["a"]]);
});
