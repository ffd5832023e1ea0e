import { collect, pagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { moment, printResult, table } from "../../print.ts";
import { storageOptions } from "../../shared-options.ts";
import type { Database } from "../../storage/d1-database.ts";
import { connectStorage } from "../../worker-of.ts";

export const d1List = defineCommand({
  name: "d1 list",
  summary: "list the D1 databases",
  options: storageOptions,
  examples: [["reelpost d1 list", "in the whole account"]],
  async run(values, _, surroundings) {
    const { api, base } = await connectStorage(values, surroundings);
    const databases = await collect(pagesOf<Database>(api, `${base}/d1/database`));
    printResult(surroundings, databases, (paint) =>
      table(
        ["id", "name", "created"],
        databases.map(({ uuid, name, created_at: made }) => [uuid, name, moment(made)]),
        paint,
      ),
    );
    return 0;
  },
});
