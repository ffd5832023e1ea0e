import { Alert, Button, Group, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ActionMenu, ConfirmModal } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { formatTime, RelativeTime } from "../../shared/format.tsx";
import { Page } from "../../shared/page.tsx";
import { SearchField } from "../../shared/search-field.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { mailKeys, type QueuedMessage } from "./queries.ts";
import { CursorPager, useCursorPages } from "../../shared/use-cursor-list.tsx";

const STATES: Record<QueuedMessage["state"], { tone: Tone; text: string }> = {
  queued: { tone: "info", text: "Queued" },
  delivering: { tone: "info", text: "Delivering" },
  deferred: { tone: "warning", text: "Deferred" },
  delivered: { tone: "good", text: "Delivered" },
  failed: { tone: "bad", text: "Failed" },
  expired: { tone: "bad", text: "Expired" },
};
const STATE_OPTIONS = Object.entries(STATES).map(([value, { text }]) => ({ value, label: text }));
const CAUSES = { forward: "Forward", reply: "Reply", send: "Send" };

export default function QueuePage() {
  const account = useAccount();
  const [{ state, domain }, change] = usePageState({ state: "", domain: "" });
  const [cancelling, setCancelling] = useState<QueuedMessage>();
  const list = useCursorPages<QueuedMessage>([...mailKeys.queue, account.id, state, domain], (request) =>
    api.list("/accounts/{account_id}/email/queue", {
      path: { account_id: account.id },
      query: {
        ...request,
        ...(state !== "" && { state: state as QueuedMessage["state"] }),
        ...(domain !== "" && { domain }),
      },
    }),
  );
  useLiveEvents(["queue"], [mailKeys.queue]);
  const retry = useAction(
    ({ id }: QueuedMessage) =>
      api.post("/accounts/{account_id}/email/queue/{queue_id}/resend", {
        path: { account_id: account.id, queue_id: id },
      }),
    { done: "Delivery retry started", failed: "Could not retry the delivery", invalidates: [mailKeys.queue] },
  );
  const columns: readonly Column<QueuedMessage>[] = [
    {
      id: "to",
      header: "To",
      render: ({ to, from }) => (
        <>
          <b className="rp-truncate">{to}</b>
          <span className="rp-dimmed rp-truncate">from {from === "" ? "(null sender)" : from}</span>
        </>
      ),
    },
    {
      id: "state",
      header: "Status",
      width: 110,
      render: ({ state: current }) => <StatusBadge tone={STATES[current].tone}>{STATES[current].text}</StatusBadge>,
    },
    { id: "cause", header: "Type", width: 90, wideOnly: true, render: ({ cause }) => CAUSES[cause] },
    { id: "attempts", header: "Attempts", width: 90, align: "end", render: ({ attempts }) => attempts },
    {
      id: "next",
      header: "Next attempt",
      width: 150,
      render: ({ next_attempt: next, paused_until: paused, finished }) =>
        paused !== null ? (
          <>
            Paused, resumes <RelativeTime value={paused} />
          </>
        ) : (
          <RelativeTime value={finished === null ? next : null} />
        ),
    },
    {
      id: "response",
      header: "Last response",
      width: "30%",
      render: ({ host, code, enhanced_code: enhanced, response }) => (
        <span className="rp-mono">{[host, code, enhanced, response].filter(Boolean).join(" ")}</span>
      ),
    },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (message) => (
        <ActionMenu
          label={`Actions for message to ${message.to}`}
          items={[
            {
              label: "Retry now",
              icon: "refresh",
              disabled: !message.can_resend,
              onClick: () => retry.mutate(message),
            },
            {
              label: "Stop delivery",
              icon: "x",
              danger: true,
              disabled: message.finished !== null,
              onClick: () => setCancelling(message),
            },
          ]}
        />
      ),
    },
  ];
  return (
    <Page
      title="Mail queue"
      description="Outgoing messages, with their next delivery attempt and the last response from the next hop."
    >
      <PausedDestinations />
      <div className="rp-toolbar">
        <SearchField label="Recipient domain" value={domain} onChange={(value) => change({ domain: value.trim() })} />
        <Select
          aria-label="Status"
          placeholder="Status"
          size="xs"
          w={148}
          clearable
          clearButtonProps={{ "aria-label": "Clear status" }}
          data={STATE_OPTIONS}
          value={state === "" ? null : state}
          onChange={(value) => change({ state: value ?? "" })}
        />
      </div>
      <div>
        <DataTable
          label="Mail queue"
          columns={columns}
          list={list}
          rowKey={({ id, to }) => `${id} ${to}`}
          empty={
            state === "" && domain === "" ? (
              <EmptyState icon="send" title="The queue is empty">
                Forwards, replies and sent messages appear here until they are delivered.
              </EmptyState>
            ) : (
              <EmptyState icon="search" title="No queued messages match" />
            )
          }
        />
        <CursorPager list={list} />
      </div>
      {cancelling !== undefined && (
        <ConfirmModal
          action="Stop delivery"
          opened
          onClose={() => setCancelling(undefined)}
          onConfirm={async () => {
            await api.post("/accounts/{account_id}/email/queue/{queue_id}/cancel", {
              path: { account_id: account.id, queue_id: cancelling.id },
            });
            await queryClient.invalidateQueries({ queryKey: mailKeys.queue });
          }}
        >
          The server will not try again to deliver this message to {cancelling.to} or its other remaining recipients.
        </ConfirmModal>
      )}
    </Page>
  );
}

/** The API reports one destination for all smart hosts; it is not a domain. */
const hopName = (destination: string) => (destination === "*smart-host" ? "the smart host" : destination);

/** Destinations to which delivery is paused. */
function PausedDestinations() {
  const account = useAccount();
  const { data = [] } = useQuery({
    queryKey: [...mailKeys.queue, account.id, "pauses"],
    queryFn: () => api.get("/accounts/{account_id}/email/queue/pauses", { path: { account_id: account.id } }),
  });
  const resume = useAction(
    (destination: string) =>
      api.post("/accounts/{account_id}/email/queue/pauses/resume", {
        path: { account_id: account.id },
        body: { destination },
      }),
    {
      done: ({ destination }) => `Delivery to ${hopName(destination)} resumed`,
      failed: "Could not resume delivery",
      invalidates: [mailKeys.queue],
    },
  );
  if (data.length === 0) return null;
  return (
    <Stack gap="xs">
      {data.map(({ destination, until, reason }) => (
        <Alert
          key={destination}
          variant="light"
          className="rp-alert"
          data-tone="warning"
          title={`Delivery to ${hopName(destination)} is paused until ${formatTime(until)}`}
        >
          <Group justify="space-between" gap="xs">
            <Text fz="sm">{reason}</Text>
            <Button
              variant="default"
              aria-label={`Resume delivery to ${hopName(destination)}`}
              loading={resume.isPending}
              onClick={() => resume.mutate(destination)}
            >
              Resume delivery
            </Button>
          </Group>
        </Alert>
      ))}
    </Stack>
  );
}
