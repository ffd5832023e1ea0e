import { Anchor, Checkbox, Group, Skeleton, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatBytes, formatNumber, RelativeTime } from "../../shared/format.tsx";
import { PageButtons } from "../../shared/page-buttons.tsx";
import { countOf } from "../../shared/text.ts";
import type { PagedList } from "../../shared/use-list.ts";
import { hrefOf, nameOf, type Video } from "./queries.ts";
import { Thumbnail } from "./thumbnail.tsx";
import { VideoState } from "./video-state.tsx";

/** Videos as cards with large thumbnails. */
export function VideoGrid({
  list,
  views,
  selected,
  onSelect,
  bulkActions,
  onPage,
  empty,
}: {
  list: PagedList<Video>;
  views: ReadonlyMap<string, number>;
  selected: ReadonlySet<string>;
  onSelect: (selected: Set<string>) => void;
  bulkActions: ReactNode;
  onPage: (page: number) => void;
  empty: ReactNode;
}) {
  const { items, isLoading, error, reload, page, perPage } = list;
  if (error !== null && error !== undefined && items.length === 0) return <ErrorState error={error} onRetry={reload} />;
  if (!isLoading && items.length === 0 && page === 1) return <>{empty}</>;
  const toggle = (uid: string, on: boolean) => {
    const changed = new Set(selected);
    if (on) changed.add(uid);
    else changed.delete(uid);
    onSelect(changed);
  };
  const hasNext = items.length === perPage;

  return (
    <div>
      {selected.size > 0 && (
        <Group gap="xs" className="rp-bulk rp-stream-bulk" role="toolbar" aria-label="Actions for the selected videos">
          <Text fz="sm" fw={500}>
            {formatNumber(selected.size)} selected
          </Text>
          {bulkActions}
        </Group>
      )}
      <ul className="rp-stream-grid" aria-label="Videos" aria-busy={isLoading}>
        {isLoading
          ? Array.from({ length: 8 }, (_, index) => (
              <li key={index}>
                <Skeleton height={120} />
              </li>
            ))
          : items.map((video) => (
              <li key={video.uid} data-selected={selected.has(video.uid)}>
                <Link to={hrefOf(video)} tabIndex={-1} aria-hidden="true">
                  <Thumbnail video={video} height={270} />
                </Link>
                <div className="rp-stream-card">
                  <Group gap={8} wrap="nowrap" align="start">
                    <Checkbox
                      size="xs"
                      mt={3}
                      aria-label={`Select ${nameOf(video)}`}
                      checked={selected.has(video.uid)}
                      onChange={({ currentTarget }) => toggle(video.uid, currentTarget.checked)}
                    />
                    <Anchor
                      className="rp-truncate"
                      fw={500}
                      fz="sm"
                      renderRoot={(props) => <Link to={hrefOf(video)} {...props} />}
                    >
                      {nameOf(video)}
                    </Anchor>
                  </Group>
                  <VideoState video={video} />
                  <Text fz="xs" c="dimmed" component="div">
                    {video.size > 0 && `${formatBytes(video.size)} · `}
                    {countOf(views.get(video.uid) ?? 0, "view")} · <RelativeTime value={video.created} />
                  </Text>
                </div>
              </li>
            ))}
      </ul>
      {(page > 1 || hasNext) && (
        <Group justify="end" mt="sm">
          <PageButtons page={page} hasNext={hasNext} onPage={onPage} />
        </Group>
      )}
    </div>
  );
}
