import { formatSize, oneLine, formatMs } from "../../kernel/text.ts";
import { connectionErrors } from "../api/errors.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand, type CommandContext } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { fileBody } from "../input.ts";
import { printResult, formatUtcTime, table, nameValueLines, plural } from "../print.ts";
import { saveBody } from "../save.ts";
import { configOptions, localOptions, storageOptions, yesOption } from "../shared-options.ts";
import { type ApiDatabase, connectDatabase, databaseArgument, type D1Connection } from "../storage/d1-database.ts";
import { importFile, pollToEnd, type JobStatus } from "../storage/d1-import.ts";
import { runSql, type QueryResult } from "../storage/d1-query.ts";
import {
  createMigrationFile,
  migrationSettingsOf,
  findUnappliedMigrations,
  applyMigration,
} from "../storage/migrations.ts";
import { connectStorage } from "../worker-of.ts";
import { resolve, join, relative } from "node:path";
import type { Paint } from "../../kernel/paint.ts";

const d1Create = defineCommand({
  name: "d1 create",
  summary: "create a D1 database",
  arguments: [{ name: "name", summary: "name of the database", required: true }],
  options: storageOptions,
  examples: [["reelpost d1 create letters", "prints the entry for the configuration"]],
  async run(values, [name], context) {
    const { api, base } = await connectStorage(values, context);
    const database = await api.result<ApiDatabase>("POST", `${base}/d1/database`, { json: { name } });
    printResult(context, database, () => [
      `Created the D1 database ${database.name}. In the configuration:`,
      `  "d1_databases": [{ "binding": "DB", "database_name": "${database.name}", "database_id": "${database.uuid}" }]`,
    ]);
    return 0;
  },
});

const d1List = defineCommand({
  name: "d1 list",
  summary: "list the D1 databases",
  options: storageOptions,
  examples: [["reelpost d1 list", "in the whole account"]],
  async run(values, _, context) {
    const { api, base } = await connectStorage(values, context);
    const databases = await collectItems(pagesOf<ApiDatabase>(api, `${base}/d1/database`));
    printResult(context, databases, (paint) =>
      table(
        ["id", "name", "created"],
        databases.map(({ uuid, name, created_at: createdAt }) => [uuid, name, formatUtcTime(createdAt)]),
        paint,
      ),
    );
    return 0;
  },
});

const d1Info = defineCommand({
  name: "d1 info",
  summary: "show a database: id, size and tables",
  arguments: [databaseArgument],
  options: storageOptions,
  examples: [["reelpost d1 info letters", "selected by name"]],
  async run(values, [name], context) {
    const { api, database } = await connectDatabase(name!, values, context);
    const databaseInfo = await api.result<ApiDatabase>("GET", database);
    printResult(context, databaseInfo, (paint) =>
      nameValueLines(
        [
          ["name", oneLine(databaseInfo.name)],
          ["id", databaseInfo.uuid],
          ["created", formatUtcTime(databaseInfo.created_at)],
          ["size", databaseInfo.file_size === undefined ? undefined : formatSize(databaseInfo.file_size)],
          ["tables", databaseInfo.num_tables === undefined ? undefined : String(databaseInfo.num_tables)],
        ],
        paint,
      ),
    );
    return 0;
  },
});

const d1Delete = defineCommand({
  name: "d1 delete",
  summary: "delete a database and all its data",
  arguments: [databaseArgument],
  options: { ...yesOption, ...storageOptions },
  examples: [["reelpost d1 delete letters --yes", "in a script"]],
  async run({ yes, ...values }, [name], context) {
    const { api, database, id } = await connectDatabase(name!, values, context);
    await confirm(`Delete the D1 database ${name} (${id}) with all its data?`, yes, context);
    await api.result("DELETE", database);
    printResult(context, { id, deleted: true }, () => [`Deleted ${name}`]);
    return 0;
  },
});

/** Maximum rows of one result in human-readable output. */
const SHOWN_ROWS = 1000;

const d1Execute = defineCommand({
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
    ...localOptions,
  },
  examples: [
    ["reelpost d1 execute letters --command 'SELECT count(*) FROM mail'", "prints the rows"],
    ["reelpost d1 execute letters --file dump.sql --yes", "imports a file"],
  ],
  async run({ command, file, yes, ...values }, [name], context) {
    if ((command === undefined) === (file === undefined))
      throw commandErrors.badContent({
        what: "What to run",
        reason: "exactly one of --command and --file is required",
        fix: "For example --command 'SELECT 1'",
      });
    const connection = await connectDatabase(name!, values, context);
    if (file !== undefined) return executeFile(connection, file, yes, context);
    const results = await runSql(connection, command!);
    printResult(context, results, (paint) => results.flatMap((result) => resultLines(result, paint)));
    return 0;
  },
});

