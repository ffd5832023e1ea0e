/** One numbered page of a list, as `page` and `per_page` of the v4 API ask for it. Pages count from 1; past the end a page is empty. */
export interface PageRequest {
  page: number;
  perPage: number;
}

export interface Page<Item> {
  items: Item[];
  /** Of the whole list. */
  total: number;
}

export const offsetOf = ({ page, perPage }: PageRequest): number => (page - 1) * perPage;
