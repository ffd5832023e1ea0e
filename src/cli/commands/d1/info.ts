import { formatSize, oneLine } from "../../../kernel/text.ts";
import { defineCommand } from "../../command.ts";
import { facts, moment, printResult } from "../../print.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectDatabase, databaseArgument, type Database } from "../../storage/d1-database.ts";

export const d1Info = defineCommand({
  name: "d1 info",
  summary: "show a database: id, size and tables",
  arguments: [databaseArgument],
  options: storageOptions,
  examples: [["reelpost d1 info letters", "selected by name"]],
  async run(values, [name], surroundings) {
    const { api, database } = await connectDatabase(name!, values, surroundings);
    const found = await api.result<Database>("GET", database);
    printResult(surroundings, found, (paint) =>
      facts(
        [
          ["name", oneLine(found.name)],
          ["id", found.uuid],
          ["created", moment(found.created_at)],
          ["size", found.file_size === undefined ? undefined : formatSize(found.file_size)],
          ["tables", found.num_tables === undefined ? undefined : String(found.num_tables)],
        ],
        paint,
      ),
    );
    return 0;
  },
});
