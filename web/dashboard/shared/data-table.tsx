import { Checkbox, Group, Skeleton, Table, Text, UnstyledButton } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorState } from "./error-state.tsx";
import { formatNumber } from "./format.tsx";
import { Icon } from "./icon.tsx";
import { PageButtons } from "./page-buttons.tsx";
import type { PagedList } from "./use-list.ts";

export interface Column<Row> {
  /** Unique; also the value of `order` if the column can be sorted. */
  id: string;
  /** Shown in the table header. Use `label` for a column without a visible header, such as actions. */
  header?: string;
  label?: string;
  render: (row: Row) => ReactNode;
  sortable?: boolean;
  align?: "start" | "end";
  /** CSS width. */
  width?: string | number;
  /** Hidden below 48em; use it for details that a narrow screen can do without. */
  wideOnly?: boolean;
}

interface Sort {
  order: string;
  direction: "asc" | "desc";
}

interface DataTableProps<Row> {
  /** Names the table for screen readers: "DNS records". */
  label: string;
  columns: readonly Column<Row>[];
  list: Pick<PagedList<Row>, "items" | "isLoading" | "error"> & Partial<PagedList<Row>>;
  rowKey: (row: Row) => string;
  /** Path of the row's page; the whole row opens it. The first column should contain a link for keyboard users. */
  rowHref?: (row: Row) => string;
  onRowClick?: (row: Row) => void;
  /** Shown if the list is empty. */
  empty: ReactNode;
  onPage?: (page: number) => void;
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  /** Keys of the selected rows; absent: rows cannot be selected. */
  selected?: ReadonlySet<string>;
  onSelect?: (selected: Set<string>) => void;
  /** Name of a row for the label of its checkbox. */
  rowName?: (row: Row) => string;
  /** Shown above the table while rows are selected. */
  bulkActions?: ReactNode;
}

