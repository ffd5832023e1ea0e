import type { SourceContext } from "../context.ts";
import type { Area, PlannedItem, V4Request } from "../port.ts";
import { collect, readCursorPages, hasErrorStatus, readNumberedPages } from "../requests.ts";
import type { Files } from "./files.ts";
import { apiFile } from "./layout.ts";

/** Dependencies of the exporters of all kinds. */
export interface ExportContext extends SourceContext {
  areas: ReadonlySet<Area>;
  files: Files;
  concurrency: number;
  /** API paths to which access was refused, with the reasons. */
  refused: Record<string, string>;
  /** Adds `number` to the count of exported items of this kind. */
  count(kind: string, number: number): void;
}

/** Prefix of the keys of items that export a list, not a resource. */
export const LIST_KEY = "list ";

export const listItem = (kind: string, name = "list"): Pick<PlannedItem, "kind" | "key" | "name" | "action"> => ({
  kind,
  key: LIST_KEY + kind,
  name,
  action: "new",
});

/** Codes of the hosted API for a path that does not exist, which it sends with status 400 or 404. */
const UNKNOWN_ROUTE = new Set<number | string>([7000, 7003]);

/** Undefined if the resource does not exist, or if access to it was refused, which the manifest then lists. */
export async function unlessUnavailable<Result>(
  { refused }: Pick<ExportContext, "refused">,
  path: string,
  work: Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work;
  } catch (thrown) {
    if (hasErrorStatus(thrown, 404, 405) || (hasErrorStatus(thrown, 400) && UNKNOWN_ROUTE.has(thrown.code)))
      return undefined;
    if (!hasErrorStatus(thrown, 401, 403)) throw thrown;
    refused[path] = thrown.message;
    return undefined;
  }
}

interface SaveOptions {
  /** Numbered pages, pages by cursor, or a single response. */
  pages?: "numbered" | "cursor";
  query?: V4Request["query"];
  /** Name of the field that contains the list. */
  field?: string;
  perPage?: number;
  /** Changes the result before it is saved. */
  edit?: (result: unknown) => unknown;
}

/** Saves the result of a GET request, with all pages in one list. Resolves with the result. */
export async function saveResult<Result>(
  context: ExportContext,
  path: string,
  { pages, query, field, perPage, edit = (result) => result }: SaveOptions = {},
): Promise<Result | undefined> {
  const { api } = context.source;
  async function read(): Promise<unknown> {
    if (pages === undefined) return api.result<unknown>("GET", path, query && { query });
    const items = (pages === "numbered" ? readNumberedPages : readCursorPages)<unknown>(api, path, {
      ...(query !== undefined && { query }),
      ...(perPage !== undefined && { perPage }),
      ...(field !== undefined && { pick: (result) => (result as Record<string, unknown[]>)[field] ?? [] }),
    });
    const list = await collect(items);
    return field === undefined ? list : { [field]: list };
  }
  const found = await unlessUnavailable(context, path, read());
  if (found === undefined) return undefined;
  const result = edit(found);
  await context.files.writeJson(apiFile(path), result);
  return result as Result;
}
