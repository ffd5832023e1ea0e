import { collect, cursorPagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { moment, printResult, table } from "../../print.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectStorage } from "../../worker-of.ts";

interface Bucket {
  name: string;
  creation_date?: string;
}

export const r2BucketList = defineCommand({
  name: "r2 bucket list",
  summary: "list the R2 buckets",
  options: storageOptions,
  examples: [["reelpost r2 bucket list", "in the whole account"]],
  async run(values, _, surroundings) {
    const { api, base } = await connectStorage(values, surroundings);
    const buckets = await collect(
      cursorPagesOf<Bucket>(api, `${base}/r2/buckets`, { pick: (result) => (result as { buckets: Bucket[] }).buckets }),
    );
    printResult(surroundings, buckets, (paint) =>
      table(
        ["name", "created"],
        buckets.map(({ name, creation_date: made }) => [name, moment(made)]),
        paint,
      ),
    );
    return 0;
  },
});
