import { keepPreviousData, useQuery, type QueryKey } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { ListResult } from "../api/client.ts";

/**
 * State of a page in its URL, so that links, reload and the back button keep it. Values equal to the default are left
 * out.
 */
export function usePageState<State extends Record<string, string | number | boolean>>(
  defaults: State,
): [state: State, change: (more: Partial<State>) => void] {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const state = Object.fromEntries(
    Object.entries(defaults).map(([name, preset]) => {
      const value = search[name];
      if (value === undefined) return [name, preset];
      if (typeof preset === "number") return [name, Number(value)];
      return [name, typeof preset === "boolean" ? value === true : String(value)];
    }),
  ) as State;
  const change = useCallback(
    (more: Partial<State>) => {
      const merged: Record<string, unknown> = { ...search, ...more };
      for (const [name, preset] of Object.entries(defaults)) if (merged[name] === preset) delete merged[name];
      void navigate({ to: ".", search: merged, replace: true });
    },
    // The defaults of a page are constants.
    [navigate, JSON.stringify(search)],
  );
  return [state, change];
}

export interface PagedList<Item> {
  items: Item[];
  /** Number of items on all pages, if the API counts them. */
  total: number | undefined;
  page: number;
  perPage: number;
  isLoading: boolean;
  /** True while another page loads and the previous one is shown. */
  isStale: boolean;
  error: unknown;
  reload: () => void;
}

/**
 * One page of a list that the server paginates: `usePagedList(["dns", zone, filters], page, (page, perPage) =>
 * api.list(…))`. Keep `page` in usePageState.
 */
export function usePagedList<Item>(
  queryKey: QueryKey,
  page: number,
  load: (request: { page: number; per_page: number }, signal: AbortSignal) => Promise<ListResult<Item>>,
  { perPage = 50 }: { perPage?: number } = {},
): PagedList<Item> {
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery({
    queryKey: [...queryKey, { page, perPage }],
    queryFn: ({ signal }) => load({ page, per_page: perPage }, signal),
    placeholderData: keepPreviousData,
  });
  return {
    items: data?.items ?? [],
    total: data?.info.total_count,
    page,
    perPage,
    isLoading: isPending,
    isStale: isPlaceholderData,
    error,
    reload: () => void refetch(),
  };
}
