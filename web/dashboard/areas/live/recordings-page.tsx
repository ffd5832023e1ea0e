import { Anchor, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { Bytes, Duration, formatTime, RelativeTime } from "../../shared/format.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { InputFrame } from "./input-frame.tsx";
import { inputPath, liveKeys, type HistoryEntry, type Recording } from "./queries.ts";

export default function RecordingsPage() {
  return <InputFrame tab="recordings">{({ uid }, account) => <Lists uid={uid} account={account} />}</InputFrame>;
}

function Lists({ uid, account }: { uid: string; account: string }) {
  const [state, change] = usePageState({ page: 1, history: 1 });
  const path = inputPath(account, uid);
  const key = liveKeys.input(account, uid);
  useLiveEvents(["videos"], [[...key, "recordings"]]);
  const recordings = usePagedList<Recording>(
    [...key, "recordings"],
    state.page,
    (query) => api.list("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/videos", { path, query }),
    { perPage: 20 },
  );
  const history = usePagedList<HistoryEntry>(
    [...key, "history"],
    state.history,
    (query) => api.list("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/history", { path, query }),
    { perPage: 20 },
  );
  return (
    <Stack gap="lg">
      <Section title="Recordings">
        <DataTable
          label="Recordings"
          columns={RECORDING_COLUMNS}
          list={recordings}
          rowKey={(video) => video.uid}
          rowHref={(video) => `/stream/${video.uid}`}
          onPage={(page) => change({ page })}
          empty={<EmptyState icon="video" title="No recordings yet" />}
        />
      </Section>
      <Section title="History">
        <DataTable
          label="History"
          columns={HISTORY_COLUMNS}
          list={history}
          rowKey={({ n }) => String(n)}
          onPage={(page) => change({ history: page })}
          empty={<EmptyState icon="clock" title="No events yet" />}
        />
      </Section>
    </Stack>
  );
}

const RECORDING_COLUMNS: readonly Column<Recording>[] = [
  {
    id: "name",
    header: "Video",
    render: ({ uid, meta }) => (
      <Anchor renderRoot={(props) => <Link to={`/stream/${uid}`} {...props} />} fw={500} fz="sm">
        {typeof meta["name"] === "string" && meta["name"] !== "" ? meta["name"] : uid}
      </Anchor>
    ),
  },
  {
    id: "state",
    header: "Status",
    width: 120,
    render: ({ status: { state } }) =>
      state === "live-inprogress" ? (
        <StatusBadge tone="info">Live</StatusBadge>
      ) : state === "ready" ? (
        <StatusBadge tone="good">Ready</StatusBadge>
      ) : state === "error" ? (
        <StatusBadge tone="bad">Failed</StatusBadge>
      ) : (
        <StatusBadge tone="info">Processing</StatusBadge>
      ),
  },
  {
    id: "duration",
    header: "Duration",
    width: 100,
    align: "end",
    render: ({ duration }) => <Duration seconds={duration} />,
  },
  { id: "size", header: "Size", width: 100, align: "end", render: ({ size }) => <Bytes value={size || undefined} /> },
  { id: "created", header: "Started", width: 140, render: ({ created }) => <RelativeTime value={created} /> },
];

const HISTORY_COLUMNS: readonly Column<HistoryEntry>[] = [
  { id: "at", header: "Time", width: 210, render: ({ at }) => formatTime(at) },
  {
    id: "state",
    header: "Event",
    width: 180,
    render: ({ state }) =>
      state === null ? "–" : state.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase()),
  },
  { id: "protocol", header: "Protocol", width: 100, render: ({ protocol }) => protocol?.toUpperCase() ?? "–" },
  { id: "reason", header: "Reason", render: ({ reason, error }) => error?.message ?? reason ?? "–" },
];
