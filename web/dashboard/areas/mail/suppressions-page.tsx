import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { SearchField } from "../../shared/search-field.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { mailKeys, type Suppression } from "./queries.ts";
import { CursorPager, useCursorPages } from "../../shared/use-cursor-list.tsx";

const REASONS: Record<Suppression["reason"], string> = {
  manual: "Manual",
  complaint: "Complaint",
  hard_bounce: "Hard bounce",
  soft_bounce: "Soft bounce",
  policy: "Policy",
};

const COLUMNS: readonly Column<Suppression>[] = [
  { id: "email", header: "Address", render: ({ email }) => <b>{email}</b> },
  { id: "reason", header: "Reason", width: 120, render: ({ reason }) => <StatusBadge>{REASONS[reason]}</StatusBadge> },
  {
    id: "scope",
    header: "Applies to",
    render: ({ scope }) => (scope.type === "account" ? "All sending domains" : scope.value),
  },
  { id: "note", header: "Note", wideOnly: true, render: ({ note }) => note },
  { id: "created", header: "Created", width: 130, render: ({ created_at: at }) => <RelativeTime value={at} /> },
  {
    id: "expires",
    header: "Expires",
    width: 130,
    render: ({ expires_at: at }) => (at === null ? "Never" : <RelativeTime value={at} />),
  },
  { id: "actions", label: "Actions", width: 48, render: (suppression) => <Remove suppression={suppression} /> },
];

export default function SuppressionsPage() {
  const account = useAccount();
  const [{ search }, change] = usePageState({ search: "" });
  const [isCreating, creation] = useDisclosure(false);
  const list = useCursorPages<Suppression>([...mailKeys.suppressions, account.id, search], (request) =>
    api.list("/accounts/{account_id}/email/sending/suppressions", {
      path: { account_id: account.id },
      query: { ...request, ...(search !== "" && { search }) },
    }),
  );
  useLiveEvents(["sending"], [mailKeys.suppressions]);
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Suppress address
    </Button>
  );
  return (
    <Page
      title="Suppressions"
      description="Addresses that receive no mail from this account, for example after a hard bounce or a complaint."
      actions={create}
    >
      <div className="rp-toolbar">
        <SearchField label="Search suppressions" value={search} onChange={(value) => change({ search: value })} />
      </div>
      <div>
        <DataTable
          label="Suppressions"
          columns={COLUMNS}
          list={list}
          rowKey={({ id }) => id}
          empty={
            search === "" ? (
              <EmptyState icon="shield" title="No suppressed addresses" actions={create} />
            ) : (
              <EmptyState icon="search" title="No addresses match" />
            )
          }
        />
        <CursorPager list={list} labels={["Previous", "Next"]} />
      </div>
      <SuppressAddress opened={isCreating} onClose={creation.close} />
    </Page>
  );
}

function Remove({ suppression: { id, email, read_only: isReadOnly } }: { suppression: Suppression }) {
  const account = useAccount();
  return (
    <ConfirmButton
      icon="trash"
      action="Remove suppression"
      label={`Remove ${email}`}
      disabled={isReadOnly}
      onConfirm={async () => {
        await api.delete("/accounts/{account_id}/email/sending/suppressions/{suppression_id}", {
          path: { account_id: account.id, suppression_id: id },
        });
        await queryClient.invalidateQueries({ queryKey: mailKeys.suppressions });
      }}
    >
      {email} will be able to receive mail again.
    </ConfirmButton>
  );
}

function SuppressAddress({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const account = useAccount();
  const notify = useNotify();
  const form = useForm({
    initialValues: { email: "", note: "" },
    validate: {
      email: (text) => (/^\S+@\S+$/.test(text.trim()) ? null : "Enter an address, for example me@example.com"),
    },
  });

  async function save() {
    const email = form.values.email.trim();
    await api.post("/accounts/{account_id}/email/sending/suppressions", {
      path: { account_id: account.id },
      body: { email, ...(form.values.note !== "" && { note: form.values.note }) },
    });
    notify.success(`${email} suppressed`);
    form.reset();
    await queryClient.invalidateQueries({ queryKey: mailKeys.suppressions });
  }

  return (
    <FormModal
      title="Suppress address"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && save()}
    >
      <TextInput label="Address" type="email" autoComplete="off" data-autofocus {...form.getInputProps("email")} />
      <TextInput label="Note" description="Optional." {...form.getInputProps("note")} />
    </FormModal>
  );
}
