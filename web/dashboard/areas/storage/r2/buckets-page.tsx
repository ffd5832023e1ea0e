import { Anchor, Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../../api/account.ts";
import { isDev } from "../../../api/app-info.ts";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { ConfirmButton } from "../../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { FormModal } from "../../../shared/form-modal.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { Page } from "../../../shared/page.tsx";
import { SearchField } from "../../../shared/search-field.tsx";
import { CursorPager, useCursorPages } from "../../../shared/use-cursor-list.tsx";
import { usePageState } from "../../../shared/use-list.ts";
import { useNotify } from "../../../shared/use-notify.ts";
import { storageKeys, type Bucket } from "../queries.ts";

const hrefOf = ({ name }: Bucket) => `/storage/r2/${name}`;

const ACTIONS: Column<Bucket> = {
  id: "actions",
  label: "Actions",
  width: 48,
  align: "end",
  render: (bucket) => <DeleteBucket bucket={bucket} />,
};

export default function BucketsPage() {
  const account = useAccount();
  const [{ search }, change] = usePageState({ search: "" });
  const [isCreating, setCreating] = useState(false);
  const list = useCursorPages<Bucket>([...storageKeys.buckets(account.id), "list", search], async (request) => {
    const { items, info } = await api.list("/accounts/{account_id}/r2/buckets", {
      path: { account_id: account.id },
      query: {
        ...request,
        ...(search !== "" && { name_contains: search }),
      },
    });
    return { items: (items as unknown as { buckets: Bucket[] }).buckets, info };
  });
  const columns: readonly Column<Bucket>[] = [
    {
      id: "name",
      header: "Bucket",
      render: (bucket) => (
        <Anchor renderRoot={(props) => <Link to={hrefOf(bucket)} {...props} />} fw={500} fz="sm">
          {bucket.name}
        </Anchor>
      ),
    },
    { id: "class", header: "Storage class", width: 160, wideOnly: true, render: (bucket) => bucket.storage_class },
    {
      id: "created",
      header: "Created",
      width: 160,
      render: ({ creation_date: created }) => <RelativeTime value={created} />,
    },
    // The configuration of the project defines the buckets.
    ...(isDev() ? [] : [ACTIONS]),
  ];
  const create = isDev() ? undefined : (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setCreating(true)}>
      Create bucket
    </Button>
  );

  return (
    <Page title="R2" description="Object storage for workers and S3 clients." actions={create}>
      <div className="rp-toolbar">
        <SearchField label="Search buckets" value={search} onChange={(value) => change({ search: value })} />
      </div>
      <DataTable
        label="R2 buckets"
        columns={columns}
        list={list}
        rowKey={({ name }) => name}
        rowHref={hrefOf}
        empty={
          search === "" ? (
            <EmptyState icon="folder" title="No buckets yet" actions={create}>
              A bucket holds files of any size. Workers reach it through a binding, other programs through the S3 API.
            </EmptyState>
          ) : (
            <EmptyState icon="search" title={`No buckets match “${search}”`} />
          )
        }
      />
      <CursorPager list={list} labels={["Previous", "Next"]} />
      {isCreating && <CreateBucket onClose={() => setCreating(false)} />}
    </Page>
  );
}

function DeleteBucket({ bucket: { name } }: { bucket: Bucket }) {
  const account = useAccount();
  const notify = useNotify();
  return (
    <ConfirmButton
      icon="trash"
      action="Delete bucket"
      label={`Delete ${name}`}
      confirmText={name}
      onConfirm={async () => {
        await api.delete("/accounts/{account_id}/r2/buckets/{bucket_name}", {
          path: { account_id: account.id, bucket_name: name },
        });
        notify.success(`Bucket ${name} deleted`);
        await queryClient.invalidateQueries({ queryKey: storageKeys.buckets(account.id) });
      }}
    >
      {name} will be deleted if it is empty. Workers bound to it will no longer be able to read or write.
    </ConfirmButton>
  );
}

function CreateBucket({ onClose }: { onClose: () => void }) {
  const account = useAccount();
  const notify = useNotify();
  const form = useForm({
    initialValues: { name: "" },
    validate: { name: (name) => (name.trim() === "" ? "Enter a name" : null) },
  });
  return (
    <FormModal
      title="Create bucket"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() =>
        !form.validate().hasErrors &&
        api
          .post("/accounts/{account_id}/r2/buckets", {
            path: { account_id: account.id },
            body: { name: form.values.name.trim() },
          })
          .then(({ name }) => {
            notify.success(`Bucket ${name} created`);
            return queryClient.invalidateQueries({ queryKey: storageKeys.buckets(account.id) });
          })
      }
    >
      <TextInput
        label="Name"
        description="3 to 63 lower-case letters, digits and hyphens."
        placeholder="attachments"
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps("name")}
      />
    </FormModal>
  );
}
