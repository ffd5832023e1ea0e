import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { ErrorState } from "../../../shared/error-state.tsx";
import { formatNumber } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { saveFile } from "../../../shared/save-file.ts";
import { StatusBadge } from "../../../shared/status-badge.tsx";
import { WorkerFrame } from "../worker-frame.tsx";
import type { ScriptPath } from "../queries.ts";
import { FilterForm, NO_FILTERS, requestOf } from "./filter-form.tsx";
import { LogRecord } from "./log-record.tsx";
import { recordText } from "./record.ts";
import { useTail, type TailEntry, type TailState } from "./use-tail.ts";

/** Maximum number of records that the page draws; all kept records are searched and downloaded. */
const MAX_SHOWN = 200;

export default function LogsPage() {
  return <WorkerFrame tab="logs">{(path) => <Logs path={path} key={path.script_name} />}</WorkerFrame>;
}

function Logs({ path }: { path: ScriptPath }) {
  const [filters, setFilters] = useState(NO_FILTERS);
  const [isFiltering, filtering] = useDisclosure(false);
  const [search, setSearch] = useState("");
  /** The entries at the time of the pause; records that arrive meanwhile are kept. */
  const [paused, setPaused] = useState<readonly TailEntry[]>();
  const sentFilters = useMemo(() => requestOf(filters), [filters]);
  const { entries, state, clear } = useTail(path, sentFilters);
  const visible = paused ?? entries;
  const found = useMemo(() => {
    const text = search.trim().toLowerCase();
    return text === "" ? visible : visible.filter(({ record }) => recordText(record).includes(text));
  }, [visible, search]);
  const pending = paused === undefined ? 0 : entries.filter(({ key }) => key > (paused[0]?.key ?? -1)).length;

  function download() {
    const lines = found.toReversed().map(({ record }) => JSON.stringify(record));
    saveFile(`${lines.join("\n")}\n`, `${path.script_name}-logs.jsonl`);
  }

  return (
    <Stack gap="md">
      <div className="rp-toolbar">
        <TextInput
          aria-label="Search logs"
          placeholder="Search logs"
          type="search"
          size="xs"
          w={260}
          maw="100%"
          leftSection={<Icon name="search" size={14} />}
          value={search}
          onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <Button variant="default" leftSection={<Icon name="filter" size={14} />} onClick={filtering.open}>
          {sentFilters.length === 0 ? "Filter" : `Filter (${sentFilters.length})`}
        </Button>
        <Button
          variant="default"
          leftSection={<Icon name={paused === undefined ? "pause" : "play"} size={14} />}
          onClick={() => setPaused(paused === undefined ? entries : undefined)}
        >
          {paused === undefined ? "Pause" : pending === 0 ? "Resume" : `Resume (${formatNumber(pending)} new)`}
        </Button>
        <Button
          variant="default"
          leftSection={<Icon name="download" size={14} />}
          disabled={found.length === 0}
          onClick={download}
        >
          Download
        </Button>
        <Button
          variant="default"
          disabled={entries.length === 0}
          onClick={() => {
            clear();
            setPaused(undefined);
          }}
        >
          Clear
        </Button>
        <Group gap="xs" ml="auto">
          <TailStatus state={state} isPaused={paused !== undefined} />
        </Group>
      </div>
      {typeof state === "object" && <ErrorState error={state.error} title="Could not open the live logs" />}
      {found.length === 0 ? (
        <EmptyState
          icon="terminal"
          title={search === "" ? "Waiting for log entries" : `No log entries match “${search}”`}
        >
          Each invocation of the worker appears here with its log lines and exceptions.
        </EmptyState>
      ) : (
        <ol className="rp-workers-log" aria-label="Log entries">
          {found.slice(0, MAX_SHOWN).map(({ key, record }) => (
            <LogRecord key={key} record={record} />
          ))}
        </ol>
      )}
      {found.length > MAX_SHOWN && (
        <Text fz="sm" c="dimmed">
          Showing the newest {MAX_SHOWN} of {formatNumber(found.length)} log entries. Search or download to see the
          others.
        </Text>
      )}
      {isFiltering && <FilterForm filters={filters} onApply={setFilters} onClose={filtering.close} />}
    </Stack>
  );
}

function TailStatus({ state, isPaused }: { state: TailState; isPaused: boolean }) {
  if (typeof state === "object") return <StatusBadge tone="bad">Disconnected</StatusBadge>;
  if (state === "connecting") return <StatusBadge tone="info">Connecting</StatusBadge>;
  return isPaused ? <StatusBadge>Paused</StatusBadge> : <StatusBadge tone="good">Connected</StatusBadge>;
}
