/**
 * Parses CSV text (RFC 4180) separated by commas, semicolons or tabs. The first row contains the column names, which
 * are lowercased. Empty rows are omitted.
 */
export function readCsv(text: string): { line: number; fields: Record<string, string> }[] {
  const rows = rowsOf(text.replace(/^\uFEFF/, ""));
  const [head, ...rest] = rows;
  if (head === undefined) return [];
  const names = head.cells.map((name) => name.trim().toLowerCase());
  return rest.map(({ line, cells }) => ({
    line,
    fields: Object.fromEntries(names.map((name, i) => [name, (cells[i] ?? "").trim()])),
  }));
}

function rowsOf(text: string): { line: number; cells: string[] }[] {
  const firstLine = text.slice(0, text.indexOf("\n") === -1 ? undefined : text.indexOf("\n"));
  const separator = [",", ";", "\t"].toSorted((a, b) => firstLine.split(b).length - firstLine.split(a).length)[0]!;
  const rows: { line: number; cells: string[] }[] = [];
  let cells: string[] = [];
  let cell = "";
  let [isQuoted, line, startLine] = [false, 1, 1];
  const endRow = () => {
    cells.push(cell);
    if (cells.some((one) => one.trim() !== "")) rows.push({ line: startLine, cells });
    [cells, cell, startLine] = [[], "", line];
  };
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (character === "\n") line++;
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text[i + 1] === '"') cell += text[++i];
      else isQuoted = false;
    } else if (character === '"' && cell === "") isQuoted = true;
    else if (character === separator) {
      cells.push(cell);
      cell = "";
    } else if (character === "\n") endRow();
    else if (character !== "\r") cell += character;
  }
  endRow();
  return rows;
}
