import { Button, Group, NavLink, Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { queryClient } from "../../../api/query-client.ts";
import { ErrorState } from "../../../shared/error-state.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { saveFile } from "../../../shared/save-file.ts";
import { countOf } from "../../../shared/text.ts";
import { useAction } from "../../../shared/use-action.ts";
import { storageKeys } from "../queries.ts";
import { DatabaseFrame } from "./database-frame.tsx";
import { ResultTable } from "./result-table.tsx";
import { csvOf, runSql, type SqlResult } from "./sql.ts";

const MAX_HISTORY = 50;
const MAX_REMEMBERED_CHARS = 10_000;

export default function ConsolePage() {
  return <DatabaseFrame tab="console">{(path, name) => <Console path={path} name={name} />}</DatabaseFrame>;
}

function Console({ path, name }: { path: { account_id: string; database_id: string }; name: string }) {
  const [history, remember] = useHistory(path.database_id);
  const [sql, setSql] = useState(history[0] ?? "");
  const run = useAction((text: string) => runSql(path, text), {
    silent: true,
    onDone: () => {
      void queryClient.invalidateQueries({ queryKey: storageKeys.database(path.account_id, path.database_id) });
    },
  });
  const start = () => {
    const text = sql.trim();
    if (text === "" || run.isPending) return;
    remember(text);
    run.mutate(text);
  };

  return (
    <Stack gap="sm">
      <Textarea
        label="SQL"
        description="Press Ctrl+Enter to run. Separate statements with semicolons."
        className="rp-storage-mono"
        placeholder="SELECT name FROM sqlite_master"
        autosize
        minRows={5}
        maxRows={18}
        spellCheck={false}
        value={sql}
        onChange={({ currentTarget }) => setSql(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          start();
        }}
      />
      <Group>
        <Button leftSection={<Icon name="play" size={14} />} loading={run.isPending} onClick={start}>
          Run
        </Button>
      </Group>
      <div aria-live="polite">
        {run.error !== null && <ErrorState error={run.error} />}
        {run.error === null &&
          run.data?.map((result, index) => <Result key={index} result={result} name={name} number={index + 1} />)}
      </div>
      {history.length > 0 && (
        <details>
          <summary>History</summary>
          <ul className="rp-storage-tables" aria-label="History">
            {history.map((entry) => (
              <li key={entry}>
                <NavLink
                  component="button"
                  label={<span className="rp-mono">{entry}</span>}
                  onClick={() => setSql(entry)}
                />
              </li>
            ))}
          </ul>
        </details>
      )}
    </Stack>
  );
}

function Result({ result, name, number }: { result: SqlResult; name: string; number: number }) {
  const { columns, rows, meta } = result;
  return (
    <section aria-label={`Result ${number}`} className="rp-section">
      <Group justify="space-between" mb="xs">
        <Text fz="sm" c="dimmed">
          {columns.length === 0 ? `${countOf(meta.changes ?? 0, "row")} changed` : countOf(rows.length, "row")}
          {meta.duration !== undefined && `, ${meta.duration.toFixed(1)} ms`}
        </Text>
        {columns.length > 0 && (
          <Button
            variant="default"
            leftSection={<Icon name="download" size={14} />}
            onClick={() => saveFile(csvOf(result), `${name}.csv`)}
          >
            Export CSV
          </Button>
        )}
      </Group>
      {columns.length > 0 && <ResultTable label={`Rows of result ${number}`} result={result} />}
    </section>
  );
}

/** The statements that ran last, newest first, kept in this browser. */
function useHistory(databaseId: string): [history: readonly string[], remember: (sql: string) => void] {
  const key = `reelpost.sql.${databaseId}`;
  const [history, setHistory] = useState<readonly string[]>(() => {
    try {
      return JSON.parse(localStorage.getItem(key) ?? "[]") as string[];
    } catch {
      return [];
    }
  });
  return [
    history,
    (sql) => {
      if (sql.length > MAX_REMEMBERED_CHARS) return;
      const next = [sql, ...history.filter((entry) => entry !== sql)].slice(0, MAX_HISTORY);
      setHistory(next);
      localStorage.setItem(key, JSON.stringify(next));
    },
  ];
}
