import { resolve } from "node:path";
import { formatMs } from "../../../kernel/text.ts";
import { confirm } from "../../ask.ts";
import { type Surroundings, defineCommand } from "../../command.ts";
import { commandErrors } from "../../errors.ts";
import { fileBody } from "../../input.ts";
import { plural, printResult, table, type Paint } from "../../print.ts";
import { storageOptions, yesOption } from "../../shared-options.ts";
import { connectDatabase, databaseArgument, type D1Connection } from "../../storage/d1-database.ts";
import { importFile } from "../../storage/d1-import.ts";
import { runSql, type QueryResult } from "../../storage/d1-query.ts";

/** Rows of one result that are shown to people. */
const SHOWN_ROWS = 1000;

export const d1Execute = defineCommand({
  name: "d1 execute",
  summary: "run SQL on a database",
  description:
    "The server imports a file as a whole: it may be large, and it counts as one change. Other queries wait until the import ends.",
  arguments: [databaseArgument],
  options: {
    command: { type: "string", placeholder: "sql", summary: "SQL statements to run" },
    file: { type: "string", short: "f", placeholder: "file", summary: "file with SQL statements", complete: "file" },
    ...yesOption,
    ...storageOptions,
  },
  examples: [
    ["reelpost d1 execute letters --command 'SELECT count(*) FROM mail'", "prints the rows"],
    ["reelpost d1 execute letters --file dump.sql --yes", "imports a file"],
  ],
  async run({ command, file, yes, ...values }, [name], surroundings) {
    if ((command === undefined) === (file === undefined))
      throw commandErrors.badContent({
        what: "What to run",
        reason: "exactly one of --command and --file is required",
        fix: "For example --command 'SELECT 1'",
      });
    const connection = await connectDatabase(name!, values, surroundings);
    if (file !== undefined) return executeFile(connection, file, yes, surroundings);
    const results = await runSql(connection, command!);
    printResult(surroundings, results, (paint) => results.flatMap((result) => resultLines(result, paint)));
    return 0;
  },
});

async function executeFile(
  connection: D1Connection,
  file: string,
  yes: boolean | undefined,
  surroundings: Surroundings,
): Promise<number> {
  const { progress, name } = connection;
  const { size, body } = await fileBody(surroundings.cwd, file, (total) => progress.meter(`uploading ${file}`, total));
  await confirm(`Run ${file} on ${name}? Other queries wait until the import ends.`, yes, surroundings);
  try {
    const result = await importFile(connection, { path: resolve(surroundings.cwd, file), size, body });
    progress.clear();
    printResult(surroundings, { database: connection.id, ...result }, () => [
      `${file}: ${result.num_queries === undefined ? "done" : `${plural(result.num_queries, "statement")} run`}`,
    ]);
    return 0;
  } finally {
    progress.clear();
  }
}

function resultLines({ results, meta }: QueryResult, paint: Paint): string[] {
  const notes = [
    meta?.changes ? `${plural(meta.changes, "row")} changed` : undefined,
    meta?.duration === undefined ? undefined : formatMs(meta.duration),
  ].filter((note) => note !== undefined);
  const end = paint("dim", [plural(results.length, "row"), ...notes].join(", "));
  if (results.length === 0) return [end];
  const titles = Object.keys(results[0]!);
  const rows = results.slice(0, SHOWN_ROWS).map((row) => titles.map((title) => cell(row[title])));
  return [
    ...table(titles, rows, paint),
    ...(results.length > SHOWN_ROWS ? [`… ${results.length - SHOWN_ROWS} more; --json has all of them`] : []),
    end,
  ];
}

const cell = (value: unknown): string =>
  value === null ? "NULL" : typeof value === "object" ? JSON.stringify(value) : String(value);
