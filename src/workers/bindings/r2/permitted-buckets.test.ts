import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { bucketCursor, nameOfBucketCursor, type R2Bucket } from "./bucket-list.ts";
import { listPermittedBuckets } from "./permitted-buckets.ts";

const names = Array.from({ length: 5000 }, (_, index) => `bucket-${String(index).padStart(4, "0")}`);
const list = async (_: string, { cursor, limit = 20 }: { cursor?: string; limit?: number } = {}) => {
  const after = cursor === undefined ? "" : nameOfBucketCursor(cursor);
  const rest = names.filter((name) => name > after);
  const page = rest.slice(0, limit).map((name) => ({ name }) as R2Bucket);
  return { buckets: page, ...(rest.length > limit && { cursor: bucketCursor(page.at(-1)!.name) }) };
};
const pageOf = (permitted: readonly string[], options: { limit: number; cursor?: string }) =>
  listPermittedBuckets({ list }, "account", options, ({ name }) => permitted.includes(name));

test("the last page has no cursor, even if other buckets follow", async () => {
  const mine = [names[10]!, names[4000]!];
  const first = await pageOf(mine, { limit: 1 });
  assert.deepEqual([first.buckets.map(({ name }) => name), first.cursor], [[mine[0]], bucketCursor(mine[0]!)]);
  const second = await pageOf(mine, { limit: 1, cursor: first.cursor! });
  assert.deepEqual([second.buckets.map(({ name }) => name), second.cursor], [[mine[1]], undefined]);
  assert.equal((await pageOf(mine, { limit: 2 })).cursor, undefined);
});

test("other work continues between the pages of a long list", async () => {
  const listing = pageOf([], { limit: 1 });
  const over = listing.then(() => "over");
  let turnCount = 0;
  while ((await Promise.race([over, eventLoopTurn("turn")])) === "turn") turnCount++;
  assert.deepEqual((await listing).buckets, []);
  assert.ok(turnCount >= 5, String(turnCount));
});
