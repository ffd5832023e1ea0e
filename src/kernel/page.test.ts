import assert from "node:assert/strict";
import { test } from "node:test";
import { readPage, type PageRange } from "./page.ts";

test("every page contains the same rows as if it were read from the beginning", async () => {
  for (let total = 0; total < 12; total++) {
    const all = Array.from({ length: total }, (_, index) => index);
    for (let perPage = 1; perPage < 14; perPage++)
      for (let page = 1; page < 15; page++) {
        const read = async ({ offset, limit, reversed }: PageRange) =>
          (reversed ? all.toReversed() : all).slice(offset, offset + limit);
        assert.deepEqual(
          await readPage({ page, perPage }, total, read),
          all.slice((page - 1) * perPage, page * perPage),
          `page ${page} of ${perPage} of ${total}`,
        );
      }
  }
});

test("a page in the second half is read from the end", async () => {
  const ranges: PageRange[] = [];
  for (const page of [1, 4, 6, 10, 11])
    await readPage({ page, perPage: 10 }, 95, async (range) => {
      ranges.push(range);
      return [];
    });
  assert.deepEqual(ranges, [
    { offset: 0, limit: 10, reversed: false },
    { offset: 30, limit: 10, reversed: false },
    { offset: 35, limit: 10, reversed: true },
    { offset: 0, limit: 5, reversed: true },
  ]);
});