async function executeFile(
  connection: D1Connection,
  file: string,
  yes: boolean | undefined,
  context: CommandContext,
): Promise<number> {
  const { progress, name } = connection;
  const { size, body } = await fileBody(context.cwd, file, (total) => progress.meter(`uploading ${file}`, total));
  await confirm(`Run ${file} on ${name}? Other queries wait until the import ends.`, yes, context);
  try {
    const result = await importFile(connection, { path: resolve(context.cwd, file), size, body });
    progress.clear();
    printResult(context, { database: connection.id, ...result }, () => [
      `${file}: ${result.num_queries === undefined ? "done" : `${plural(result.num_queries, "statement")} executed`}`,
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
    ...(results.length > SHOWN_ROWS ? [`… ${results.length - SHOWN_ROWS} more; use --json to show all`] : []),
    end,
  ];
}

const cell = (value: unknown): string =>
  value === null ? "NULL" : typeof value === "object" ? JSON.stringify(value) : String(value);

const d1Export = defineCommand({
  name: "d1 export",
  summary: "export a database as SQL",
  arguments: [databaseArgument],
  options: {
    output: {
      type: "string",
      short: "o",
      placeholder: "file",
      summary: "output file",
      defaultText: "standard output",
      complete: "file",
    },
    table: { type: "string", placeholder: "name", multiple: true, summary: "export only these tables" },
    "no-schema": { type: "boolean", summary: "export only the rows" },
    "no-data": { type: "boolean", summary: "export only the schema" },
    ...storageOptions,
    ...localOptions,
  },
  examples: [["reelpost d1 export letters --output letters.sql", "a file for `d1 execute --file`"]],
  async run(
    { output, table: tables, "no-schema": noSchema = false, "no-data": noData = false, ...values },
    [name],
    context,
  ) {
    const { api, database, progress, id } = await connectDatabase(name!, values, context);
    const pollExport = (bookmark?: string) =>
      api.result<JobStatus>("POST", `${database}/export`, {
        json: {
          output_format: "polling",
          dump_options: { no_schema: noSchema, no_data: noData, ...(tables.length > 0 && { tables }) },
          ...(bookmark !== undefined && { current_bookmark: bookmark }),
        },
        timeoutMs: 300_000,
      });
    progress.step(`exporting ${name}`);
    const { result } = await pollToEnd(await pollExport(), pollExport, (text) => progress.step(text));
    if (result?.signed_url === undefined)
      throw commandErrors.databaseWorkFailed({ reason: "the response contains no file URL" });
    // The URL itself is the credential.
    const url = new URL(result.signed_url, api.url);
    const response = await fetch(url).catch((cause: unknown) => {
      throw connectionErrors.unreachable(
        { url: url.origin, origin: url.origin, reason: String((cause as Error).cause ?? cause) },
        { cause },
      );
    });
    if (!response.ok)
      throw commandErrors.databaseWorkFailed({ reason: `the download failed with status ${response.status}` });
    const size = await saveBody(
      response,
      output,
      context,
      progress.meter(`downloading ${name}`, Number(response.headers.get("content-length") ?? 0)),
    );
    progress.clear();
    if (output !== undefined)
      printResult(context, { database: id, file: output, size }, () => [`Wrote ${output} (${formatSize(size)})`]);
    return 0;
  },
});

const d1MigrationsCreate = defineCommand({
  name: "d1 migrations create",
  summary: "create an empty migration with the next number",
  arguments: [
    { name: "database", summary: "database name or binding in the configuration", required: true },
    { name: "message", summary: "description of the migration", required: true },
  ],
  options: configOptions,
  examples: [["reelpost d1 migrations create DB 'add users'", "migrations/0001_add_users.sql"]],
  async run({ config, env }, [name, message], context) {
    const { readProjectTarget } = await import("../../workers/project/index.ts");
    const target = await readProjectTarget({
      cwd: context.cwd,
      ...(config !== undefined && { config }),
      ...(env !== undefined && { environment: env }),
    });
    const configured = target?.d1Databases.find((database) =>
      [database.binding, database.name, database.id].includes(name),
    );
    if (configured === undefined) throw commandErrors.databaseUnbound({ name });
    const file = relative(
      context.cwd,
      join(configured.migrationsDir, await createMigrationFile(configured.migrationsDir, message!)),
    );
    printResult(context, { file }, () => [`Created ${file}`]);
    return 0;
  },
});

const d1MigrationsList = defineCommand({
  name: "d1 migrations list",
  summary: "list pending migrations",
  arguments: [databaseArgument],
  options: { ...storageOptions, ...localOptions },
  examples: [["reelpost d1 migrations list DB", "selected by binding"]],
  async run(values, [name], context) {
    const connection = await connectDatabase(name!, values, context);
    const files = await findUnappliedMigrations(connection, migrationSettingsOf(connection));
    printResult(context, files, () => (files.length === 0 ? [`${name} has no pending migrations`] : files));
    return 0;
  },
});

const d1MigrationsApply = defineCommand({
  name: "d1 migrations apply",
  summary: "apply pending migrations",
  description:
    "Migrations run in numerical order. The command stops at the first failure; earlier migrations stay applied.",
  arguments: [databaseArgument],
  options: { ...yesOption, ...storageOptions, ...localOptions },
  examples: [["reelpost d1 migrations apply DB --yes", "in a CI job, before the deploy"]],
  async run({ yes, ...values }, [name], context) {
    const connection = await connectDatabase(name!, values, context);
    const migrationSettings = migrationSettingsOf(connection);
    const files = await findUnappliedMigrations(connection, migrationSettings);
    if (files.length > 0)
      await confirm(`Apply ${plural(files.length, "migration")} to ${name}: ${files.join(", ")}?`, yes, context);
    for (const [appliedCount, file] of files.entries()) {
      connection.progress.step(`${file} (${appliedCount + 1} of ${files.length})`);
      await applyMigration(connection, migrationSettings, file).catch((cause: unknown) => {
        connection.progress.clear();
        throw commandErrors.migrationFailed(
          { file, reason: cause instanceof Error ? cause.message : String(cause), done: appliedCount },
          { cause },
        );
      });
    }
    connection.progress.clear();
    printResult(context, { database: connection.id, applied: files }, () =>
      files.length === 0 ? [`${name} has no pending migrations`] : files.map((file) => `Applied ${file}`),
    );
    return 0;
  },
});

export const d1Commands: readonly Command[] = [
  d1Create,
  d1List,
  d1Info,
  d1Delete,
  d1Execute,
  d1Export,
  d1MigrationsCreate,
  d1MigrationsList,
  d1MigrationsApply,
];
