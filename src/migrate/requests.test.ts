import assert from "node:assert/strict";
import { test } from "node:test";
import type { V4Client, V4Request } from "./port.ts";
import { collect, readCursorPages, inParallel, keyPath, readNumberedPages } from "./requests.ts";

const clientOf = (answer: (query: NonNullable<V4Request["query"]>) => unknown): V4Client =>
  ({
    url: "",
    envelope: async (_method: string, _path: string, { query = {} }: V4Request = {}) => answer(query),
  }) as unknown as V4Client;

const ITEMS = Array.from({ length: 230 }, (_, i) => i);

test("reads complete lists: paginated with or without totals, and not paginated", async () => {
  const page = (query: NonNullable<V4Request["query"]>, largest: number) => {
    const size = Math.min(largest, Number(query["per_page"]));
    return { size, items: ITEMS.slice((Number(query["page"]) - 1) * size, Number(query["page"]) * size) };
  };
  const counted = clientOf((query) => {
    // The server uses smaller pages than requested.
    const { size, items } = page(query, 20);
    return { result: items, result_info: { page: query["page"], per_page: size, total_count: ITEMS.length } };
  });
  const uncounted = clientOf((query) => {
    const { size, items } = page(query, 100);
    return { result: items, result_info: { page: query["page"], per_page: size } };
  });
  const whole = clientOf(() => ({ result: ITEMS }));
  for (const api of [counted, uncounted, whole]) assert.deepEqual(await collect(readNumberedPages(api, "/x")), ITEMS);
});

test("follows cursors in every field that can contain one, and stops at a repeated cursor", async () => {
  for (const infoOf of [
    (cursor: string) => ({ cursor }),
    (cursor: string) => ({ next_cursor: cursor }),
    (cursor: string) => ({ cursors: { after: cursor } }),
  ]) {
    const api = clientOf(({ cursor = "0" }) => {
      const end = Number(cursor) + 90;
      return { result: ITEMS.slice(Number(cursor), end), result_info: infoOf(end < ITEMS.length ? String(end) : "") };
    });
    assert.deepEqual(await collect(readCursorPages(api, "/x")), ITEMS);
  }
  const stuck = clientOf(() => ({ result: [1], result_info: { cursor: "same" } }));
  assert.deepEqual(await collect(readCursorPages(stuck, "/x")), [1, 1]);
});

test("tasks run in parallel up to the limit, and the first error stops the rest", async () => {
  let [running, most] = [0, 0];
  const started: number[] = [];
  await inParallel(ITEMS, 3, async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => void setImmediate(resolve));
    running--;
  });
  assert.equal(most, 3);
  await assert.rejects(
    inParallel(ITEMS, 2, async (item) => {
      started.push(item);
      await new Promise((resolve) => void setImmediate(resolve));
      if (item === 1) throw new Error("refused");
    }),
    /refused/,
  );
  assert.ok(started.length < 6, String(started.length));
});

test("object keys keep their slashes unless a segment such as .. would change the path", () => {
  assert.deepEqual(["a/b c", "a/../b", "a//b", "/a"].map(keyPath), ["a/b%20c", "a%2F..%2Fb", "a%2F%2Fb", "%2Fa"]);
});
