import { Stack, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { ErrorState } from "../../shared/error-state.tsx";
import { Bytes, RelativeTime } from "../../shared/format.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { actionText, EntryStatus } from "./entry-status.tsx";
import { Authentication } from "./message-authentication.tsx";
import { MessageContent } from "./message-content.tsx";
import { Deliveries, Related, RuleLink, Timeline, Transcript, WorkerLogs } from "./message-path.tsx";
import { mailKeys, type Message } from "./queries.ts";
import { ReplayMessage } from "./replay-message.tsx";

const PARENTS = [{ label: "Mail log", to: "/mail/log" }];

export default function MessagePage() {
  const account = useAccount();
  const { entryId = "" }: { entryId?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery({
    queryKey: mailKeys.message(entryId),
    queryFn: () =>
      api.get("/accounts/{account_id}/email/activity/{entry_id}", {
        path: { account_id: account.id, entry_id: entryId },
      }),
  });
  useLiveEvents(["mail", "queue"], [mailKeys.message(entryId)]);
  if (data === undefined)
    return (
      <Page title="Message" parents={PARENTS}>
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  return <MessageView message={data} />;
}

function MessageView({ message }: { message: Message }) {
  const [{ tab }, change] = usePageState({ tab: "path" });
  const { kind, status, stored, subject } = message;
  return (
    <Page
      title={subject === null || subject === "" ? "(no subject)" : subject}
      badge={<EntryStatus status={status} />}
      parents={PARENTS}
      actions={kind === "routing" && stored && <ReplayMessage message={message} />}
    >
      <MessageSummary message={message} />
      <Tabs value={tab} onChange={(value) => change({ tab: value ?? "path" })} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="path">Delivery</Tabs.Tab>
          <Tabs.Tab value="content">Content</Tabs.Tab>
          {message.transcript.length > 0 && <Tabs.Tab value="transcript">SMTP transcript</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="path" pt="md">
          <Stack gap="lg">
            <Authentication message={message} />
            <Deliveries message={message} />
            <WorkerLogs message={message} />
            <Related message={message} />
            <Timeline message={message} />
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="content" pt="md">
          <MessageContent message={message} />
        </Tabs.Panel>
        <Tabs.Panel value="transcript" pt="md">
          <Transcript message={message} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function MessageSummary({ message }: { message: Message }) {
  const { from, to, created, size, ip, message_id: messageId } = message;
  const { error_cause: cause, error_detail: detail, spam_score: score, spam_threshold: threshold } = message;
  return (
    <KeyValue
      items={[
        ["From", from === "" ? "(null sender)" : from],
        ["To", to],
        ["Time", <RelativeTime key="time" value={created} />],
        ["Action", actionText(message)],
        ["Rule", <RuleLink key="rule" message={message} />],
        ["Failure", [cause, detail].filter((text) => text !== null && text !== "").join(": ")],
        ["Size", size !== null && <Bytes value={size} />],
        ["Client IP", ip],
        [
          "Spam score",
          score === null ? null : threshold === null ? String(score) : `${score} (threshold ${threshold})`,
        ],
        ["Message-ID", messageId === null ? null : <span className="rp-mono">{messageId}</span>],
      ]}
    />
  );
}
