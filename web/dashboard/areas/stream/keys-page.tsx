import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api, type ResultOf } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { CopyField } from "../../shared/copy.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { saveFile } from "../../shared/save-file.ts";
import { SecretField } from "../../shared/secret-field.tsx";
import { useAction } from "../../shared/use-action.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { streamKeys, type SigningKey } from "./queries.ts";

type NewKey = ResultOf<"POST", "/accounts/{account_id}/stream/keys">;

export default function KeysPage() {
  const { id: account } = useAccount();
  const [created, setCreated] = useState<NewKey>();
  const queryKey = streamKeys.keys(account);
  useLiveEvents(["stream"], [queryKey]);
  const { data, error, isPending } = useQuery({
    queryKey,
    queryFn: () => api.get("/accounts/{account_id}/stream/keys", { path: { account_id: account } }),
  });
  const creation = useAction(() => api.post("/accounts/{account_id}/stream/keys", { path: { account_id: account } }), {
    failed: "Could not create the signing key",
    invalidates: [queryKey],
    onDone: setCreated,
  });
  const columns: readonly Column<SigningKey>[] = [
    { id: "id", header: "Key", render: ({ id }) => <span className="rp-mono">{id}</span> },
    { id: "created", header: "Created", width: 160, render: (key) => <RelativeTime value={key.created} /> },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: ({ id }) => (
        <ConfirmButton
          icon="trash"
          action="Delete signing key"
          label={`Delete ${id}`}
          onConfirm={() =>
            api
              .delete("/accounts/{account_id}/stream/keys/{identifier}", {
                path: { account_id: account, identifier: id },
              })
              .then(() => queryClient.invalidateQueries({ queryKey }))
          }
        >
          The key will be deleted. Tokens signed with it will become invalid immediately.
        </ConfirmButton>
      ),
    },
  ];
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} loading={creation.isPending} onClick={() => creation.mutate()}>
      Create signing key
    </Button>
  );
  return (
    <Page
      title="Signing keys"
      parents={[{ label: "Videos", to: "/stream" }]}
      description="Sign tokens in your own application, without a request to the server."
      actions={create}
    >
      <DataTable
        label="Signing keys"
        columns={columns}
        list={{ items: data ?? [], isLoading: isPending, error }}
        rowKey={({ id }) => id}
        empty={
          <EmptyState icon="key" title="No signing keys yet" actions={create}>
            A key signs JSON Web Tokens that take the place of the video ID in URLs.
          </EmptyState>
        }
      />
      <Modal
        opened={created !== undefined}
        onClose={() => setCreated(undefined)}
        title="Signing key created"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {created !== undefined && (
          <Stack gap="sm">
            <Text fz="sm">The private key is shown only now. Store it before you close this dialog.</Text>
            <CopyField label="Key ID" value={created.id} />
            <SecretField label="Private key (PEM, base64)" value={created.pem} />
            <SecretField label="Private key (JWK, base64)" value={created.jwk} />
            <Group justify="end" gap="xs">
              <Button variant="default" onClick={() => saveFile(atob(created.pem), `${created.id}.pem`)}>
                Download PEM
              </Button>
              <Button onClick={() => setCreated(undefined)}>Close</Button>
            </Group>
          </Stack>
        )}
      </Modal>
    </Page>
  );
}
