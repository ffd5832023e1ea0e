import { Anchor, Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../../api/account.ts";
import { isDev } from "../../../api/app-info.ts";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { ConfirmButton } from "../../../shared/confirm-button.tsx";
import { CopyButton } from "../../../shared/copy.tsx";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { FormModal } from "../../../shared/form-modal.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { Page } from "../../../shared/page.tsx";
import { SearchField } from "../../../shared/search-field.tsx";
import { usePagedList, usePageState } from "../../../shared/use-list.ts";
import { useNotify } from "../../../shared/use-notify.ts";
import { storageKeys, type Database } from "../queries.ts";

const hrefOf = ({ uuid }: Database) => `/storage/d1/${uuid}`;

const ACTIONS: Column<Database> = {
  id: "actions",
  label: "Actions",
  width: 48,
  align: "end",
  render: (database) => <DeleteDatabase database={database} />,
};

export default function DatabasesPage() {
  const account = useAccount();
  const [{ page, search }, change] = usePageState({ page: 1, search: "" });
  const [isCreating, setCreating] = useState(false);
  const list = usePagedList<Database>([...storageKeys.databases(account.id), "list", search], page, (request) =>
    api.list("/accounts/{account_id}/d1/database", {
      path: { account_id: account.id },
      query: { ...request, ...(search !== "" && { name: search }) },
    }),
  );
  const columns: readonly Column<Database>[] = [
    {
      id: "name",
      header: "Database",
      render: (database) => (
        <Anchor renderRoot={(props) => <Link to={hrefOf(database)} {...props} />} fw={500} fz="sm">
          {database.name}
        </Anchor>
      ),
    },
    {
      id: "uuid",
      header: "ID",
      wideOnly: true,
      render: ({ uuid }) => (
        <>
          <span className="rp-mono rp-dimmed">{uuid}</span> <CopyButton value={uuid} label="Copy ID" />
        </>
      ),
    },
    { id: "created", header: "Created", width: 160, render: (row) => <RelativeTime value={row.created_at} /> },
    // The configuration of the project defines the databases.
    ...(isDev() ? [] : [ACTIONS]),
  ];
  const create = isDev() ? undefined : (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setCreating(true)}>
      Create database
    </Button>
  );

  return (
    <Page title="D1" description="SQLite databases that workers query." actions={create}>
      <div className="rp-toolbar">
        <SearchField label="Search databases" value={search} onChange={(value) => change({ search: value, page: 1 })} />
      </div>
      <DataTable
        label="D1 databases"
        columns={columns}
        list={list}
        rowKey={({ uuid }) => uuid}
        rowHref={hrefOf}
        onPage={(next) => change({ page: next })}
        empty={
          search === "" ? (
            <EmptyState icon="database" title="No databases yet" actions={create}>
              Bind a database to a worker under d1_databases in its configuration.
            </EmptyState>
          ) : (
            <EmptyState icon="search" title={`No databases match “${search}”`} />
          )
        }
      />
      {isCreating && <CreateDatabase onClose={() => setCreating(false)} />}
    </Page>
  );
}

function DeleteDatabase({ database: { uuid, name } }: { database: Database }) {
  const account = useAccount();
  const notify = useNotify();
  return (
    <ConfirmButton
      icon="trash"
      action="Delete database"
      label={`Delete ${name}`}
      confirmText={name}
      onConfirm={async () => {
        await api.delete("/accounts/{account_id}/d1/database/{database_id}", {
          path: { account_id: account.id, database_id: uuid },
        });
        notify.success(`Database ${name} deleted`);
        await queryClient.invalidateQueries({ queryKey: storageKeys.databases(account.id) });
      }}
    >
      {name} and all its tables will be deleted. Workers bound to it will no longer be able to query it.
    </ConfirmButton>
  );
}

function CreateDatabase({ onClose }: { onClose: () => void }) {
  const account = useAccount();
  const navigate = useNavigate();
  const notify = useNotify();
  const form = useForm({
    initialValues: { name: "" },
    validate: { name: (name) => (name.trim() === "" ? "Enter a name" : null) },
  });
  return (
    <FormModal
      title="Create database"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() =>
        !form.validate().hasErrors &&
        api
          .post("/accounts/{account_id}/d1/database", {
            path: { account_id: account.id },
            body: { name: form.values.name.trim() },
          })
          .then(({ name, uuid }) => {
            notify.success(`Database ${name} created`);
            void queryClient.invalidateQueries({ queryKey: storageKeys.databases(account.id) });
            void navigate({ to: `/storage/d1/${uuid}` });
          })
      }
    >
      <TextInput
        label="Name"
        placeholder="orders"
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps("name")}
      />
    </FormModal>
  );
}
