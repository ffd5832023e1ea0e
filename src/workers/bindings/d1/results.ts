export type ResultsFormat = "ROWS_AND_COLUMNS" | "ARRAY_OF_OBJECTS" | "NONE";

type Cell = null | number | bigint | string | Uint8Array;

/**
 * Writes rows as JSON while they are read, so that a result over the budget (in characters) stops the query instead of
 * filling the memory; returns undefined then. ROWS_AND_COLUMNS keeps columns of the same name apart; in objects the
 * last one wins. NONE gives the same result as ARRAY_OF_OBJECTS, as D1 does for run().
 */
export function resultsToJson(
  rows: Iterable<unknown>,
  columnNames: () => string[],
  format: ResultsFormat,
  budget: number,
): { json: string; rows: number } | undefined {
  const texts: string[] = [];
  let names: string[] | undefined;
  let length = 0;
  for (const row of rows as Iterable<Cell[]>) {
    for (let i = 0; i < row.length; i++) row[i] = toJson(row[i]!) as Cell;
    let text: string;
    if (format === "ROWS_AND_COLUMNS") text = JSON.stringify(row);
    else {
      // Read only after the first step: that is when SQLite recompiles a statement whose tables have changed.
      names ??= columnNames();
      text = JSON.stringify(Object.fromEntries(names.map((name, i) => [name, row[i]])));
    }
    length += text.length + 1;
    if (length > budget) return undefined;
    texts.push(text);
  }
  const list = `[${texts.join(",")}]`;
  return {
    json: format === "ROWS_AND_COLUMNS" ? `{"columns":${JSON.stringify(names ?? columnNames())},"rows":${list}}` : list,
    rows: texts.length,
  };
}

/** Integers beyond 2^53 lose precision, as everywhere in D1; bytes become an array of numbers. */
function toJson(cell: Cell): unknown {
  if (typeof cell === "bigint") return Number(cell);
  return cell instanceof Uint8Array ? Array.from(cell) : cell;
}
