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

export const offsetOf = ({ page, perPage }: PageRequest): number => (page - 1) * perPage;
