import { createHash } from "node:crypto";
import type { V4Client } from "../port.ts";

/** The content of a database, reduced to what can be compared between two servers. */
export interface Fingerprint {
  schema: { type: string; name: string; sql: string }[];
  /** By table: the number of rows, and a digest of all values if they were read. */
  tables: Record<string, { rows: number; digest?: string }>;
}

interface RawResult {
  results: { columns: string[]; rows: unknown[][] };
}

const ROWS = 500;
const SCHEMA_SQL =
  "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND substr(name, 1, 7) <> 'sqlite_' AND lower(substr(name, 1, 4)) <> '_cf_' ORDER BY type, name";

/** Reads the schema, and all rows if `withRows` is set. `path`: the database. */
export async function fingerprint(api: V4Client, path: string, withRows: boolean): Promise<Fingerprint> {
  const rowsOf = async (sql: string, params: unknown[] = []): Promise<unknown[][]> => {
    const [answer] = await api.result<RawResult[]>("POST", `${path}/raw`, {
      json: { sql, params },
      timeoutMs: 300_000,
    });
    return answer?.results.rows ?? [];
  };
  const schema = (await rowsOf(SCHEMA_SQL)).map(([type, name, sql]) => ({
    type: String(type),
    name: String(name),
    sql: String(sql).replaceAll(/\s+/g, " ").trim(),
  }));
  const tables: Fingerprint["tables"] = {};
  for (const { type, name, sql } of schema) {
    if (type !== "table" || /^create virtual/i.test(sql)) continue;
    const [[count] = [0]] = await rowsOf(`SELECT count(*) FROM ${quoted(name)}`);
    tables[name] = { rows: Number(count), ...(withRows && { digest: await digestRows(rowsOf, name, sql) }) };
  }
  return { schema, tables };
}

/** Hashes all values as SQL literals, so that integers beyond 2^53 and blobs are compared exactly. */
async function digestRows(
  rowsOf: (sql: string, params?: unknown[]) => Promise<unknown[][]>,
  table: string,
  sql: string,
): Promise<string> {
  const columns = (await rowsOf(`PRAGMA table_info(${quoted(table)})`)).map(([, name]) => String(name));
  const values = columns.map((column) => `quote(${quoted(column)})`).join(", ");
  const hasRowId = !/without\s+rowid[^)]*$/i.test(sql);
  const hash = createHash("sha256");
  let after: unknown;
  for (let offset = 0; ; offset += ROWS) {
    const rows = hasRowId
      ? await rowsOf(
          `SELECT _rowid_, ${values} FROM ${quoted(table)} ${after === undefined ? "" : "WHERE _rowid_ > ?"} ORDER BY _rowid_ LIMIT ${ROWS}`,
          after === undefined ? [] : [after],
        )
      : await rowsOf(`SELECT 0, ${values} FROM ${quoted(table)} ORDER BY 2 LIMIT ${ROWS} OFFSET ${offset}`);
    for (const row of rows) hash.update(`${JSON.stringify(row.slice(1))}\n`);
    if (rows.length < ROWS) return hash.digest("hex").slice(0, 32);
    after = rows.at(-1)![0];
  }
}

/** Empties a database before an interrupted or repeated import. */
export function dropTablesSql({ schema }: Fingerprint): string {
  const kinds = ["trigger", "view", "table"];
  return [
    "PRAGMA defer_foreign_keys = on",
    ...kinds.flatMap((kind) =>
      schema.filter(({ type }) => type === kind).map(({ name }) => `DROP ${kind} IF EXISTS ${quoted(name)}`),
    ),
  ]
    .map((statement) => `${statement};`)
    .join("\n");
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
