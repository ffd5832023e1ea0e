import { z } from "@hono/zod-openapi";
import { pageQuery } from "../../paging.ts";

/**
 * Lists of the video API are complete and have no `result_info`. A client that requests pages gets them; pages past the
 * end are empty.
 */
export const wholeListQuery = z.object(pageQuery({ perPage: 1000 }));

export const itemsOfPage = <Item>(
  items: readonly Item[],
  { page, per_page }: { page: number; per_page: number },
): Item[] => items.slice((page - 1) * per_page, page * per_page);
