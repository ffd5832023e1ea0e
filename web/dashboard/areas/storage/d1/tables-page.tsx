import { Button, Group, NavLink, Pagination, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { CodeView } from "../../../shared/code-view.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { ErrorState } from "../../../shared/error-state.tsx";
import { formatNumber } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { saveFile } from "../../../shared/save-file.ts";
import { useAction } from "../../../shared/use-action.ts";
import { usePageState } from "../../../shared/use-list.ts";
import { storageKeys } from "../queries.ts";
import { DatabaseFrame } from "./database-frame.tsx";
import { ResultTable } from "./result-table.tsx";
import { csvOf, quoteName, runSql } from "./sql.ts";

interface DatabasePath {
  account_id: string;
  database_id: string;
}

/** Tables whose names SQLite and D1 reserve are left out. */
const LIST_TABLES = `SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')
  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' ORDER BY name`;
const ROWS_PER_PAGE = 50;
const MAX_EXPORTED_ROWS = 100_000;

export default function TablesPage() {
  return <DatabaseFrame tab="tables">{(path) => <Tables path={path} />}</DatabaseFrame>;
}

function Tables({ path }: { path: DatabasePath }) {
  const [{ table: chosen }, change] = usePageState({ table: "", page: 1 });
  const { data, error, refetch } = useQuery({
    queryKey: [...storageKeys.database(path.account_id, path.database_id), "tables"],
    queryFn: async () =>
      (await runSql(path, LIST_TABLES))[0]!.rows.map(([name, sql]) => ({ name: String(name), sql: String(sql) })),
  });
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <LoadingState />;
  const table = data.find(({ name }) => name === chosen) ?? data[0];
  if (table === undefined)
    return (
      <EmptyState icon="database" title="No tables yet">
        Apply the migrations of the worker, or create a table in the SQL console.
      </EmptyState>
    );
  return (
    <div className="rp-storage-d1">
      <ul className="rp-storage-tables" aria-label="Tables">
        {data.map(({ name }) => (
          <li key={name}>
            <NavLink
              component="button"
              label={name}
              active={name === table.name}
              {...(name === table.name && { "aria-current": "true" as const })}
              onClick={() => change({ table: name, page: 1 })}
            />
          </li>
        ))}
      </ul>
      <Rows key={table.name} path={path} table={table} />
    </div>
  );
}

function Rows({ path, table: { name, sql } }: { path: DatabasePath; table: { name: string; sql: string } }) {
  const [{ page }, change] = usePageState({ table: "", page: 1 });
  const queryKey = [...storageKeys.database(path.account_id, path.database_id), "rows", name];
  const { data: total } = useQuery({
    queryKey: [...queryKey, "count"],
    queryFn: async () => Number((await runSql(path, `SELECT count(*) FROM ${quoteName(name)}`))[0]!.rows[0]![0]),
  });
  const { data, error, refetch } = useQuery({
    queryKey: [...queryKey, page],
    queryFn: async () =>
      (
        await runSql(path, `SELECT * FROM ${quoteName(name)} LIMIT ? OFFSET ?`, [
          ROWS_PER_PAGE,
          (page - 1) * ROWS_PER_PAGE,
        ])
      )[0]!,
    placeholderData: keepPreviousData,
  });
  const exportCsv = useAction(
    async () => {
      const [result] = await runSql(path, `SELECT * FROM ${quoteName(name)} LIMIT ?`, [MAX_EXPORTED_ROWS]);
      saveFile(csvOf(result!), `${name}.csv`);
    },
    { failed: "Could not export the table" },
  );

  return (
    <div>
      <Group justify="space-between" mb="xs">
        <Text fz="sm" c="dimmed">
          {total === undefined ? name : `${name}: ${formatNumber(total)} ${total === 1 ? "row" : "rows"}`}
        </Text>
        <Button
          variant="default"
          leftSection={<Icon name="download" size={14} />}
          loading={exportCsv.isPending}
          onClick={() => exportCsv.mutate()}
        >
          Export CSV
        </Button>
      </Group>
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && <LoadingState />}
      {data !== undefined && <ResultTable label={`Rows of ${name}`} result={data} />}
      {total !== undefined && total > ROWS_PER_PAGE && (
        <Pagination
          mt="sm"
          size="sm"
          total={Math.ceil(total / ROWS_PER_PAGE)}
          value={page}
          onChange={(next) => change({ page: next })}
          getControlProps={(control) => ({ "aria-label": `${control} page` })}
        />
      )}
      <details className="rp-storage-schema">
        <summary>Schema</summary>
        <CodeView label="Schema" text={sql} />
      </details>
    </div>
  );
}
