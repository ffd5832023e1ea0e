import { Anchor, Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../../api/account.ts";
import { isDev } from "../../../api/app-info.ts";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { ConfirmButton } from "../../../shared/confirm-button.tsx";
import { CopyField } from "../../../shared/copy.tsx";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { Page } from "../../../shared/page.tsx";
import { SearchField } from "../../../shared/search-field.tsx";
import { CursorPager, useCursorPages } from "../../../shared/use-cursor-list.tsx";
import { usePageState } from "../../../shared/use-list.ts";
import { useLiveEvents } from "../../../shared/use-live-events.ts";
import { useNotify } from "../../../shared/use-notify.ts";
import { namespaceQuery, storageKeys, type KvKey } from "../queries.ts";
import { ValueForm } from "./value-form.tsx";

const KEYS_PER_PAGE = 100;
const PARENTS = [{ label: "KV", to: "/storage/kv" }];

export default function KeysPage() {
  const { namespaceId = "" }: { namespaceId?: string } = useParams({ strict: false });
  const account = useAccount();
  const notify = useNotify();
  const [{ prefix }, change] = usePageState({ prefix: "" });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [editing, setEditing] = useState<KvKey | "new">();
  const { data: namespace } = useQuery(namespaceQuery(account.id, namespaceId));
  const path = { account_id: account.id, namespace_id: namespaceId };
  const queryKey = storageKeys.keys(account.id, namespaceId);
  const list = useCursorPages<KvKey>(
    [...queryKey, prefix],
    ({ per_page: limit, ...request }) =>
      api.list("/accounts/{account_id}/storage/kv/namespaces/{namespace_id}/keys", {
        path,
        query: { limit, ...request, ...(prefix !== "" && { prefix }) },
      }),
    { perPage: KEYS_PER_PAGE },
  );
  // In development, data may have changed whenever a worker has run.
  useLiveEvents(isDev() ? ["workers"] : ["kv"], [queryKey]);
  const invalidate = () => queryClient.invalidateQueries({ queryKey });

  async function remove(names: readonly string[]) {
    await api.post("/accounts/{account_id}/storage/kv/namespaces/{namespace_id}/bulk/delete", {
      path,
      body: [...names],
    });
    setSelected(new Set());
    notify.success(names.length === 1 ? `Key ${names[0]} deleted` : `${names.length} keys deleted`);
    await invalidate();
  }

  const columns: readonly Column<KvKey>[] = [
    {
      id: "name",
      header: "Key",
      render: (key) => (
        <Anchor component="button" type="button" className="rp-mono" fz="sm" onClick={() => setEditing(key)}>
          {key.name}
        </Anchor>
      ),
    },
    {
      id: "metadata",
      header: "Metadata",
      wideOnly: true,
      render: ({ metadata }) =>
        metadata === undefined || metadata === null ? (
          <span className="rp-dimmed">–</span>
        ) : (
          <span className="rp-mono">{JSON.stringify(metadata)}</span>
        ),
    },
    {
      id: "expiration",
      header: "Expires",
      width: 140,
      render: ({ expiration }) => <RelativeTime value={expiration === undefined ? undefined : expiration * 1000} />,
    },
  ];
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setEditing("new")}>
      Create key
    </Button>
  );

  return (
    <Page title={namespace?.title ?? "Namespace"} parents={PARENTS} actions={create}>
      <CopyField label="Namespace ID" value={namespaceId} />
      <div className="rp-toolbar">
        <SearchField label="Filter by prefix" value={prefix} onChange={(value) => change({ prefix: value })} />
      </div>
      <DataTable
        label="Keys"
        columns={columns}
        list={list}
        rowKey={({ name }) => name}
        onRowClick={setEditing}
        selected={selected}
        onSelect={setSelected}
        bulkActions={
          <ConfirmButton action="Delete keys" onConfirm={() => remove([...selected])}>
            {selected.size === 1 ? "1 key and its value" : `${selected.size} keys and their values`} will be deleted.
          </ConfirmButton>
        }
        empty={
          prefix === "" ? (
            <EmptyState icon="key" title="No keys yet" actions={create}>
              Workers write keys with put(); you can also create one here.
            </EmptyState>
          ) : (
            <EmptyState
              icon="search"
              title={`No keys start with “${prefix}”`}
              actions={
                <Button variant="default" onClick={() => change({ prefix: "" })}>
                  Show all keys
                </Button>
              }
            />
          )
        }
      />
      <CursorPager list={list} labels={["Previous", "Next"]} />
      {editing !== undefined && (
        <ValueForm
          path={path}
          {...(editing !== "new" && { entry: editing })}
          onClose={() => setEditing(undefined)}
          onSaved={(name) => {
            notify.success(`Key ${name} saved`);
            void invalidate();
          }}
        />
      )}
    </Page>
  );
}
