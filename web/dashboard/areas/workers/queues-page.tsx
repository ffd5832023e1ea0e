import { Button, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api, type ResultOf } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ActionMenu, ConfirmModal } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { formatNumber, RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";

type Queue = ResultOf<"GET", "/accounts/{account_id}/queues">[number];
type Removal = { queue: Queue; action: "Purge queue" | "Delete queue" };

export default function QueuesPage() {
  const { id: account } = useAccount();
  const [{ page }, change] = usePageState({ page: 1 });
  const [isCreating, creation] = useDisclosure(false);
  const [removal, setRemoval] = useState<Removal>();
  const queryKey = ["workers", account, "queues"];
  useLiveEvents(["queues"], [queryKey]);
  const list = usePagedList<Queue>(queryKey, page, (request) =>
    api.list("/accounts/{account_id}/queues", { path: { account_id: account }, query: request }),
  );
  const pause = useAction(
    ({ queue_id: id, settings }: Queue) =>
      api.patch("/accounts/{account_id}/queues/{queue_id}", {
        path: { account_id: account, queue_id: id },
        body: { settings: { delivery_paused: !settings.delivery_paused } },
      }),
    { failed: "Could not pause or resume delivery", invalidates: [queryKey] },
  );

  async function remove({ queue, action }: Removal) {
    const path = { account_id: account, queue_id: queue.queue_id };
    await (action === "Delete queue"
      ? api.delete("/accounts/{account_id}/queues/{queue_id}", { path })
      : api.post("/accounts/{account_id}/queues/{queue_id}/purge", {
          path,
          body: { delete_messages_permanently: true },
        }));
    await queryClient.invalidateQueries({ queryKey });
  }

  const columns: readonly Column<Queue>[] = [
    { id: "name", header: "Queue", render: ({ queue_name: name }) => <b>{name}</b> },
    {
      id: "delivery",
      header: "Delivery",
      width: 110,
      render: ({ settings, consumers }) =>
        settings.delivery_paused ? (
          <StatusBadge tone="warning">Paused</StatusBadge>
        ) : consumers.length === 0 ? (
          <StatusBadge>No consumer</StatusBadge>
        ) : (
          <StatusBadge tone="good">Active</StatusBadge>
        ),
    },
    {
      id: "waiting",
      header: "Waiting",
      width: 110,
      align: "end",
      render: ({ queue_id: id }) => <Backlog account={account} queue={id} />,
    },
    {
      id: "producers",
      header: "Producers",
      wideOnly: true,
      render: ({ producers }) => producers.map(({ script }) => script).join(", ") || "–",
    },
    {
      id: "consumers",
      header: "Consumers",
      wideOnly: true,
      render: ({ consumers }) =>
        consumers.map(({ script, script_name: name, type }) => script ?? name ?? type).join(", ") || "–",
    },
    { id: "created", header: "Created", width: 140, render: (queue) => <RelativeTime value={queue.created_on} /> },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (queue) => (
        <ActionMenu
          label={`Actions for ${queue.queue_name}`}
          items={[
            {
              label: queue.settings.delivery_paused ? "Resume delivery" : "Pause delivery",
              icon: queue.settings.delivery_paused ? "play" : "pause",
              onClick: () => pause.mutate(queue),
            },
            { label: "Purge", icon: "x", danger: true, onClick: () => setRemoval({ queue, action: "Purge queue" }) },
            {
              label: "Delete",
              icon: "trash",
              danger: true,
              onClick: () => setRemoval({ queue, action: "Delete queue" }),
            },
          ]}
        />
      ),
    },
  ];
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Create queue
    </Button>
  );
  return (
    <Page title="Queues" description="Queues pass messages between workers." actions={create}>
      <DataTable
        label="Queues"
        columns={columns}
        list={list}
        rowKey={({ queue_id: id }) => id}
        onPage={(next) => change({ page: next })}
        empty={
          <EmptyState icon="list" title="No queues yet" actions={create}>
            A worker sends messages to a queue; another one receives them in its <code>queue()</code> handler.
          </EmptyState>
        }
      />
      {isCreating && <CreateQueue account={account} onClose={creation.close} />}
      {removal !== undefined && (
        <ConfirmModal
          action={removal.action}
          opened
          onClose={() => setRemoval(undefined)}
          onConfirm={() => remove(removal)}
          {...(removal.action === "Delete queue" && { confirmText: removal.queue.queue_name })}
        >
          {removal.action === "Delete queue"
            ? `${removal.queue.queue_name} and all its messages will be deleted.`
            : `All messages in ${removal.queue.queue_name} will be deleted.`}
        </ConfirmModal>
      )}
    </Page>
  );
}

function Backlog({ account, queue }: { account: string; queue: string }) {
  const { data } = useQuery({
    // This key is not below that of the list: otherwise, a change of the list would also refetch the backlogs of
    // deleted queues.
    queryKey: ["workers", account, "backlog", queue],
    refetchInterval: 15_000,
    queryFn: () =>
      api.get("/accounts/{account_id}/queues/{queue_id}/metrics", { path: { account_id: account, queue_id: queue } }),
  });
  return <>{data === undefined ? "" : formatNumber(data.backlog_count)}</>;
}

function CreateQueue({ account, onClose }: { account: string; onClose: () => void }) {
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<string>();
  async function create() {
    await api.post("/accounts/{account_id}/queues", {
      path: { account_id: account },
      body: { queue_name: name.trim() },
    });
    await queryClient.invalidateQueries({ queryKey: ["workers", account, "queues"] });
  }
  return (
    <FormModal
      title="Create queue"
      opened
      onClose={onClose}
      onSubmit={() => {
        const isEmpty = name.trim() === "";
        setProblem(isEmpty ? "Enter a name" : undefined);
        return !isEmpty && create();
      }}
    >
      <TextInput
        label="Name"
        placeholder="my-queue"
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        value={name}
        error={problem}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
    </FormModal>
  );
}
