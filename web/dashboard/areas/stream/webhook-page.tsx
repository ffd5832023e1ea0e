import { Button, Drawer, Stack, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { CodeView } from "../../shared/code-view.tsx";
import { CopyField } from "../../shared/copy.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatTime, RelativeTime } from "../../shared/format.tsx";
import { Page, Section } from "../../shared/page.tsx";
import { SecretField } from "../../shared/secret-field.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { streamKeys, type Delivery } from "./queries.ts";

const STATUSES: Record<Delivery["status"], { tone: Tone; text: string }> = {
  waiting: { tone: "info", text: "Waiting" },
  delivered: { tone: "good", text: "Delivered" },
  failed: { tone: "bad", text: "Failed" },
};
const PARENTS = [
  { label: "Videos", to: "/stream" },
  { label: "Webhooks", to: "/stream/webhooks" },
];

export default function WebhookPage() {
  const { webhookId = "" }: { webhookId?: string } = useParams({ strict: false });
  const { id: account } = useAccount();
  const [{ page }, change] = usePageState({ page: 1 });
  const [shown, setShown] = useState<string>();
  const queryKey = [...streamKeys.webhooks(account), webhookId];
  const path = { account_id: account, webhook_id: webhookId };
  useLiveEvents(["webhooks", "videos", "live"], [queryKey]);
  const { data: webhook, error } = useQuery({
    queryKey: [...queryKey, "details"],
    queryFn: () => api.get("/accounts/{account_id}/stream/webhook/endpoints/{webhook_id}", { path }),
  });
  const list = usePagedList<Delivery>([...queryKey, "deliveries"], page, (request) =>
    api.list("/accounts/{account_id}/stream/webhook/endpoints/{webhook_id}/deliveries", { path, query: request }),
  );
  const sendTest = useAction(
    () => api.post("/accounts/{account_id}/stream/webhook/endpoints/{webhook_id}/test", { path }),
    {
      done: ({ status }) => (status === "delivered" ? "Test event delivered" : "The test event was not delivered"),
      failed: "Could not send the test event",
      invalidates: [queryKey],
    },
  );
  const columns: readonly Column<Delivery>[] = [
    { id: "event", header: "Event", render: ({ event }) => event },
    {
      id: "video",
      header: "Video or live input",
      wideOnly: true,
      render: ({ video }) => <span className="rp-mono">{video}</span>,
    },
    {
      id: "status",
      header: "Status",
      width: 110,
      render: ({ status }) => <StatusBadge tone={STATUSES[status].tone}>{STATUSES[status].text}</StatusBadge>,
    },
    {
      id: "result",
      header: "Last attempt",
      render: ({ attempts }) => {
        const last = attempts.at(-1);
        return last === undefined ? "–" : (last.error ?? `Status ${last.status}`);
      },
    },
    { id: "created", header: "Created", width: 130, render: ({ created }) => <RelativeTime value={created} /> },
  ];
  const delivery = list.items.find(({ id }) => id === shown);

  return (
    <Page
      title={webhook?.notificationUrl ?? "Webhook"}
      parents={PARENTS}
      actions={
        <Button variant="default" loading={sendTest.isPending} onClick={() => sendTest.mutate()}>
          Send test event
        </Button>
      }
    >
      {error !== null && <ErrorState error={error} />}
      {webhook !== undefined && <SecretField label="Signing secret" value={webhook.secret} />}
      <Section title="Deliveries">
        <DataTable
          label="Deliveries"
          columns={columns}
          list={list}
          rowKey={({ id }) => id}
          onRowClick={({ id }) => setShown(id)}
          onPage={(next) => change({ page: next })}
          empty={
            <EmptyState icon="send" title="No deliveries yet">
              Send a test event to check the URL.
            </EmptyState>
          }
        />
      </Section>
      {delivery !== undefined && (
        <DeliveryDetails
          delivery={delivery}
          path={{ ...path, delivery_id: delivery.id }}
          queryKey={queryKey}
          onClose={() => setShown(undefined)}
        />
      )}
    </Page>
  );
}

function DeliveryDetails({
  delivery: { event, body, attempts },
  path,
  queryKey,
  onClose,
}: {
  delivery: Delivery;
  path: { account_id: string; webhook_id: string; delivery_id: string };
  queryKey: readonly string[];
  onClose: () => void;
}) {
  const replay = useAction(
    () =>
      api.post("/accounts/{account_id}/stream/webhook/endpoints/{webhook_id}/deliveries/{delivery_id}/replay", {
        path,
      }),
    {
      done: "Event resent",
      failed: "Could not resend the event",
      invalidates: [queryKey],
      onDone: onClose,
    },
  );
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={`Delivery: ${event}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="md">
        <Section
          title="Payload"
          actions={
            <Button variant="default" loading={replay.isPending} onClick={() => replay.mutate()}>
              Resend event
            </Button>
          }
        >
          <CodeView label="Event as JSON" text={indented(body)} wrap />
        </Section>
        <Section title="Attempts">
          {attempts.length === 0 ? (
            "No attempts yet"
          ) : (
            <Table aria-label="Attempts" fz="sm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th scope="col">Time</Table.Th>
                  <Table.Th scope="col">Result</Table.Th>
                  <Table.Th scope="col">Duration</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {attempts.map(({ at, milliseconds, status, error }) => (
                  <Table.Tr key={at}>
                    <Table.Td>{formatTime(at)}</Table.Td>
                    <Table.Td>{error ?? `Status ${status}`}</Table.Td>
                    <Table.Td>{milliseconds} ms</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
        </Section>
        {attempts.at(-1) !== undefined && attempts.at(-1)!.response !== "" && (
          <CopyField label="Last response" value={attempts.at(-1)!.response} wrap />
        )}
      </Stack>
    </Drawer>
  );
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2);
  } catch {
    return json;
  }
}
