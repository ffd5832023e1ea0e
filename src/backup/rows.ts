import { crc32 } from "node:zlib";
import type { PortableValue, RowSnapshot } from "../store/index.ts";
import { linesOf } from "./files.ts";

/** Rows of one table: the first line is `{ table, columns }`; each further line is a row. */
interface RowFile {
  path: string;
  rows: number;
  lines: Buffer;
}

const MIN_BYTES = 1024 * 1024;
const MAX_BYTES = 8 * 1024 * 1024;
/** On average, one in this many rows may end a file. */
const CUT_EVERY = 256;

/**
 * Yields the rows of a database as files of a few megabytes. The contents of a row decide whether a file ends there, so
 * that a changed row changes one file, and the next backup shares the others.
 */
export async function* rowFiles(snapshot: RowSnapshot): AsyncGenerator<RowFile> {
  for (const table of snapshot.tables) {
    const head = `${JSON.stringify({ table: table.name, columns: table.columns })}\n`;
    let number = 0;
    let lines = [Buffer.from(head)];
    let size = head.length;
    const take = (): RowFile => {
      const file = {
        path: `rows/${table.name}/${String(++number).padStart(6, "0")}`,
        rows: lines.length - 1,
        lines: Buffer.concat(lines),
      };
      lines = [Buffer.from(head)];
      size = head.length;
      return file;
    };
    for await (const row of snapshot.rows(table)) {
      const line = Buffer.from(`${JSON.stringify(row)}\n`);
      lines.push(line);
      size += line.length;
      if (size >= MAX_BYTES || (size >= MIN_BYTES && crc32(line) % CUT_EVERY === 0)) yield take();
    }
    // An empty table has one file with its columns.
    if (lines.length > 1 || number === 0) yield take();
  }
}

/** Throws an Error that states the reason if the bytes are not a file of rows. */
export async function readRowFile(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ table: string; columns: string[]; rows: AsyncIterable<PortableValue[]> }> {
  const lines = linesOf(bytes);
  const { value, done } = await lines.next();
  if (done === true) throw new Error("it is empty");
  const { table, columns } = JSON.parse(value) as { table?: string; columns?: string[] };
  if (typeof table !== "string" || !Array.isArray(columns)) throw new Error("its first line does not name the table");
  return { table, columns, rows: parseRows(lines) };
}

async function* parseRows(lines: AsyncIterable<string>): AsyncGenerator<PortableValue[]> {
  for await (const line of lines) yield JSON.parse(line) as PortableValue[];
}

/** Returns the table of a path `rows/<table>/<n>`. */
export const tableOf = (path: string): string => path.split("/")[1]!;