/** A table whose pages come from the server, with its loading, empty and error states. Below 40em rows become cards. */
export function DataTable<Row>({
  label,
  columns,
  list,
  rowKey,
  rowHref,
  onRowClick,
  empty,
  onPage,
  sort,
  onSort,
  selected,
  onSelect,
  rowName = rowKey,
  bulkActions,
}: DataTableProps<Row>) {
  const navigate = useNavigate();
  const { items, isLoading, error, isStale = false, reload } = list;
  if (error !== null && error !== undefined && items.length === 0)
    return <ErrorState error={error} {...(reload !== undefined && { onRetry: reload })} />;
  if (!isLoading && items.length === 0 && (list.page ?? 1) === 1) return <>{empty}</>;

  const isClickable = rowHref !== undefined || onRowClick !== undefined;
  const allSelected = selected !== undefined && items.length > 0 && items.every((row) => selected.has(rowKey(row)));
  const toggle = (keys: string[], on: boolean) => {
    const changed = new Set(selected);
    for (const key of keys)
      if (on) changed.add(key);
      else changed.delete(key);
    onSelect?.(changed);
  };

  return (
    <div className="rp-table-frame">
      {selected !== undefined && selected.size > 0 && (
        <Group gap="xs" className="rp-bulk" role="toolbar" aria-label="Actions for the selected rows">
          <Text fz="sm" fw={500}>
            {formatNumber(selected.size)} selected
          </Text>
          {bulkActions}
        </Group>
      )}
      {error !== null && error !== undefined && <ErrorState error={error} />}
      <div className="rp-table-scroll" data-stale={isStale} aria-busy={isLoading || isStale}>
        <Table className="rp-table" aria-label={label} highlightOnHover={isClickable}>
          <Table.Thead>
            <Table.Tr>
              {selected !== undefined && (
                <Table.Th w={36} className="rp-select">
                  <Checkbox
                    size="xs"
                    aria-label="Select all rows on this page"
                    checked={allSelected}
                    indeterminate={!allSelected && items.some((row) => selected.has(rowKey(row)))}
                    onChange={({ currentTarget }) => toggle(items.map(rowKey), currentTarget.checked)}
                  />
                </Table.Th>
              )}
              {columns.map((column) => (
                <HeadCell key={column.id} column={column} sort={sort} onSort={onSort} />
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {isLoading
              ? Array.from({ length: 5 }, (_, row) => (
                  <Table.Tr key={row}>
                    {selected !== undefined && <Table.Td className="rp-select" />}
                    {columns.map(({ id, wideOnly }) => (
                      <Table.Td key={id} data-wide={wideOnly}>
                        <Skeleton height={12} width={row % 2 === 0 ? "70%" : "50%"} radius="sm" />
                      </Table.Td>
                    ))}
                  </Table.Tr>
                ))
              : items.map((row) => (
                  <Table.Tr
                    key={rowKey(row)}
                    data-clickable={isClickable}
                    {...(selected?.has(rowKey(row)) === true && { "data-selected": true })}
                    onClick={(event) => {
                      if (!isClickable || isControl(event.target as Element)) return;
                      if (onRowClick !== undefined) onRowClick(row);
                      else if (event.metaKey || event.ctrlKey) window.open(rowHref!(row), "_blank");
                      else void navigate({ to: rowHref!(row) });
                    }}
                  >
                    {selected !== undefined && (
                      <Table.Td className="rp-select">
                        <Checkbox
                          size="xs"
                          aria-label={`Select ${rowName(row)}`}
                          checked={selected.has(rowKey(row))}
                          onChange={({ currentTarget }) => toggle([rowKey(row)], currentTarget.checked)}
                        />
                      </Table.Td>
                    )}
                    {columns.map(({ id, header, align, wideOnly, render }) => (
                      <Table.Td key={id} ta={align} data-label={header} data-wide={wideOnly}>
                        {render(row)}
                      </Table.Td>
                    ))}
                  </Table.Tr>
                ))}
          </Table.Tbody>
        </Table>
      </div>
      {onPage !== undefined && <Pager list={list} onPage={onPage} />}
    </div>
  );
}

/** Clicks on controls within a row are not clicks on the row. */
const isControl = (target: Element) =>
  target.closest("a, button, input, label, select, textarea, [role=menu]") !== null;

function HeadCell<Row>({
  column: { id, header, label, sortable = false, align, width, wideOnly },
  sort,
  onSort,
}: {
  column: Column<Row>;
  sort: Sort | undefined;
  onSort: ((sort: Sort) => void) | undefined;
}) {
  const isSorted = sort?.order === id;
  const direction = isSorted ? (sort.direction === "asc" ? "ascending" : "descending") : "none";
  return (
    <Table.Th
      ta={align}
      w={width}
      data-wide={wideOnly}
      scope="col"
      {...(sortable && { "aria-sort": direction as "ascending" })}
    >
      {sortable && onSort !== undefined ? (
        <UnstyledButton
          className="rp-sort"
          onClick={() => onSort({ order: id, direction: isSorted && sort.direction === "asc" ? "desc" : "asc" })}
        >
          {header}
          {isSorted && <Icon name={sort.direction === "asc" ? "arrow-up" : "arrow-down"} size={12} />}
        </UnstyledButton>
      ) : (
        (header ?? <span className="rp-visually-hidden">{label ?? id}</span>)
      )}
    </Table.Th>
  );
}

function Pager<Row>({ list, onPage }: { list: Partial<PagedList<Row>>; onPage: (page: number) => void }) {
  const { items = [], total, page = 1, perPage = items.length } = list;
  const first = (page - 1) * perPage + 1;
  const last = first + items.length - 1;
  const hasNext = total === undefined ? items.length === perPage : last < total;
  if (page === 1 && !hasNext) return null;
  const range = items.length === 0 ? "No rows" : `${formatNumber(first)}–${formatNumber(last)}`;
  return (
    <Group justify="space-between" gap="xs" className="rp-pager">
      <Text fz="xs" c="dimmed">
        {range}
        {total !== undefined && ` of ${formatNumber(total)}`}
      </Text>
      <PageButtons page={page} hasNext={hasNext} onPage={onPage} />
    </Group>
  );
}
