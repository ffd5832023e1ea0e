import { utcDay } from "../../../kernel/index.ts";
/** Input and output format of a column's values. */
type ColumnType = "text" | "address" | "time" | "date" | "flag" | "number";

/** A field of a dataset, for output, filters, groups and order. `Column` is the domain's name for it. */
export interface DatasetColumn<Column extends string> {
  name: string;
  column: Column;
  /** The column used in filter comparisons, if it is a different one. */
  compared?: Column;
  type: ColumnType;
  /** Granularity of a timestamp, in milliseconds. */
  step?: number;
  /** Available only for single rows: cannot be used for grouping. */
  single?: true;
}

export const indexByName = <Column extends string>(
  columns: DatasetColumn<Column>[],
): ReadonlyMap<string, DatasetColumn<Column>> => new Map(columns.map((column) => [column.name, column]));

/** Returns the value in a response: missing texts become empty strings, as in the hosted service. */
export function renderedValue({ type }: Pick<DatasetColumn<string>, "type">, value: string | number | null): unknown {
  switch (type) {
    case "time":
      return new Date(value as number).toISOString().replace(".000Z", "Z");
    case "date":
      return utcDay(value as number);
    case "flag":
      return Number(value);
    case "number":
      return value;
    default:
      return value ?? "";
  }
}
