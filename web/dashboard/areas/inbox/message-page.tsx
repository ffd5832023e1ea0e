import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { MessageKind, MessageStatus, subjectOf } from "./labels.tsx";
import { MessageActions } from "./message-actions.tsx";
import { MessageContent } from "./message-content.tsx";
import { MessageSummary } from "./message-facts.tsx";
import {
  DEFAULT_VIEW,
  inboxKeys,
  loadMessages,
  MESSAGE,
  MESSAGES_PER_PAGE,
  messageQuery,
  searchOf,
  urlSearchOf,
  type InboxView,
  type Message,
} from "./queries.ts";
import { useKeys } from "./use-keys.ts";

const PARENTS = [{ label: "Inbox", to: "/inbox" }];

export default function MessagePage() {
  const { messageId = "" }: { messageId?: string } = useParams({ strict: false });
  const account = useAccount();
  const { data: message, error, refetch } = useQuery(messageQuery(account.id, messageId));
  useLiveEvents(["inbox"], [inboxKeys.lists(account.id), inboxKeys.message(account.id, messageId)]);
  const { open, previous, next } = useNeighbours(account.id, messageId);
  useMarkAsRead(account.id, message);
  useKeys({ j: () => open(next), k: () => open(previous), u: () => open(undefined) });

  if (message === undefined || error !== null)
    return (
      <Page title="Message" parents={PARENTS}>
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  return (
    <Page
      title={subjectOf(message)}
      parents={PARENTS}
      badge={
        <>
          <MessageKind kind={message.kind} />
          <MessageStatus status={message.status} />
        </>
      }
      actions={
        <MessageActions
          key={message.id}
          message={message}
          onNewer={previous && (() => open(previous))}
          onOlder={next && (() => open(next))}
          onDeleted={() => open(next ?? previous)}
        />
      }
    >
      <div className="rp-inbox-message">
        <MessageContent key={message.id} message={message} />
        <MessageSummary message={message} />
      </div>
    </Page>
  );
}

/** The messages around this one in the list from which it was opened. */
function useNeighbours(account: string, id: string) {
  const navigate = useNavigate();
  const [view] = usePageState<InboxView>(DEFAULT_VIEW);
  const search = searchOf(view);
  const { items } = usePagedList<Message>(inboxKeys.list(account, search), view.page, loadMessages(account, search), {
    perPage: MESSAGES_PER_PAGE,
  });
  const index = items.findIndex((message) => message.id === id);
  return {
    /** Opens a message, or the list. */
    open: (message: Message | undefined) =>
      void navigate({ to: message === undefined ? "/inbox" : `/inbox/${message.id}`, search: urlSearchOf(view) }),
    previous: items[index - 1],
    next: index === -1 ? undefined : items[index + 1],
  };
}

function useMarkAsRead(account: string, message: Message | undefined) {
  const unread = message !== undefined && !message.read ? message.id : undefined;
  useEffect(() => {
    if (unread === undefined) return;
    // Ignore failures: the list catches up at the next load, and loading the message reports errors.
    api
      .patch(MESSAGE, { path: { account_id: account, message_id: unread }, body: { read: true } })
      .then(() => queryClient.invalidateQueries({ queryKey: inboxKeys.lists(account) }))
      .catch(() => {});
  }, [account, unread]);
}
