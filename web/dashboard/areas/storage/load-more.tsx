import { Button } from "@mantine/core";
import type { CursorList } from "./use-cursor-list.ts";

/** The button below a list that has more parts. */
export function LoadMore({ list }: { list: Pick<CursorList<unknown>, "loadMore" | "isLoadingMore"> }) {
  if (list.loadMore === undefined) return null;
  return (
    <Button variant="default" loading={list.isLoadingMore} onClick={list.loadMore} className="rp-storage-more">
      Load more
    </Button>
  );
}
