import { z } from "@hono/zod-openapi";
import type { PageRequest } from "../kernel/index.ts";

/** Above this limit, `page * per_page` would exceed the safe integer range. */
const LAST_PAGE = 1_000_000_000;

/**
 * `page` and `per_page` of a list. A page size that is too large is reduced instead of rejected; `result_info` reports
 * the actual one.
 */
export const pageQuery = ({ perPage = 20, max = 1000 }: { perPage?: number; max?: number } = {}) => ({
  page: z.coerce.number().int().min(1).max(LAST_PAGE).default(1),
  per_page: z.coerce
    .number()
    .int()
    .min(1)
    .transform((size) => Math.min(size, max))
    .pipe(z.number())
    .default(perPage),
});

export const pageRequest = (query: { page: number; per_page: number }): PageRequest => ({
  page: query.page,
  perPage: query.per_page,
});
