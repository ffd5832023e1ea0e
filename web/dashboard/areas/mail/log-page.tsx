import { Anchor, Button, Select } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { SearchField } from "../../shared/search-field.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { ComposeMessage } from "./compose-message.tsx";
import { actionText, EntryStatus, STATUS_OPTIONS } from "./entry-status.tsx";
import { mailKeys, type LogEntry } from "./queries.ts";
import { CursorPager, useCursorPages } from "../../shared/use-cursor-list.tsx";

const hrefOf = ({ id }: LogEntry) => `/mail/log/${id}`;

const KINDS = [
  { value: "routing", label: "Received" },
  { value: "sending", label: "Sent" },
];
const ACTIONS = [
  { value: "worker", label: "Worker" },
  { value: "forward", label: "Forward" },
  { value: "drop", label: "Drop" },
  { value: "reject", label: "Reject" },
];
const PERIODS = [
  { value: "1", label: "Last hour" },
  { value: "24", label: "Last 24 hours" },
  { value: "168", label: "Last 7 days" },
];
const NO_FILTER = { search: "", kind: "", status: "", action: "", hours: 0 };

const COLUMNS: readonly Column<LogEntry>[] = [
  {
    id: "subject",
    header: "Subject",
    width: "30%",
    render: (entry) => (
      <Anchor renderRoot={(props) => <Link to={hrefOf(entry)} {...props} />} fw={500} fz="sm" className="rp-truncate">
        {entry.subject === null || entry.subject === "" ? "(no subject)" : entry.subject}
      </Anchor>
    ),
  },
  { id: "status", header: "Status", width: 150, render: ({ status }) => <EntryStatus status={status} /> },
  { id: "from", header: "From", render: ({ from }) => <Address value={from} empty="(null sender)" /> },
  { id: "to", header: "To", render: ({ to }) => <Address value={to} /> },
  {
    id: "action",
    header: "Action",
    width: 150,
    wideOnly: true,
    render: (entry) => <span className="rp-truncate">{actionText(entry)}</span>,
  },
  { id: "created", header: "Time", width: 130, render: ({ created }) => <RelativeTime value={created} /> },
];

function Address({ value, empty = "–" }: { value: string; empty?: string }) {
  return value === "" ? (
    <span className="rp-dimmed">{empty}</span>
  ) : (
    <span className="rp-truncate" title={value}>
      {value}
    </span>
  );
}

export default function LogPage() {
  const account = useAccount();
  const [isComposing, compose] = useDisclosure(false);
  const [{ search, kind, status, action, hours }, change] = usePageState(NO_FILTER);
  const list = useCursorPages<LogEntry>([...mailKeys.log, account.id, search, kind, status, action, hours], (request) =>
    api.list("/accounts/{account_id}/email/activity", {
      path: { account_id: account.id },
      query: {
        ...request,
        ...(search !== "" && { search }),
        ...(kind !== "" && { kind: kind as LogEntry["kind"] }),
        ...(status !== "" && { status: status as LogEntry["status"] }),
        ...(action !== "" && { action: action as "forward" }),
        ...(hours > 0 && { since: new Date(Date.now() - hours * 3_600_000).toISOString() }),
      },
    }),
  );
  const live = useLiveEvents(["mail"], [mailKeys.log]);
  const isFiltered = search !== "" || kind !== "" || status !== "" || action !== "" || hours > 0;
  const filter = (
    label: string,
    value: string,
    data: { value: string; label: string }[],
    onChange: (value: string) => void,
  ) => (
    <Select
      aria-label={label}
      placeholder={label}
      size="xs"
      w={148}
      clearable
      clearButtonProps={{ "aria-label": `Clear ${label.toLowerCase()}` }}
      data={data}
      value={value === "" ? null : value}
      onChange={(chosen) => onChange(chosen ?? "")}
    />
  );

  return (
    <Page
      title="Mail log"
      badge={live === "connected" && <StatusBadge tone="good">Live</StatusBadge>}
      description="Received and sent messages, newest first. Open a message to see how the server processed it."
      actions={
        <Button leftSection={<Icon name="send" size={14} />} onClick={compose.open}>
          Send test message
        </Button>
      }
    >
      <div className="rp-toolbar">
        <SearchField label="Search the log" value={search} onChange={(value) => change({ search: value })} />
        {filter("Direction", kind, KINDS, (value) => change({ kind: value }))}
        {filter("Status", status, STATUS_OPTIONS, (value) => change({ status: value }))}
        {filter("Action", action, ACTIONS, (value) => change({ action: value }))}
        {filter("Period", hours > 0 ? String(hours) : "", PERIODS, (value) => change({ hours: Number(value) }))}
      </div>
      <div>
        <DataTable
          label="Mail log"
          columns={COLUMNS}
          list={list}
          rowKey={({ id }) => id}
          rowHref={hrefOf}
          empty={
            isFiltered ? (
              <EmptyState
                icon="search"
                title="No messages match"
                actions={
                  <Button variant="default" onClick={() => change(NO_FILTER)}>
                    Clear filters
                  </Button>
                }
              />
            ) : (
              <EmptyState
                icon="mail"
                title="No messages yet"
                actions={
                  <Button variant="default" component={Link} to="/mail/domains">
                    Set up a domain
                  </Button>
                }
              >
                Messages appear here as the server receives and sends them.
              </EmptyState>
            )
          }
        />
        <CursorPager list={list} />
      </div>
      <ComposeMessage opened={isComposing} onClose={compose.close} />
    </Page>
  );
}
