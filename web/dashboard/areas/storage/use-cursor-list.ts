import { useInfiniteQuery, type QueryKey } from "@tanstack/react-query";
import type { ListResult } from "../../api/client.ts";

export interface CursorList<Item, More = unknown> {
  items: Item[];
  /** The answers as the API sent them, for fields next to the items. */
  answers: (ListResult<Item> & { info: More })[];
  isLoading: boolean;
  error: unknown;
  reload: () => void;
  /** Loads the next part; undefined at the end of the list. */
  loadMore: (() => void) | undefined;
  isLoadingMore: boolean;
}

/** A list that the API continues by cursor: the parts loaded so far. */
export function useCursorList<Item>(
  queryKey: QueryKey,
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<ListResult<Item>>,
): CursorList<Item> {
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ info: { cursor } }) => (cursor === undefined || cursor === "" ? undefined : cursor),
  });
  return {
    items: data?.pages.flatMap(({ items }) => items) ?? [],
    answers: data?.pages ?? [],
    isLoading: isPending,
    error,
    reload: () => void refetch(),
    loadMore: hasNextPage ? () => void fetchNextPage() : undefined,
    isLoadingMore: isFetchingNextPage,
  };
}
