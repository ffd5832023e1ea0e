import { confirm } from "../../ask.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { storageOptions, yesOption } from "../../shared-options.ts";
import { connectStorage } from "../../worker-of.ts";

const nameArgument = { name: "name", summary: "name of the bucket", required: true } as const;

export const r2BucketDelete = defineCommand({
  name: "r2 bucket delete",
  summary: "delete an empty R2 bucket",
  arguments: [nameArgument],
  options: { ...yesOption, ...storageOptions },
  examples: [["reelpost r2 bucket delete files --yes", "in a script"]],
  async run({ yes, ...values }, [name], surroundings) {
    const { api, base } = await connectStorage(values, surroundings);
    await confirm(`Delete the R2 bucket ${name}?`, yes, surroundings);
    await api.result("DELETE", `${base}/r2/buckets${at`/${name!}`}`);
    printResult(surroundings, { name, deleted: true }, () => [`${name} is deleted`]);
    return 0;
  },
});
