/** A page of a list, per `page` and `per_page` of the v4 API. Pages count from 1; pages after the end are empty. */
export interface PageRequest {
  page: number;
  perPage: number;
}

export interface Page<Item> {
  items: Item[];
  /** Number of items in the whole list. */
  total: number;
}

/** One page of a complete list. */
export const pageOf = <Item>(items: readonly Item[], { page, perPage }: PageRequest): Page<Item> => ({
  items: items.slice((page - 1) * perPage, page * perPage),
  total: items.length,
});

/** A range of rows of a list; `reversed`: of the list in reverse order. */
export interface PageRange {
  offset: number;
  limit: number;
  reversed: boolean;
}

/** Reads a page from the nearer end of a list: databases read all the rows that an offset skips. */
export async function readPage<Row>(
  { page, perPage }: PageRequest,
  total: number,
  read: (range: PageRange) => Promise<Row[]>,
): Promise<Row[]> {
  const offset = (page - 1) * perPage;
  if (offset >= total) return [];
  const after = Math.max(0, total - offset - perPage);
  return after >= offset
    ? read({ offset, limit: perPage, reversed: false })
    : (await read({ offset: after, limit: Math.min(perPage, total - offset), reversed: true })).reverse();
}

export const offsetOf = ({ page, perPage }: PageRequest): number => (page - 1) * perPage;
