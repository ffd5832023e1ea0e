import { confirm } from "../../ask.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { yesOption } from "../../shared-options.ts";
import { namespaceOptions, connectNamespace } from "../../storage/kv-namespace.ts";

export const kvNamespaceDelete = defineCommand({
  name: "kv namespace delete",
  summary: "delete a KV namespace and all its keys",
  options: { ...yesOption, ...namespaceOptions },
  examples: [["reelpost kv namespace delete --binding NOTES", "selected by its binding in the configuration"]],
  async run({ yes, ...values }, _, surroundings) {
    const { api, base, id } = await connectNamespace(values, surroundings);
    await confirm(`Delete the KV namespace ${id} with all its keys?`, yes, surroundings);
    await api.result("DELETE", `${base}/storage/kv/namespaces${at`/${id}`}`, { timeoutMs: 300_000 });
    printResult(surroundings, { id, deleted: true }, () => [`${id} is deleted`]);
    return 0;
  },
});
