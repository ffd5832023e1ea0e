import type { Api, ApiRequest } from "./client.ts";

/** A server that never ends a list must not keep us for ever. */
const MAX_PAGES = 100_000;

/** Every item of a list in numbered pages; `pick` finds it in the result where it is not the result itself. */
export async function* pagesOf<Item>(
  api: Api,
  path: string,
  {
    query = {},
    pick = (result) => result as Item[],
    perPage = 100,
  }: { query?: ApiRequest["query"]; pick?: (result: unknown) => Item[]; perPage?: number } = {},
): AsyncGenerator<Item> {
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { result, result_info: info } = await api.envelope<unknown>("GET", path, {
      query: { ...query, page, per_page: perPage },
    });
    const items = pick(result);
    yield* items;
    // A list without numbers of its own came whole.
    const total = info?.["total_count"];
    if (items.length === 0 || typeof total !== "number") return;
    const size = typeof info?.["per_page"] === "number" ? info["per_page"] : perPage;
    if (page * size >= total) return;
  }
}

/** Every item of a list whose pages are found by a cursor. */
export async function* cursorPagesOf<Item>(
  api: Api,
  path: string,
  {
    query = {},
    pick = (result) => result as Item[],
  }: { query?: ApiRequest["query"]; pick?: (result: unknown) => Item[] } = {},
): AsyncGenerator<Item> {
  let cursor: string | undefined;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { result, result_info: info } = await api.envelope<unknown>("GET", path, { query: { ...query, cursor } });
    yield* pick(result);
    const next = info?.["cursor"];
    if (typeof next !== "string" || next === "" || next === cursor) return;
    cursor = next;
  }
}

/** The whole of a list that is known to be of a size that fits. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
