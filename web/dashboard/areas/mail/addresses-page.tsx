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
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { mailKeys, type Address } from "./queries.ts";

const COLUMNS: readonly Column<Address>[] = [
  { id: "email", header: "Address", render: ({ email }) => <b>{email}</b> },
  {
    id: "verified",
    header: "Status",
    width: 130,
    render: ({ verified }) =>
      verified === null ? (
        <StatusBadge tone="warning">Not verified</StatusBadge>
      ) : (
        <StatusBadge tone="good">Verified</StatusBadge>
      ),
  },
  { id: "created", header: "Created", width: 140, render: ({ created }) => <RelativeTime value={created} /> },
  { id: "actions", label: "Actions", width: 190, align: "end", render: (address) => <Actions address={address} /> },
];

export default function AddressesPage() {
  const account = useAccount();
  const [{ page }, change] = usePageState({ page: 1 });
  const [isCreating, creation] = useDisclosure(false);
  const list = usePagedList<Address>([...mailKeys.addresses, account.id], page, (request) =>
    api.list("/accounts/{account_id}/email/routing/addresses", {
      path: { account_id: account.id },
      query: { ...request, order: "created", direction: "desc" },
    }),
  );
  useLiveEvents(["routing"], [mailKeys.addresses]);
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Add address
    </Button>
  );
  return (
    <Page
      title="Destination addresses"
      description="Addresses that rules can forward to. The owner must first confirm each address with the link in a verification email."
      actions={create}
    >
      <DataTable
        label="Destination addresses"
        columns={COLUMNS}
        list={list}
        rowKey={({ id }) => id}
        onPage={(next) => change({ page: next })}
        empty={
          <EmptyState icon="mail" title="No destination addresses yet" actions={create}>
            Add the mailbox that receives forwarded mail.
          </EmptyState>
        }
      />
      <AddAddress opened={isCreating} onClose={creation.close} />
    </Page>
  );
}

function Actions({ address: { id, email, verified } }: { address: Address }) {
  const account = useAccount();
  const path = { account_id: account.id, destination_address_identifier: id };
  const resend = useAction(
    () => api.post("/accounts/{account_id}/email/routing/addresses/{destination_address_identifier}/resend", { path }),
    { done: `Verification email resent to ${email}`, failed: "Could not resend the verification email" },
  );
  return (
    <span className="rp-nowrap">
      {verified === null && (
        <Button variant="default" size="compact-xs" mr={6} loading={resend.isPending} onClick={() => resend.mutate()}>
          Resend verification
        </Button>
      )}
      <ConfirmButton
        icon="trash"
        action="Delete address"
        label={`Delete ${email}`}
        onConfirm={async () => {
          await api.delete("/accounts/{account_id}/email/routing/addresses/{destination_address_identifier}", { path });
          await queryClient.invalidateQueries({ queryKey: mailKeys.addresses });
        }}
      >
        {email} will be deleted, and rules that forward to it will be disabled.
      </ConfirmButton>
    </span>
  );
}

function AddAddress({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const account = useAccount();
  const notify = useNotify();
  const form = useForm({
    initialValues: { email: "" },
    validate: {
      email: (text) => (/^\S+@\S+$/.test(text.trim()) ? null : "Enter an address, for example me@example.com"),
    },
  });
  return (
    <FormModal
      title="Add address"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() =>
        !form.validate().hasErrors &&
        api
          .post("/accounts/{account_id}/email/routing/addresses", {
            path: { account_id: account.id },
            body: { email: form.values.email.trim() },
          })
          .then(async ({ email }) => {
            notify.success(`Verification email sent to ${email}`);
            form.reset();
            await queryClient.invalidateQueries({ queryKey: mailKeys.addresses });
          })
      }
    >
      <TextInput
        label="Address"
        type="email"
        description="The server sends a verification email with a link."
        autoComplete="off"
        data-autofocus
        {...form.getInputProps("email")}
      />
    </FormModal>
  );
}
