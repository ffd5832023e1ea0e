import { Button, Group } from "@mantine/core";
import { keepPreviousData, useQuery, type QueryKey } from "@tanstack/react-query";
import { useState } from "react";
import type { ListResult } from "../api/client.ts";
import { Icon } from "./icon.tsx";
import type { PagedList } from "./use-list.ts";

interface CursorList<Item> extends PagedList<Item> {
  /** `result_info` of the page. */
  info: ListResult<Item>["info"];
  hasNext: boolean;
  next: () => void;
  previous: () => void;
}

/** Loads a list that the server paginates by cursor. A different `queryKey` returns to the first page. */
export function useCursorPages<Item>(
  queryKey: QueryKey,
  load: (request: { per_page: number; cursor?: string }) => Promise<ListResult<Item>>,
  { perPage = 50 }: { perPage?: number } = {},
): CursorList<Item> {
  const key = JSON.stringify(queryKey);
  const [visited, setVisited] = useState<{ key: string; cursors: readonly string[] }>({ key, cursors: [] });
  const cursors = visited.key === key ? visited.cursors : [];
  const cursor = cursors.at(-1);
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery({
    queryKey: [...queryKey, { cursor }],
    queryFn: () => load({ per_page: perPage, ...(cursor !== undefined && { cursor }) }),
    placeholderData: keepPreviousData,
  });
  const following = data?.info.cursor;
  return {
    items: data?.items ?? [],
    info: data?.info ?? {},
    total: undefined,
    page: cursors.length + 1,
    perPage,
    isLoading: isPending,
    isStale: isPlaceholderData,
    error,
    reload: () => void refetch(),
    hasNext: following !== undefined && following !== "",
    next: () => following !== undefined && setVisited({ key, cursors: [...cursors, following] }),
    previous: () => setVisited({ key, cursors: cursors.slice(0, -1) }),
  };
}

/** Previous and next buttons for a cursor-paginated list. */
export function CursorPager({
  list: { page, hasNext, isStale, next, previous },
  labels = ["Newer", "Older"],
}: {
  list: CursorList<unknown>;
  labels?: readonly [previous: string, next: string];
}) {
  if (page === 1 && !hasNext) return null;
  return (
    <Group gap="xs" justify="end" mt="xs">
      <Button
        variant="default"
        leftSection={<Icon name="chevron-left" size={14} />}
        disabled={page === 1}
        onClick={previous}
      >
        {labels[0]}
      </Button>
      <Button
        variant="default"
        rightSection={<Icon name="chevron-right" size={14} />}
        disabled={!hasNext || isStale}
        onClick={next}
      >
        {labels[1]}
      </Button>
    </Group>
  );
}
