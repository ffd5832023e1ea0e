import { at, objectPath } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { objectArgument, splitObject } from "../../storage/object-path.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectStorage } from "../../worker-of.ts";

export const r2ObjectDelete = defineCommand({
  name: "r2 object delete",
  summary: "delete an object",
  arguments: [objectArgument],
  options: storageOptions,
  examples: [["reelpost r2 object delete files/reports/2026.pdf", "one object"]],
  async run(values, [path], surroundings) {
    const { bucket, key } = splitObject(path!);
    const { api, base } = await connectStorage(values, surroundings);
    await api.result("DELETE", `${base}/r2/buckets${at`/${bucket}`}/objects/${objectPath(key)}`);
    printResult(surroundings, { bucket, key, deleted: true }, () => [`${path} is deleted`]);
    return 0;
  },
});
