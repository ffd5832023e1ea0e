import { r2Errors } from "./errors.ts";
import { checkObjectName, type R2Limits } from "./limits.ts";
import type { ListedObject, ListOptions, ObjectPage } from "./object.ts";
import type { KeyRange, ObjectTable, PageRow } from "./r2-table.ts";
import { listedObject } from "./rows.ts";

/** Minimum number of rows per query; the actual number adapts to how many rows became entries. */
const MIN_ROWS_PER_READ = 16;

export async function listBucketObjects(
  table: ObjectTable,
  limits: R2Limits,
  bucket: string,
  options: ListOptions,
): Promise<ObjectPage> {
  const { prefix = "", delimiter = "", limit = limits.listKeys, include = [] } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > limits.listKeys) throw r2Errors.invalidMaxKeys();
  const columns = { http: include.includes("httpMetadata"), custom: include.includes("customMetadata") };

  const entries: Entry[] = [];
  let bytes = 0;
  let position: KeyRange | undefined = begin(prefix, options, limits);
  let rowsAtOnce = delimiter === "" ? limit + 1 : Math.min(limit + 1, 8 * MIN_ROWS_PER_READ);

  while (position) {
    const rows = await table.page(bucket, position, rowsAtOnce, columns);
    const before = entries.length;
    for (const row of rows) {
      const entry = entryOf(row, prefix, delimiter);
      const previous = entries.at(-1);
      if (entry.folded && previous?.folded && previous.name === entry.name) continue;
      bytes += sizeOf(entry);
      if (entries.length > 0 && (entries.length === limit || bytes > limits.pageBytes))
        return page(entries, cursorAfter(entries.at(-1)!));
      entries.push(entry);
    }
    if (rows.length < rowsAtOnce) break;
    position = rangeAfter(entries.at(-1)!, position.before);
    rowsAtOnce = Math.min(limits.listKeys + 1, Math.max(MIN_ROWS_PER_READ, 2 * (entries.length - before)));
  }
  return page(entries);
}

/** One entry of a list: an object, or all keys that share a prefix up to the delimiter. */
type Entry = { folded: false; name: string; object: ListedObject } | { folded: true; name: string };

function entryOf(row: PageRow, prefix: string, delimiter: string): Entry {
  const at = delimiter === "" ? -1 : row.key.indexOf(delimiter, prefix.length);
  if (at === -1) return { folded: false, name: row.key, object: listedObject(row) };
  return { folded: true, name: row.key.slice(0, at + delimiter.length) };
}

/**
 * Returns an upper bound on the entry's size in the page's JSON, where each custom metadata field is a separate record.
 */
const sizeOf = (entry: Entry) =>
  Buffer.byteLength(JSON.stringify(entry)) +
  64 +
  (entry.folded ? 0 : 16 * Object.keys(entry.object.customMetadata ?? {}).length);

function page(entries: Entry[], cursor?: string): ObjectPage {
  return {
    objects: entries.flatMap((entry) => (entry.folded ? [] : entry.object)),
    delimitedPrefixes: entries.flatMap((entry) => (entry.folded ? entry.name : [])),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

function begin(prefix: string, { cursor, startAfter }: ListOptions, limits: R2Limits): KeyRange | undefined {
  checkObjectName(prefix, limits);
  let position: KeyRange | undefined = { from: prefix, including: true, before: successor(prefix) };
  if (startAfter !== undefined) {
    checkObjectName(startAfter, limits);
    position = laterRange(position, { ...position, from: startAfter, including: false });
  }
  if (cursor === undefined) return position;
  const resumedRange = rangeAfter(decodeCursor(cursor, limits), position.before);
  return resumedRange && laterRange(position, resumedRange);
}

const laterRange = (one: KeyRange, other: KeyRange): KeyRange => {
  const order = Buffer.compare(Buffer.from(one.from), Buffer.from(other.from));
  if (order === 0) return one.including ? other : one;
  return order > 0 ? one : other;
};

/** Returns the range of keys after an entry; undefined if there can be none. */
function rangeAfter(entry: { folded: boolean; name: string }, before: string | undefined): KeyRange | undefined {
  if (!entry.folded) return { from: entry.name, including: false, before };
  const next = successor(entry.name);
  return next === undefined ? undefined : { from: next, including: true, before };
}

/** A cursor identifies the last entry, so that keys written between two pages appear if they sort after it. */
const cursorAfter = ({ folded, name }: Pick<Entry, "folded" | "name">) =>
  Buffer.from(`${folded ? "p" : "k"}${name}`).toString("base64url");

/** Returns the cursor of a page whose last entry is this prefix. */
export const cursorAfterPrefix = (prefix: string): string => cursorAfter({ folded: true, name: prefix });

/** Returns the last key or prefix of the page that a cursor follows. */
export const lastEntryOfCursor = (cursor: string): string => Buffer.from(cursor, "base64url").toString().slice(1);

function decodeCursor(cursor: string, limits: R2Limits) {
  const text = Buffer.from(cursor, "base64url").toString();
  const name = text.slice(1);
  if (
    !/^[kp]/.test(text) ||
    name.includes("\0") ||
    Buffer.byteLength(name) > limits.keyBytes ||
    Buffer.from(text).toString("base64url") !== cursor
  )
    throw r2Errors.invalidArgument({ problem: "The cursor is invalid." });
  return { folded: text.startsWith("p"), name };
}

/**
 * Returns the smallest text that sorts after every text with this prefix, in the byte order of UTF-8 (which is that of
 * code points); undefined if there is none.
 */
export function successor(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.length > 0) {
    const last = points.pop()!;
    if (last === 0x10ffff) continue;
    // U+D800 to U+DFFF are surrogates: no text contains them.
    return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  }
  return undefined;
}
