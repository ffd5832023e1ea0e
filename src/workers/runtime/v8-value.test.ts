import assert from "node:assert/strict";
import { test } from "node:test";
import { Serializer } from "node:v8";
import { anything, assert as check, property, uint8Array } from "fast-check";
import { readV8Value } from "./inside/v8-value.ts";

function written(value: unknown): Uint8Array {
  const serializer = new Serializer() as Serializer & { _setTreatArrayBufferViewsAsHostObjects(on: boolean): void };
  serializer._setTreatArrayBufferViewsAsHostObjects(false);
  serializer.writeHeader();
  serializer.writeValue(value);
  return serializer.releaseBuffer();
}
const copy = (value: unknown) => readV8Value(written(value));

test("reads any nested value that V8 writes", () => {
  const values = anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withBoxedValues: true,
    withUnicodeString: true,
  });
  check(
    property(values, (value) => {
      assert.deepEqual(copy(value), structuredClone(value));
    }),
    { numRuns: 500 },
  );
});

test("keeps regular expressions, errors, lone surrogates, property names and shared and circular references", () => {
  for (const expression of [/a/, /a\/b/dgimsuy, /[a&&b]/v]) assert.deepEqual(copy(expression), expression);
  const error = new TypeError("wrong", { cause: [1] });
  const read = copy(error) as Error;
  assert.deepEqual([read.constructor, read.message, read.stack, read.cause], [TypeError, "wrong", error.stack, [1]]);
  assert.equal(copy("\ud800x\ufffd"), "\ud800x\ufffd");
  assert.equal(copy("é€😀".repeat(10_000)), "é€😀".repeat(10_000));
  const named = copy(JSON.parse('{"__proto__":{"a":1},"1":2}')) as object;
  assert.deepEqual(Object.keys(named), ["1", "__proto__"]);
  const shared = { n: 1 };
  const circle: unknown[] = [shared, new Uint16Array([1, 2]), shared];
  circle.push(circle);
  const again = copy(circle) as unknown[];
  assert.equal(again[0], again[2]);
  assert.equal(again[3], again);
  assert.deepEqual(again[1], new Uint16Array([1, 2]));
});

test("rejects other formats, truncated data, and host objects", () => {
  const bytes = written({ a: [1, "two", new Map([[3, 4]])] });
  for (let length = 0; length < bytes.length - 1; length++)
    assert.throws(() => readV8Value(bytes.subarray(0, length)), /cannot be deserialized/);
  assert.throws(() => readV8Value(Buffer.from("hello")), /unknown version/);
  assert.throws(() => readV8Value(Buffer.from([0xff, 15, 0x5c, 1])), /host object/);
  check(
    property(uint8Array({ maxLength: 100 }), (noise) => {
      try {
        readV8Value(Buffer.from([0xff, 15, ...noise]));
      } catch (err) {
        assert.ok(err instanceof Error);
      }
    }),
  );
});
