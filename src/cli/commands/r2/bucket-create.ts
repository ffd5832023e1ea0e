import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectStorage } from "../../worker-of.ts";

interface Bucket {
  name: string;
  creation_date?: string;
}

const nameArgument = { name: "name", summary: "name of the bucket", required: true } as const;

export const r2BucketCreate = defineCommand({
  name: "r2 bucket create",
  summary: "create an R2 bucket",
  arguments: [nameArgument],
  options: storageOptions,
  examples: [["reelpost r2 bucket create files", "a name of lowercase letters, digits and hyphens"]],
  async run(values, [name], surroundings) {
    const { api, base } = await connectStorage(values, surroundings);
    const bucket = await api.result<Bucket>("POST", `${base}/r2/buckets`, { json: { name } });
    printResult(surroundings, bucket, () => [
      `Created the R2 bucket ${bucket.name}. In the configuration:`,
      `  "r2_buckets": [{ "binding": "${bucket.name
        .toUpperCase()
        .replaceAll("-", "_")
        .replace(/^(?=\d)/, "_")}", "bucket_name": "${bucket.name}" }]`,
    ]);
    return 0;
  },
});
