import { Anchor, Button, Checkbox, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
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
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { streamKeys, type Webhook } from "./queries.ts";

const hrefOf = ({ id }: Webhook) => `/stream/webhooks/${id}`;

export default function WebhooksPage() {
  const { id: account } = useAccount();
  const [isCreating, creation] = useDisclosure(false);
  const queryKey = streamKeys.webhooks(account);
  useLiveEvents(["webhooks"], [queryKey]);
  const { data, error, isPending } = useQuery({
    queryKey,
    queryFn: () => api.get("/accounts/{account_id}/stream/webhook/endpoints", { path: { account_id: account } }),
  });
  const columns: readonly Column<Webhook>[] = [
    {
      id: "url",
      header: "URL",
      render: (webhook) => (
        <Anchor renderRoot={(props) => <Link to={hrefOf(webhook)} {...props} />} fw={500} fz="sm">
          {webhook.notificationUrl}
        </Anchor>
      ),
    },
    {
      id: "topics",
      header: "Events",
      width: 160,
      render: ({ topics }) => topics.map((topic) => (topic === "videos" ? "Videos" : "Live inputs")).join(", "),
    },
    { id: "modified", header: "Modified", width: 140, render: ({ modified }) => <RelativeTime value={modified} /> },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (webhook) => (
        <ConfirmButton
          icon="trash"
          action="Delete webhook"
          label={`Delete ${webhook.notificationUrl}`}
          onConfirm={() =>
            api
              .delete("/accounts/{account_id}/stream/webhook/endpoints/{webhook_id}", {
                path: { account_id: account, webhook_id: webhook.id },
              })
              .then(() => queryClient.invalidateQueries({ queryKey }))
          }
        >
          The webhook and its delivery log will be deleted. The URL will receive no more events.
        </ConfirmButton>
      ),
    },
  ];
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Create webhook
    </Button>
  );
  return (
    <Page
      title="Webhooks"
      parents={[{ label: "Videos", to: "/stream" }]}
      description="The server sends requests to your application when a video is ready or fails, or when a live input changes."
      actions={create}
    >
      <DataTable
        label="Webhooks"
        columns={columns}
        list={{ items: data ?? [], isLoading: isPending, error }}
        rowKey={({ id }) => id}
        rowHref={hrefOf}
        empty={
          <EmptyState icon="send" title="No webhooks yet" actions={create}>
            The server signs each request, so that your application can verify it.
          </EmptyState>
        }
      />
      <CreateWebhook account={account} opened={isCreating} onClose={creation.close} />
    </Page>
  );
}

function CreateWebhook({ account, opened, onClose }: { account: string; opened: boolean; onClose: () => void }) {
  const notify = useNotify();
  const form = useForm({
    initialValues: { url: "", topics: ["videos"] },
    validate: {
      url: (url) => (/^https?:\/\/./.test(url.trim()) ? null : "Enter a URL that begins with https://"),
      topics: (topics) => (topics.length === 0 ? "Select at least one event type" : null),
    },
  });
  return (
    <FormModal
      title="Create webhook"
      opened={opened}
      onClose={onClose}
      onFieldErrors={({ notificationUrl, ...fields }) =>
        form.setErrors(notificationUrl === undefined ? fields : { ...fields, url: notificationUrl })
      }
      onSubmit={() =>
        !form.validate().hasErrors &&
        api
          .post("/accounts/{account_id}/stream/webhook/endpoints", {
            path: { account_id: account },
            body: { notificationUrl: form.values.url.trim(), topics: form.values.topics as "videos"[] },
          })
          .then(() => {
            notify.success("Webhook created");
            form.reset();
            return queryClient.invalidateQueries({ queryKey: streamKeys.webhooks(account) });
          })
      }
    >
      <TextInput
        label="URL"
        placeholder="https://example.com/stream-events"
        type="url"
        data-autofocus
        autoComplete="off"
        {...form.getInputProps("url")}
      />
      <Checkbox.Group label="Events" {...form.getInputProps("topics")}>
        <Checkbox value="videos" label="Videos: ready or failed" mt={6} />
        <Checkbox value="live" label="Live inputs: connected, disconnected or in error" mt={6} />
      </Checkbox.Group>
    </FormModal>
  );
}
