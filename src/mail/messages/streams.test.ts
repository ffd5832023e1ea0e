import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import * as fc from "fast-check";
import { prependedStream } from "./streams.ts";

const chunksOf = (...chunks: string[]) =>
  Readable.from(
    chunks.map((chunk) => Buffer.from(chunk)),
    { objectMode: false },
  );

test("reads the head, then the rest, for any chunk sizes", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ maxLength: 20 }),
      fc.array(fc.string({ minLength: 1, maxLength: 20 }), { maxLength: 5 }),
      async (head, rest) => {
        assert.equal(
          (await buffer(prependedStream(Buffer.from(head), chunksOf(...rest)))).toString(),
          head + rest.join(""),
        );
      },
    ),
    { numRuns: 50 },
  );
});

for (const reads of [0, 1, 2]) {
  test(`destroys the rest when it is destroyed after ${reads} reads`, async () => {
    const rest = chunksOf("one", "two", "three");
    const stream = prependedStream(Buffer.from("head"), rest);
    const iterator = stream.iterator({ destroyOnReturn: false });
    for (let n = 0; n < reads; n++) await iterator.next();
    const closed = once(rest, "close");
    stream.destroy();
    await closed;
    assert.ok(rest.destroyed);
  });
}

test("reports an error of the rest only to a reader", async () => {
  const rest = chunksOf("one");
  const stream = prependedStream(Buffer.from("head"), rest);
  const closed = new Promise<void>((resolve) => void rest.once("close", resolve));
  rest.destroy(new Error("disk failure"));
  await closed;
  await assert.rejects(buffer(stream), /disk failure/);
});
