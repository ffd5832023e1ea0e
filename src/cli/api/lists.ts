import type { ApiClient, ApiRequestOptions } from "./client.ts";

/** Stops reading if a server returns endless pages. */
const MAX_PAGES = 100_000;

/** Yields every item of a list with numbered pages; `pick` finds the list in a result that is not itself the list. */
export async function* pagesOf<Item>(
  api: ApiClient,
  path: string,
  {
    query = {},
    pick = (result) => result as Item[],
    perPage = 100,
  }: { query?: ApiRequestOptions["query"]; pick?: (result: unknown) => Item[]; perPage?: number } = {},
): AsyncGenerator<Item> {
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { result, result_info: info } = await api.envelope<unknown>("GET", path, {
      query: { ...query, page, per_page: perPage },
    });
    const items = pick(result);
    yield* items;
    // A list without page numbers is complete.
    const total = info?.["total_count"];
    if (items.length === 0 || typeof total !== "number") return;
    const size = typeof info?.["per_page"] === "number" ? info["per_page"] : perPage;
    if (page * size >= total) return;
  }
}

/** Yields every item of a cursor-paginated list. */
export async function* cursorPagesOf<Item>(
  api: ApiClient,
  path: string,
  {
    query = {},
    pick = (result) => result as Item[],
  }: { query?: ApiRequestOptions["query"]; pick?: (result: unknown) => Item[] } = {},
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

/** Collects a complete list; only for lists of limited size. */
export async function collectItems<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const allItems: Item[] = [];
  for await (const item of items) allItems.push(item);
  return allItems;
}
