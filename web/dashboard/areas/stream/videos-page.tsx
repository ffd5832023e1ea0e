import { Anchor, Button, FileButton, Group, SegmentedControl, Select } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { DropZone } from "../../shared/drop-zone.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { Bytes, formatNumber, RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { SearchField } from "../../shared/search-field.tsx";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { BulkActions } from "./bulk-actions.tsx";
import { hrefOf, nameOf, streamKeys, type Video } from "./queries.ts";
import { Thumbnail } from "./thumbnail.tsx";
import { CopyForm } from "./upload/copy-form.tsx";
import { UploadList } from "./upload/upload-list.tsx";
import { addUploads } from "./upload/uploads.ts";
import { useViews } from "./use-views.ts";
import { VideoGrid } from "./video-grid.tsx";
import { VIDEO_STATES, VideoState } from "./video-state.tsx";

const STATUS_OPTIONS = [
  { value: "", label: "All statuses" },
  ...Object.entries(VIDEO_STATES).map(([value, { text }]) => ({ value, label: text })),
];
const TYPE_OPTIONS = [
  { value: "", label: "All videos" },
  { value: "vod", label: "Uploads" },
  { value: "live", label: "Recordings" },
];
const FILTERS = { search: "", creator: "", status: "", type: "" };

export default function VideosPage() {
  const { id: account } = useAccount();
  const [state, change] = usePageState({ page: 1, ...FILTERS, view: "grid", direction: "desc" });
  const { page, search, creator, status, type, view, direction } = state;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isCopying, copying] = useDisclosure(false);
  useLiveEvents(["videos"], [streamKeys.videos(account)]);
  const list = usePagedList<Video>(
    [...streamKeys.videos(account), search, creator, status, type, direction],
    page,
    (request) =>
      api.list("/accounts/{account_id}/stream", {
        path: { account_id: account },
        query: {
          ...request,
          ...(search !== "" && { search }),
          ...(creator !== "" && { creator }),
          ...(status !== "" && { status }),
          ...(type !== "" && { type: type as "vod" }),
          ...(direction === "asc" && { asc: "true" as const }),
        },
      }),
    { perPage: 24 },
  );
  const views = useViews(account, list.items);
  const filter = (more: Partial<typeof state>) => {
    setSelected(new Set());
    change({ ...more, page: 1 });
  };
  const upload = (files: readonly File[]) => addUploads(account, files);
  const bulkActions = <BulkActions selected={selected} onDone={() => setSelected(new Set())} />;
  const addButtons = (
    <>
      <Button variant="default" leftSection={<Icon name="link" size={14} />} onClick={copying.open}>
        Copy from URL
      </Button>
      <FileButton multiple accept="video/*,audio/*,.mkv,.ts,.mxf" onChange={upload}>
        {(props) => (
          <Button {...props} leftSection={<Icon name="upload" size={14} />}>
            Upload videos
          </Button>
        )}
      </FileButton>
    </>
  );
  const isFiltered = [search, creator, status, type].some((value) => value !== "");
  const empty = isFiltered ? (
    <EmptyState
      icon="search"
      title="No videos match"
      actions={
        <Button variant="default" onClick={() => filter(FILTERS)}>
          Clear filters
        </Button>
      }
    />
  ) : (
    <EmptyState icon="video" title="No videos yet" actions={addButtons}>
      Drop files here. The server encodes them for playback in every browser.
    </EmptyState>
  );

  return (
    <Page title="Videos" actions={addButtons}>
      <div className="rp-toolbar">
        <SearchField label="Search videos" value={search} onChange={(value) => filter({ search: value })} />
        <SearchField label="Creator" width={150} value={creator} onChange={(value) => filter({ creator: value })} />
        <Select
          aria-label="Status"
          size="xs"
          w={160}
          data={STATUS_OPTIONS}
          value={status}
          onChange={(value) => filter({ status: value ?? "" })}
        />
        <Select
          aria-label="Kind"
          size="xs"
          w={130}
          data={TYPE_OPTIONS}
          value={type}
          onChange={(value) => filter({ type: value ?? "" })}
        />
        <Select
          aria-label="Sort by"
          size="xs"
          w={130}
          data={[
            { value: "desc", label: "Newest first" },
            { value: "asc", label: "Oldest first" },
          ]}
          value={direction}
          onChange={(value) => filter({ direction: value ?? "desc" })}
        />
        <SegmentedControl
          aria-label="View"
          data={[
            { value: "grid", label: "Grid" },
            { value: "table", label: "Table" },
          ]}
          value={view}
          onChange={(value) => change({ view: value })}
        />
      </div>
      <DropZone onFiles={upload}>
        <UploadList />
        {view === "grid" ? (
          <VideoGrid
            list={list}
            views={views}
            selected={selected}
            onSelect={setSelected}
            bulkActions={bulkActions}
            onPage={(next) => change({ page: next })}
            empty={empty}
          />
        ) : (
          <DataTable
            label="Videos"
            columns={columnsOf(views)}
            list={list}
            rowKey={({ uid }) => uid}
            rowHref={hrefOf}
            rowName={nameOf}
            onPage={(next) => change({ page: next })}
            selected={selected}
            onSelect={setSelected}
            bulkActions={bulkActions}
            empty={empty}
          />
        )}
      </DropZone>
      <CopyForm opened={isCopying} onClose={copying.close} />
    </Page>
  );
}

const columnsOf = (views: ReadonlyMap<string, number>): readonly Column<Video>[] => [
  {
    id: "name",
    header: "Video",
    render: (video) => (
      <Group gap="sm" wrap="nowrap">
        <div className="rp-stream-small">
          <Thumbnail video={video} height={90} />
        </div>
        <Anchor renderRoot={(props) => <Link to={hrefOf(video)} {...props} />} fw={500} fz="sm">
          {nameOf(video)}
        </Anchor>
      </Group>
    ),
  },
  { id: "state", header: "Status", width: 180, render: (video) => <VideoState video={video} /> },
  { id: "size", header: "Size", width: 90, align: "end", render: ({ size }) => <Bytes value={size || undefined} /> },
  {
    id: "views",
    header: "Views",
    width: 80,
    align: "end",
    wideOnly: true,
    render: ({ uid }) => formatNumber(views.get(uid) ?? 0),
  },
  {
    id: "access",
    header: "Access",
    width: 110,
    wideOnly: true,
    render: ({ requireSignedURLs }) => (requireSignedURLs ? "Signed URLs" : "Public"),
  },
  { id: "created", header: "Created", width: 130, render: ({ created }) => <RelativeTime value={created} /> },
];
