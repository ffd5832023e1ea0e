import { Anchor, Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, useNavigate } from "@tanstack/react-router";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { InputForm } from "./input-form.tsx";
import { LiveState } from "./live-state.tsx";
import { hrefOf, inputPath, liveKeys, nameOf, type ListedInput } from "./queries.ts";

export default function InputsPage() {
  const { id: account } = useAccount();
  const navigate = useNavigate();
  const [{ page }, change] = usePageState({ page: 1 });
  const [isCreating, creation] = useDisclosure(false);
  useLiveEvents(["live"], [["live", account]]);
  const list = usePagedList<ListedInput>(
    liveKeys.inputs(account),
    page,
    async (request) => {
      const { liveInputs } = await api.get("/accounts/{account_id}/stream/live_inputs", {
        path: { account_id: account },
        query: request,
      });
      return { items: liveInputs, info: {} };
    },
    { perPage: 25 },
  );
  const columns: readonly Column<ListedInput>[] = [
    {
      id: "name",
      header: "Live input",
      render: (input) => (
        <Anchor renderRoot={(props) => <Link to={hrefOf(input)} {...props} />} fw={500} fz="sm">
          {nameOf(input)}
        </Anchor>
      ),
    },
    {
      id: "state",
      header: "Status",
      width: 180,
      render: ({ uid, enabled }) => <LiveState uid={uid} enabled={enabled} />,
    },
    { id: "created", header: "Created", width: 140, render: ({ created }) => <RelativeTime value={created} /> },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (input) => (
        <ConfirmButton
          icon="trash"
          action="Delete live input"
          label={`Delete ${nameOf(input)}`}
          onConfirm={() =>
            api
              .delete("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}", {
                path: inputPath(account, input.uid),
              })
              .then(() => queryClient.invalidateQueries({ queryKey: liveKeys.inputs(account) }))
          }
        >
          {nameOf(input)} will be deleted. Its keys and URLs will stop working. Recordings are kept.
        </ConfirmButton>
      ),
    },
  ];
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Create live input
    </Button>
  );
  return (
    <Page title="Live" description="Live inputs receive broadcasts over RTMP, SRT or WebRTC." actions={create}>
      <DataTable
        label="Live inputs"
        columns={columns}
        list={list}
        rowKey={({ uid }) => uid}
        rowHref={hrefOf}
        onPage={(next) => change({ page: next })}
        empty={
          <EmptyState icon="broadcast" title="No live inputs yet" actions={create}>
            A live input has keys for your encoder and one URL for all viewers.
          </EmptyState>
        }
      />
      {isCreating && <InputForm onClose={creation.close} onSaved={(input) => void navigate({ to: hrefOf(input) })} />}
    </Page>
  );
}
