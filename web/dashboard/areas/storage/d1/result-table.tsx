import { Table, Text } from "@mantine/core";
import { textOfValue, type SqlResult } from "./sql.ts";

/** Maximum number of rows shown; the CSV export has all of them. */
const MAX_ROWS = 500;

/** The rows of a statement. */
export function ResultTable({ label, result: { columns, rows } }: { label: string; result: SqlResult }) {
  return (
    <>
      <div className="rp-table-scroll" role="region" aria-label={label} tabIndex={0} style={{ overflowX: "auto" }}>
        <Table aria-label={label} striped withTableBorder verticalSpacing={4} fz="sm">
          <Table.Thead>
            <Table.Tr>
              {columns.map((column, index) => (
                <Table.Th key={index}>{column}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.slice(0, MAX_ROWS).map((row, index) => (
              <Table.Tr key={index}>
                {row.map((value, column) => (
                  <Table.Td key={column}>
                    <span
                      className={`rp-storage-cell rp-mono${value === null ? " rp-dimmed" : ""}`}
                      title={textOfValue(value)}
                    >
                      {textOfValue(value)}
                    </span>
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      {rows.length > MAX_ROWS && (
        <Text fz="sm" c="dimmed" mt="xs">
          The first {MAX_ROWS} of {rows.length} rows are shown. Export them to get all.
        </Text>
      )}
    </>
  );
}
