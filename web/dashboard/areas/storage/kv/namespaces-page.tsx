import { Anchor, Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../../api/account.ts";
import { isDev } from "../../../api/app-info.ts";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { ActionMenu, ConfirmModal } from "../../../shared/confirm-button.tsx";
import { CopyButton } from "../../../shared/copy.tsx";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { FormModal } from "../../../shared/form-modal.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { Page } from "../../../shared/page.tsx";
import { usePagedList, usePageState } from "../../../shared/use-list.ts";
import { useNotify } from "../../../shared/use-notify.ts";
import { storageKeys, type Namespace } from "../queries.ts";

const NAMESPACES = "/accounts/{account_id}/storage/kv/namespaces";
const NAMESPACE = "/accounts/{account_id}/storage/kv/namespaces/{namespace_id}";
const hrefOf = ({ id }: Namespace) => `/storage/kv/${id}`;

export default function NamespacesPage() {
  const account = useAccount();
  const notify = useNotify();
  const [state, change] = usePageState({ page: 1, order: "title", direction: "asc" });
  const { page, order, direction } = state as typeof state & { order: "title"; direction: "asc" };
  const [editing, setEditing] = useState<Namespace | "new">();
  const [deleting, setDeleting] = useState<Namespace>();
  const invalidate = () => queryClient.invalidateQueries({ queryKey: storageKeys.namespaces(account.id) });
  const list = usePagedList<Namespace>(
    [...storageKeys.namespaces(account.id), "list", order, direction],
    page,
    (request) => api.list(NAMESPACES, { path: { account_id: account.id }, query: { ...request, order, direction } }),
  );
  const actions: Column<Namespace> = {
    id: "actions",
    label: "Actions",
    width: 48,
    align: "end",
    render: (namespace) => (
      <ActionMenu
        label={`Actions for ${namespace.title}`}
        items={[
          { label: "Rename", icon: "edit", onClick: () => setEditing(namespace) },
          { label: "Delete", icon: "trash", danger: true, onClick: () => setDeleting(namespace) },
        ]}
      />
    ),
  };
  const columns: readonly Column<Namespace>[] = [
    {
      id: "title",
      header: "Namespace",
      sortable: true,
      render: (namespace) => (
        <Anchor renderRoot={(props) => <Link to={hrefOf(namespace)} {...props} />} fw={500} fz="sm">
          {namespace.title}
        </Anchor>
      ),
    },
    {
      id: "id",
      header: "ID",
      wideOnly: true,
      render: ({ id }) => (
        <>
          <span className="rp-mono rp-dimmed">{id}</span> <CopyButton value={id} label="Copy ID" />
        </>
      ),
    },
    // The configuration of the project defines the namespaces.
    ...(isDev() ? [] : [actions]),
  ];
  const create = isDev() ? undefined : (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setEditing("new")}>
      Create namespace
    </Button>
  );

  return (
    <Page title="KV" description="Key-value storage for workers." actions={create}>
      <DataTable
        label="KV namespaces"
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        rowHref={hrefOf}
        onPage={(next) => change({ page: next })}
        sort={{ order, direction }}
        onSort={(sort) => change({ ...sort, page: 1 })}
        empty={
          <EmptyState icon="key" title="No namespaces yet" actions={create}>
            Bind a namespace to a worker under kv_namespaces in its configuration.
          </EmptyState>
        }
      />
      {editing !== undefined && (
        <NamespaceForm
          {...(editing !== "new" && { namespace: editing })}
          onClose={() => setEditing(undefined)}
          onSubmit={async (title) => {
            await (editing === "new"
              ? api.post(NAMESPACES, { path: { account_id: account.id }, body: { title } })
              : api.put(NAMESPACE, { path: { account_id: account.id, namespace_id: editing.id }, body: { title } }));
            notify.success(`Namespace ${title} ${editing === "new" ? "created" : "renamed"}`);
            await invalidate();
          }}
        />
      )}
      {deleting !== undefined && (
        <ConfirmModal
          action="Delete namespace"
          confirmText={deleting.title}
          opened
          onClose={() => setDeleting(undefined)}
          onConfirm={async () => {
            await api.delete(NAMESPACE, { path: { account_id: account.id, namespace_id: deleting.id } });
            notify.success(`Namespace ${deleting.title} deleted`);
            await invalidate();
          }}
        >
          {deleting.title} and all its keys will be deleted. Workers bound to it will no longer be able to read or
          write.
        </ConfirmModal>
      )}
    </Page>
  );
}

function NamespaceForm({
  namespace,
  onClose,
  onSubmit,
}: {
  namespace?: Namespace;
  onClose: () => void;
  onSubmit: (title: string) => Promise<void>;
}) {
  const form = useForm({
    initialValues: { title: namespace?.title ?? "" },
    validate: { title: (title) => (title.trim() === "" ? "Enter a name" : null) },
  });
  return (
    <FormModal
      title={namespace === undefined ? "Create namespace" : "Rename namespace"}
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && onSubmit(form.values.title.trim())}
    >
      <TextInput label="Name" data-autofocus autoComplete="off" maxLength={512} {...form.getInputProps("title")} />
    </FormModal>
  );
}
