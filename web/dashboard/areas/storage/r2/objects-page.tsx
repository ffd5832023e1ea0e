import { Anchor, Breadcrumbs, Button, FileButton, Group } from "@mantine/core";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../../api/account.ts";
import { isDev } from "../../../api/app-info.ts";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { ConfirmButton } from "../../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { DropZone } from "../../../shared/drop-zone.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { Bytes, RelativeTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { Page } from "../../../shared/page.tsx";
import { CursorPager, useCursorPages } from "../../../shared/use-cursor-list.tsx";
import { usePageState } from "../../../shared/use-list.ts";
import { useLiveEvents } from "../../../shared/use-live-events.ts";
import { useNotify } from "../../../shared/use-notify.ts";
import { storageKeys, type R2Object } from "../queries.ts";
import { ObjectDetails } from "./object-details.tsx";
import { UploadList, useUploads } from "./uploads.tsx";

const PARENTS = [{ label: "R2", to: "/storage/r2" }];
const OBJECTS_PER_PAGE = 100;

/** A folder (a common prefix that ends with a slash) or an object. */
type Row = { kind: "folder"; key: string } | ({ kind: "object" } & R2Object);

export default function ObjectsPage() {
  const { bucket = "" }: { bucket?: string } = useParams({ strict: false });
  const account = useAccount();
  const notify = useNotify();
  const navigate = useNavigate();
  const [{ prefix }, change] = usePageState({ prefix: "" });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [shown, setShown] = useState<R2Object>();
  const queryKey = storageKeys.objects(account.id, bucket);
  const path = { account_id: account.id, bucket_name: bucket };
  const invalidate = () => queryClient.invalidateQueries({ queryKey });
  const uploads = useUploads({ path, onUploaded: () => void invalidate() });
  // In development, data may have changed whenever a worker has run.
  useLiveEvents(isDev() ? ["workers"] : ["r2"], [queryKey]);
  const list = useCursorPages<R2Object>(
    [...queryKey, "objects", prefix],
    (request) =>
      api.list("/accounts/{account_id}/r2/buckets/{bucket_name}/objects", {
        path,
        query: { ...request, delimiter: "/", ...(prefix !== "" && { prefix }) },
      }),
    { perPage: OBJECTS_PER_PAGE },
  );
  const folders = (list.info as { delimited?: string[] }).delimited ?? [];
  const rows: Row[] = [
    ...folders.map((key) => ({ kind: "folder" as const, key })),
    ...list.items.map((object) => ({ kind: "object" as const, ...object })),
  ];
  const open = (row: Row) => (row.kind === "folder" ? change({ prefix: row.key }) : setShown(row));
  const upload = (files: readonly File[]) => uploads.add(files, prefix);

  async function remove(keys: readonly string[]) {
    for (const folder of keys.filter((key) => key.endsWith("/")))
      await api.delete("/accounts/{account_id}/r2/buckets/{bucket_name}/objects", { path, query: { prefix: folder } });
    const objects = keys.filter((key) => !key.endsWith("/"));
    if (objects.length > 0)
      await api.delete("/accounts/{account_id}/r2/buckets/{bucket_name}/objects", { path, body: objects });
    setSelected(new Set());
    notify.success(keys.length === 1 ? `${keys[0]} deleted` : `${keys.length} objects deleted`);
    await invalidate();
  }

  const columns: readonly Column<Row>[] = [
    {
      id: "key",
      header: "Name",
      render: (row) => (
        <Group gap={8} wrap="nowrap">
          <Icon name={row.kind === "folder" ? "folder" : iconOf(row)} size={15} />
          <Anchor component="button" type="button" fz="sm" onClick={() => open(row)}>
            {row.key.slice(prefix.length)}
          </Anchor>
        </Group>
      ),
    },
    {
      id: "type",
      header: "Type",
      width: 200,
      wideOnly: true,
      render: (row) =>
        row.kind === "folder" ? (
          <span className="rp-dimmed">Folder</span>
        ) : (
          (row.http_metadata["contentType"] ?? <span className="rp-dimmed">–</span>)
        ),
    },
    {
      id: "size",
      header: "Size",
      width: 110,
      align: "end",
      render: (row) => <Bytes value={row.kind === "folder" ? undefined : row.size} />,
    },
    {
      id: "modified",
      header: "Modified",
      width: 150,
      render: (row) => <RelativeTime value={row.kind === "folder" ? undefined : row.last_modified} />,
    },
  ];
  const uploadButton = (
    <FileButton multiple onChange={upload}>
      {(props) => (
        <Button {...props} leftSection={<Icon name="upload" size={14} />}>
          Upload files
        </Button>
      )}
    </FileButton>
  );

  return (
    <Page title={bucket} parents={PARENTS} actions={uploadButton}>
      <FolderPath bucket={bucket} prefix={prefix} onOpen={(folder) => change({ prefix: folder })} />
      <DropZone onFiles={upload}>
        <UploadList uploads={uploads} />
        <DataTable
          label="Objects"
          columns={columns}
          list={{ ...list, items: rows }}
          rowKey={({ key }) => key}
          onRowClick={open}
          selected={selected}
          onSelect={setSelected}
          bulkActions={
            <ConfirmButton action="Delete objects" onConfirm={() => remove([...selected])}>
              {selected.size === 1 ? "1 item" : `${selected.size} items`} will be deleted. Deleting a folder deletes
              every object in it.
            </ConfirmButton>
          }
          empty={
            prefix === "" ? (
              <EmptyState icon="folder" title="No objects yet" actions={uploadButton}>
                Drop files here, or write objects with put() in a worker or with an S3 client.
              </EmptyState>
            ) : (
              <EmptyState
                icon="folder"
                title="This folder is empty"
                actions={
                  <Button variant="default" onClick={() => void navigate({ to: `/storage/r2/${bucket}` })}>
                    Open the bucket
                  </Button>
                }
              >
                Drop files here to upload them to {prefix}
              </EmptyState>
            )
          }
        />
        <CursorPager list={list} labels={["Previous", "Next"]} />
      </DropZone>
      {shown !== undefined && (
        <ObjectDetails
          path={path}
          object={shown}
          onClose={() => setShown(undefined)}
          onDelete={() => remove([shown.key])}
        />
      )}
    </Page>
  );
}

function FolderPath({ bucket, prefix, onOpen }: { bucket: string; prefix: string; onOpen: (prefix: string) => void }) {
  const parts = prefix.split("/").filter((part) => part !== "");
  if (parts.length === 0) return null;
  return (
    <nav aria-label="Folder">
      <Breadcrumbs separator="/">
        <Anchor fz="sm" renderRoot={(props) => <Link to={`/storage/r2/${bucket}`} {...props} />}>
          {bucket}
        </Anchor>
        {parts.map((part, index) => (
          <Anchor
            key={index}
            component="button"
            type="button"
            fz="sm"
            {...(index === parts.length - 1 && { "aria-current": "page" as const })}
            onClick={() => onOpen(`${parts.slice(0, index + 1).join("/")}/`)}
          >
            {part}
          </Anchor>
        ))}
      </Breadcrumbs>
    </nav>
  );
}

function iconOf({ http_metadata: metadata }: R2Object) {
  const type = metadata["contentType"] ?? "";
  return type.startsWith("image/") ? "image" : type.startsWith("video/") ? "video" : "file";
}
