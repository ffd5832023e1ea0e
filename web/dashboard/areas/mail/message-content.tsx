import { Alert, Button, Group, Paper, SegmentedControl, Stack, Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api, type ResultOf } from "../../api/client.ts";
import { CodeView } from "../../shared/code-view.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatBytes } from "../../shared/format.tsx";
import { HtmlFrame } from "../../shared/html-frame.tsx";
import { Icon } from "../../shared/icon.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { saveFile } from "../../shared/save-file.ts";
import { useAction } from "../../shared/use-action.ts";
import { mailKeys, type Message } from "./queries.ts";

type Content = ResultOf<"GET", "/accounts/{account_id}/email/activity/{entry_id}/content">;
type View = "html" | "text" | "headers" | "source";

const MAX_SOURCE = 500_000;

/** The stored content of a message. */
export function MessageContent({ message }: { message: Message }) {
  const path = usePathOf(message);
  const { data, error, refetch } = useQuery({
    queryKey: [...mailKeys.message(message.id), "content"],
    queryFn: () => api.get("/accounts/{account_id}/email/activity/{entry_id}/content", { path }),
    enabled: message.stored,
    staleTime: Infinity,
  });
  if (!message.stored)
    return (
      <EmptyState icon="mail" title="The content is not stored">
        Received messages are kept if the setting <code>email.store_days</code> is above 0. Sent messages are kept if
        “Keep the content of sent messages” is on for their sending domain.
      </EmptyState>
    );
  if (data === undefined)
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  return <ContentView message={message} content={data} />;
}

function ContentView({ message, content }: { message: Message; content: Content }) {
  const { html, text, headers } = content;
  const [view, setView] = useState<View>(html !== null ? "html" : text !== null ? "text" : "headers");
  const [isRemoteShown, setRemoteShown] = useState(false);
  const views = [
    ...(html === null ? [] : [{ value: "html", label: "HTML" }]),
    ...(text === null ? [] : [{ value: "text", label: "Text" }]),
    { value: "headers", label: "Headers" },
    { value: "source", label: "Source" },
  ];
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <SegmentedControl
          aria-label="Message view"
          size="xs"
          data={views}
          value={view}
          onChange={(value) => setView(value as View)}
        />
        {view === "html" && (
          <Switch
            label="Load remote content"
            checked={isRemoteShown}
            onChange={({ currentTarget }) => setRemoteShown(currentTarget.checked)}
          />
        )}
      </Group>
      {view === "html" && isRemoteShown && (
        <Alert color="yellow" variant="light" className="rp-alert" data-tone="warning">
          The sender can see that the message was opened.
        </Alert>
      )}
      {view === "html" && html !== null && (
        <Paper p={0} className="rp-mail-html">
          <HtmlFrame title="Message content" html={html} remote={isRemoteShown} />
        </Paper>
      )}
      {view === "text" && <CodeView label="Text" text={text ?? ""} wrap maxHeight="48rem" />}
      {view === "headers" && (
        <Paper p="sm">
          <KeyValue
            items={headers.map(({ name, value }) => [
              name,
              <span key={name} className="rp-mono">
                {value}
              </span>,
            ])}
          />
        </Paper>
      )}
      {view === "source" && <Source message={message} />}
      <Attachments message={message} content={content} />
    </Stack>
  );
}

function usePathOf({ id }: Message) {
  const account = useAccount();
  return { account_id: account.id, entry_id: id };
}

function Source({ message }: { message: Message }) {
  const path = usePathOf(message);
  const { data, error } = useQuery({
    queryKey: [...mailKeys.message(message.id), "raw"],
    queryFn: async () => {
      const response = await api.raw("GET", "/accounts/{account_id}/email/activity/{entry_id}/raw", { path });
      return response.blob();
    },
    staleTime: Infinity,
  });
  const { data: text } = useQuery({
    queryKey: [...mailKeys.message(message.id), "source"],
    queryFn: () => data!.slice(0, MAX_SOURCE).text(),
    enabled: data !== undefined,
    staleTime: Infinity,
  });
  if (data === undefined || text === undefined) return error === null ? <LoadingState /> : <ErrorState error={error} />;
  return (
    <Stack gap="xs" align="start">
      <Button
        variant="default"
        leftSection={<Icon name="download" size={14} />}
        onClick={() => saveFile(data, "message.eml")}
      >
        Download source ({formatBytes(data.size)})
      </Button>
      <div className="rp-mail-source">
        <CodeView label="Source" text={text} wrap maxHeight="48rem" />
      </div>
    </Stack>
  );
}

function Attachments({ message, content: { attachments } }: { message: Message; content: Content }) {
  const path = usePathOf(message);
  const download = useAction(
    async ({ index, filename }: Content["attachments"][number]) => {
      const response = await api.raw("GET", "/accounts/{account_id}/email/activity/{entry_id}/attachments/{index}", {
        path: { ...path, index },
      });
      saveFile(await response.blob(), filename ?? `attachment-${index}`);
    },
    { failed: "Could not download the attachment" },
  );
  if (attachments.length === 0) return null;
  return (
    <Group gap="xs" role="group" aria-label="Attachments">
      {attachments.map((attachment) => (
        <Button
          key={attachment.index}
          variant="default"
          leftSection={<Icon name="file" size={14} />}
          onClick={() => download.mutate(attachment)}
        >
          {attachment.filename ?? attachment.type} ({formatBytes(attachment.size)})
        </Button>
      ))}
    </Group>
  );
}
