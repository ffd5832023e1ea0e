import { UserError } from "../kernel/index.ts";
import type { V4Client, V4Request } from "./port.ts";

/** Returns a path with its parameters encoded as segments: at`/accounts/${id}/x`. */
export const apiPath = (parts: TemplateStringsArray, ...segments: string[]): string =>
  parts.map((part, i) => (i < segments.length ? part + encodeURIComponent(segments[i]!) : part)).join("");

/** Returns an object key as a path; slashes are kept unless a part would become a dot segment (WHATWG URL 4.1). */
export const keyPath = (key: string): string =>
  key.split("/").some((part) => part === "." || part === ".." || part === "")
    ? encodeURIComponent(key)
    : key.split("/").map(encodeURIComponent).join("/");

/** Limits the number of pages, in case a server never returns a last page. */
const MAX_PAGES = 1_000_000;

interface ListOptions<Item> {
  query?: V4Request["query"];
  /** Extracts the list from a result that is not itself the list. */
  pick?: (result: unknown) => Item[];
  perPage?: number;
}

/** Yields every item of a list with numbered pages. A list without `total_count` is read until a page is not full. */
export async function* readNumberedPages<Item>(
  api: V4Client,
  path: string,
  { query = {}, pick = (result) => result as Item[], perPage = 50 }: ListOptions<Item> = {},
): AsyncGenerator<Item> {
  let seen = 0;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { result, result_info: info } = await api.envelope<unknown>("GET", path, {
      query: { ...query, page, per_page: perPage },
    });
    const items = pick(result) ?? [];
    yield* items;
    seen += items.length;
    const total = info?.["total_count"];
    const size = typeof info?.["per_page"] === "number" ? info["per_page"] : perPage;
    if (items.length === 0 || (typeof total === "number" ? seen >= total : info == null || items.length < size)) return;
  }
}

/** Yields every item of a cursor-paginated list. */
export async function* readCursorPages<Item>(
  api: V4Client,
  path: string,
  { query = {}, pick = (result) => result as Item[] }: ListOptions<Item> = {},
): AsyncGenerator<Item> {
  let cursor: string | undefined;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { result, result_info: info } = await api.envelope<unknown>("GET", path, { query: { ...query, cursor } });
    yield* pick(result) ?? [];
    const next = info?.["cursor"] ?? info?.["next_cursor"] ?? (info?.["cursors"] as { after?: unknown })?.after;
    if (typeof next !== "string" || next === "" || next === cursor) return;
    cursor = next;
  }
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** True if the error is a response of the server with one of these statuses. */
export const hasErrorStatus = (thrown: unknown, ...statuses: number[]): thrown is UserError =>
  thrown instanceof UserError && thrown.domain === "server" && statuses.includes(thrown.entry.http);

/** Returns the result, or undefined for 404. */
export const resultIfFound = <Result>(api: V4Client, path: string, request?: V4Request): Promise<Result | undefined> =>
  api.result<Result>("GET", path, request).catch((thrown: unknown) => {
    if (hasErrorStatus(thrown, 404)) return undefined;
    throw thrown;
  });

/** Runs at most `limit` tasks at a time, in order. Rejects with the first error, after the running tasks have ended. */
export async function inParallel<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  limit: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator =
    Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : (items as Iterable<Item>)[Symbol.iterator]();
  const failures: unknown[] = [];
  // An async generator queues concurrent calls to next().
  async function lane(): Promise<void> {
    while (failures.length === 0) {
      const next = await iterator.next();
      if (next.done === true) return;
      await task(next.value);
    }
  }
  await Promise.all(
    Array.from({ length: limit }, () =>
      lane().catch((thrown: unknown) => {
        failures.push(thrown);
      }),
    ),
  );
  if (failures.length > 0) throw failures[0];
}

export function* chunksOf<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
