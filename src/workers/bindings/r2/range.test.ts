import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseRangeHeader, resolveRange } from "./range.ts";

test("resolves ranges of an object of ten bytes", () => {
  assert.deepEqual(resolveRange(undefined, 10), { offset: 0, length: 10 });
  assert.deepEqual(resolveRange({}, 10), { offset: 0, length: 10 });
  assert.deepEqual(resolveRange({ offset: 3 }, 10), { offset: 3, length: 7 });
  assert.deepEqual(resolveRange({ length: 3 }, 10), { offset: 0, length: 3 });
  assert.deepEqual(resolveRange({ offset: 8, length: 99 }, 10), { offset: 8, length: 2 });
  assert.deepEqual(resolveRange({ suffix: 4 }, 10), { offset: 6, length: 4 });
  assert.deepEqual(resolveRange({ suffix: 99 }, 10), { offset: 0, length: 10 });
  for (const wanted of [
    { offset: 10 },
    { offset: 11, length: 1 },
    { length: 0 },
    { suffix: 0 },
    { header: "bytes=10-" },
    { header: "bytes=-0" },
  ])
    assert.throws(
      () => resolveRange(wanted, 10),
      { code: 10039, message: "The requested range is not satisfiable" },
      JSON.stringify(wanted),
    );
});

test("a header of many kilobytes is ignored without being matched", () => {
  // Matching the whole header took longer than the time limit of a test.
  const spaces = " ".repeat(20_000);
  assert.equal(parseRangeHeader(`bytes=${spaces}-${spaces}x`), undefined);
  assert.deepEqual(resolveRange({ header: `bytes=${spaces}-${spaces}x` }, 10), { offset: 0, length: 10 });
});

test("an empty object can be read as a whole, but has no ranges", () => {
  assert.deepEqual(resolveRange({ offset: 0 }, 0), { offset: 0, length: 0 });
  assert.deepEqual(resolveRange({ suffix: 5 }, 0), { offset: 0, length: 0 });
  assert.throws(() => resolveRange({ offset: 1 }, 0), { code: 10039 });
});

test("a Range header with anything but one byte range selects the whole object", () => {
  assert.deepEqual(resolveRange({ header: "bytes=3-6" }, 26), { offset: 3, length: 4 });
  assert.deepEqual(resolveRange({ header: "bytes=10-" }, 26), { offset: 10, length: 16 });
  assert.deepEqual(resolveRange({ header: "Bytes = -5" }, 26), { offset: 21, length: 5 });
  assert.deepEqual(resolveRange({ header: "bytes=20-99" }, 26), { offset: 20, length: 6 });
  for (const header of [
    "bytes=5-6,10-11",
    "bytes=6-5",
    "bytes=-",
    "bytes=",
    "items=0-1",
    "bytes=a-b",
    "",
    "bytes=0-1 x",
  ])
    assert.deepEqual(resolveRange({ header }, 26), { offset: 0, length: 26 }, header);
});

test("a resolved range is always within the object", () => {
  const number = fc.oneof(fc.nat(40), fc.maxSafeNat());
  const wanted = fc.oneof(
    fc.record({ offset: number, length: number }, { requiredKeys: [] }),
    fc.record({ suffix: number }),
    fc.record({
      header: fc.oneof(
        fc.string(),
        fc.tuple(number, number).map(([a, b]) => `bytes=${a}-${b}`),
      ),
    }),
  );
  fc.assert(
    fc.property(wanted, fc.nat(30), (range, size) => {
      try {
        const { offset, length } = resolveRange(range, size);
        assert.ok(offset >= 0 && length >= 0 && offset + length <= size);
      } catch (err) {
        assert.equal((err as { code?: unknown }).code, 10039);
      }
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => void parseRangeHeader(`bytes=${text}`)));
});
