import { connectionErrors } from "../../api/errors.ts";
import { defineCommand } from "../../command.ts";
import { commandErrors } from "../../errors.ts";
import { formatSize } from "../../../kernel/text.ts";
import { printResult } from "../../print.ts";
import { saveBody } from "../../save.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectDatabase, databaseArgument } from "../../storage/d1-database.ts";
import { pollToEnd, type Polled } from "../../storage/d1-import.ts";

export const d1Export = defineCommand({
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
  },
  examples: [["reelpost d1 export letters --output letters.sql", "a file for `d1 execute --file`"]],
  async run(
    { output, table: tables, "no-schema": noSchema = false, "no-data": noData = false, ...values },
    [name],
    surroundings,
  ) {
    const { api, database, progress, id } = await connectDatabase(name!, values, surroundings);
    const ask = (bookmark?: string) =>
      api.result<Polled>("POST", `${database}/export`, {
        json: {
          output_format: "polling",
          dump_options: { no_schema: noSchema, no_data: noData, ...(tables.length > 0 && { tables }) },
          ...(bookmark !== undefined && { current_bookmark: bookmark }),
        },
        timeoutMs: 300_000,
      });
    progress.step(`exporting ${name}`);
    const { result } = await pollToEnd(await ask(), ask, (text) => progress.step(text));
    if (result?.signed_url === undefined)
      throw commandErrors.databaseWorkFailed({ reason: "the response contains no file URL" });
    // The address itself is the permission.
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
      surroundings,
      progress.meter(`reading ${name}`, Number(response.headers.get("content-length") ?? 0)),
    );
    progress.clear();
    if (output !== undefined)
      printResult(surroundings, { database: id, file: output, size }, () => [
        `${output} is written: ${formatSize(size)}`,
      ]);
    return 0;
  },
});
