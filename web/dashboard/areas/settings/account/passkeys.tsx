import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { ActionMenu, ConfirmModal } from "../../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { Section } from "../../../shared/page.tsx";
import { useNotify } from "../../../shared/use-notify.ts";
import { passkeysQuery, settingsKeys, type Passkey } from "../queries.ts";
import { AddPasskey, RenamePasskey } from "./passkey-forms.tsx";
import { useConfirmation } from "./use-confirmation.tsx";

export function Passkeys() {
  const { data = [], error, isPending, refetch } = useQuery(passkeysQuery);
  const [isAdding, adding] = useDisclosure(false);
  const [renamed, setRenamed] = useState<Passkey>();
  const [deleted, setDeleted] = useState<Passkey>();
  const columns: readonly Column<Passkey>[] = [
    { id: "name", header: "Name", render: ({ name }) => name },
    { id: "host", header: "Host", wideOnly: true, render: ({ host }) => <span className="rp-mono">{host}</span> },
    { id: "created", header: "Added", render: ({ created_on: created }) => <RelativeTime value={created} /> },
    { id: "used", header: "Last used", render: ({ last_used_on: used }) => <RelativeTime value={used} /> },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (passkey) => (
        <ActionMenu
          label={`Actions for ${passkey.name}`}
          items={[
            { label: "Rename", icon: "edit", onClick: () => setRenamed(passkey) },
            { label: "Delete", icon: "trash", danger: true, onClick: () => setDeleted(passkey) },
          ]}
        />
      ),
    },
  ];
  const add = (
    <Button variant="default" leftSection={<Icon name="plus" size={14} />} onClick={adding.open}>
      Add passkey
    </Button>
  );
  return (
    <Section
      title="Passkeys"
      description="Sign in with your fingerprint, face or device PIN, or with a security key."
      {...(data.length > 0 && { actions: add })}
    >
      <DataTable
        label="Passkeys"
        columns={columns}
        list={{ items: data, isLoading: isPending, error, reload: () => void refetch() }}
        rowKey={({ id }) => id}
        empty={<EmptyState icon="key" title="No passkeys yet" actions={add} />}
      />
      <AddPasskey opened={isAdding} onClose={adding.close} />
      {renamed !== undefined && <RenamePasskey passkey={renamed} onClose={() => setRenamed(undefined)} />}
      {deleted !== undefined && <DeletePasskey passkey={deleted} onClose={() => setDeleted(undefined)} />}
    </Section>
  );
}

function DeletePasskey({ passkey: { id, name }, onClose }: { passkey: Passkey; onClose: () => void }) {
  const client = useQueryClient();
  const notify = useNotify();
  const confirmation = useConfirmation();
  return (
    <ConfirmModal
      action="Delete passkey"
      opened
      onClose={onClose}
      onConfirm={async () => {
        await api.delete("/user/passkeys/{passkey_id}", { path: { passkey_id: id }, body: confirmation.body });
        await client.invalidateQueries({ queryKey: settingsKeys.passkeys });
        notify.success(`Passkey ${name} deleted`);
      }}
    >
      {name} will be deleted and will no longer sign you in. Delete it from the device as well.
      {confirmation.fields}
    </ConfirmModal>
  );
}
