import { SimpleGrid, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { formatNumber } from "../../shared/format.tsx";

/** A numeric column, aligned to the end. */
export const countColumn = <Row,>(
  id: string,
  header: string,
  read: (row: Row) => number,
  wideOnly = false,
): Column<Row> => ({
  id,
  header,
  width: 110,
  align: "end",
  wideOnly,
  render: (row) => formatNumber(read(row)),
});

/** The organization that sent a report, with the domain of its sender. */
export const reporterColumn = <Row extends { org_name: string; sender: string }>(header: string): Column<Row> => ({
  id: "reporter",
  header,
  render: ({ org_name: name, sender }) => (
    <>
      {name}{" "}
      <Text span fz="xs" c="dimmed">
        {sender}
      </Text>
    </>
  ),
});

/** "98 %": a share of a total; empty without a total. */
export const share = (part: number, total: number): string =>
  total === 0 ? "" : `${((100 * part) / total).toFixed(part === total || part === 0 ? 0 : 1)} %`;

/** Figures in one row: a number with its name. */
export function Figures({ items }: { items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <SimpleGrid cols={{ base: 2, sm: items.length }} spacing="md">
      {items.map(([name, value]) => (
        <div key={name}>
          <Text fz="xs" c="dimmed">
            {name}
          </Text>
          <Text fz="lg" fw={600}>
            {value}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  );
}

/** A table with a heading of its own within a section. Shows nothing without rows. */
export function ReportTable<Row>({
  title,
  rows,
  rowKey,
  columns,
}: {
  title: string;
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  columns: readonly Column<Row>[];
}) {
  if (rows.length === 0) return null;
  return (
    <div>
      <Title order={3} fz="sm" mb={6}>
        {title}
      </Title>
      <DataTable
        label={title}
        columns={columns}
        list={{ items: [...rows], isLoading: false, error: null }}
        rowKey={rowKey}
        empty={null}
      />
    </div>
  );
}
