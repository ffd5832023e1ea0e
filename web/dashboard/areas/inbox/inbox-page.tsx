import { Anchor, Button, Kbd, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState, type ReactNode } from "react";
import { useAccount } from "../../api/account.ts";
import { appInfo } from "../../api/app-info.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { CopyField } from "../../shared/copy.tsx";
import { DataTable } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { formatNumber } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { countOf } from "../../shared/text.ts";
import { useAction } from "../../shared/use-action.ts";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { ComposeForm } from "./compose-form.tsx";
import { deleteMessages } from "./delete-messages.ts";
import { Filters } from "./filters.tsx";
import { subjectOf } from "./labels.tsx";
import { messageColumns } from "./message-columns.tsx";
import {
  DEFAULT_VIEW,
  inboxKeys,
  loadMessages,
  MESSAGES,
  MESSAGES_PER_PAGE,
  searchOf,
  urlSearchOf,
  type InboxView,
  type Message,
} from "./queries.ts";
import { useKeys } from "./use-keys.ts";
import { UNREAD, useUnread } from "./use-unread.ts";

export default function InboxPage() {
  const account = useAccount();
  const navigate = useNavigate();
  const [view, change] = usePageState<InboxView>(DEFAULT_VIEW);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isComposing, setComposing] = useState(false);
  const table = useRef<HTMLDivElement>(null);
  const search = searchOf(view);
  const list = usePagedList<Message>(inboxKeys.list(account.id, search), view.page, loadMessages(account.id, search), {
    perPage: MESSAGES_PER_PAGE,
  });
  const live = useLiveEvents(["inbox"], [inboxKeys.lists(account.id)]);
  const unread = useUnread();
  const remove = useAction((ids: readonly string[]) => deleteMessages(account.id, ids), {
    done: (_, ids) => (ids.length === 1 ? "Message deleted" : `${ids.length} messages deleted`),
    failed: "Could not delete the message",
    onDone: () => setSelected(new Set()),
  });
  const open = ({ id }: Message) => void navigate({ to: `/inbox/${id}`, search: urlSearchOf(view) });

  // The keys move the focus between the links of the messages, which Enter opens.
  const links = () => Array.from(table.current?.querySelectorAll<HTMLElement>("[data-message]") ?? []);
  const focusedIndex = (all: HTMLElement[]) =>
    all.findIndex((link) => link.closest("tr")?.contains(document.activeElement) === true);
  const move = (by: number) => {
    const all = links();
    all[Math.min(all.length - 1, Math.max(0, focusedIndex(all) + by))]?.focus();
  };
  const removeFocused = () => {
    const all = links();
    const index = focusedIndex(all);
    const id = all[index]?.dataset["message"];
    if (id === undefined) return;
    (all[index + 1] ?? all[index - 1])?.focus();
    remove.mutate([id]);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    c: () => setComposing(true),
    Delete: removeFocused,
    Backspace: removeFocused,
  });

  const compose = (
    <Button leftSection={<Icon name="edit" size={14} />} onClick={() => setComposing(true)}>
      Compose message
    </Button>
  );

  return (
    <Page
      title="Inbox"
      badge={
        <>
          {live === "connected" ? (
            <StatusBadge tone="good">Live</StatusBadge>
          ) : (
            <StatusBadge tone="warning">Not connected</StatusBadge>
          )}
          {unread > 0 && (
            <Anchor component="button" type="button" fz="sm" onClick={() => change({ search: UNREAD, page: 1 })}>
              {formatNumber(unread)} unread
            </Anchor>
          )}
        </>
      }
      description="Every message that workers receive, forward or send, including replies. Nothing is delivered unless you release it."
      actions={
        <>
          {list.items.length > 0 && <DeleteAll search={search} count={list.total} />}
          {compose}
        </>
      }
    >
      <Filters view={view} onChange={(more) => change({ ...more, page: 1 })} />
      <div ref={table} className="rp-inbox-list">
        <DataTable
          label="Messages"
          columns={messageColumns(view)}
          list={list}
          rowKey={({ id }) => id}
          rowName={subjectOf}
          onRowClick={open}
          onPage={(page) => change({ page })}
          selected={selected}
          onSelect={setSelected}
          bulkActions={
            <Button variant="default" c="var(--rp-bad)" onClick={() => remove.mutate([...selected])}>
              Delete messages
            </Button>
          }
          empty={
            search === "" ? (
              <NoMessages>{compose}</NoMessages>
            ) : (
              <EmptyState
                icon="search"
                title="No messages match"
                actions={
                  <Button variant="default" onClick={() => change(DEFAULT_VIEW)}>
                    Show all messages
                  </Button>
                }
              />
            )
          }
        />
      </div>
      {list.items.length > 0 && (
        <Text fz="xs" c="dimmed" className="rp-inbox-keys">
          <Kbd>j</Kbd> next <Kbd>k</Kbd> previous <Kbd>Enter</Kbd> open <Kbd>Delete</Kbd> delete <Kbd>c</Kbd> compose
        </Text>
      )}
      {isComposing && <ComposeForm onClose={() => setComposing(false)} />}
    </Page>
  );
}

function NoMessages({ children }: { children: ReactNode }) {
  const { smtp } = appInfo().urls;
  return (
    <EmptyState icon="inbox" title="No messages yet" actions={children}>
      {smtp === undefined ? (
        "Compose a message, or send mail from a worker."
      ) : (
        <>
          Send mail to the SMTP server of this project, or compose a message. It appears here immediately.
          <div className="rp-inbox-smtp">
            <CopyField label="SMTP server" value={smtp} />
          </div>
        </>
      )}
    </EmptyState>
  );
}

function DeleteAll({ search, count }: { search: string; count: number | undefined }) {
  const account = useAccount();
  const notify = useNotify();
  const { data: all } = useQuery({
    queryKey: [...inboxKeys.lists(account.id), "count"],
    queryFn: () => api.list(MESSAGES, { path: { account_id: account.id }, query: { per_page: 1 } }),
    enabled: search !== "",
  });
  const isAll = search === "" || (count !== undefined && count === all?.info.total_count);
  return (
    <ConfirmButton
      action={isAll ? "Delete all messages" : "Delete matching messages"}
      onConfirm={async () => {
        const { deleted } = await api.delete(MESSAGES, {
          path: { account_id: account.id },
          query: isAll ? {} : { query: search },
        });
        notify.success(`${countOf(deleted, "message")} deleted`);
        await queryClient.invalidateQueries({ queryKey: ["inbox", account.id] });
      }}
    >
      {isAll
        ? "All messages in the inbox will be deleted."
        : `${countOf(count ?? 0, "message that matches", "messages that match")} the search will be deleted.`}
    </ConfirmButton>
  );
}
