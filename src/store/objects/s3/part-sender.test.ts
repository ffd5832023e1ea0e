import assert from "node:assert/strict";
import { test } from "node:test";
import { createPartSender } from "./part-sender.ts";

test("returns the memory of a part to the pool after sending it, but not after an error", async () => {
  const parts = createPartSender(1);
  const recycled: Buffer[] = [];
  const sourceOf = (bytes: Buffer) => ({
    take: () => Promise.resolve(bytes),
    recycle: (given: Buffer) => void recycled.push(given),
  });
  const [first, second, third] = [Buffer.from("1"), Buffer.from("2"), Buffer.from("3")];
  const sent = await parts.start(sourceOf(first), () => Promise.resolve("etag"));
  assert.equal(await sent.sent, "etag");
  const failed = await parts.start(sourceOf(second), () => Promise.reject(new Error("no response")));
  await assert.rejects(failed.sent, /no response/);
  // The limit of one part in memory applies to failed parts, too.
  await (
    await parts.start(sourceOf(third), () => Promise.resolve("etag"))
  ).sent;
  assert.deepEqual(recycled, [first, third]);
});
