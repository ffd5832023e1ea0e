import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { connectNamespace, namespaceOptions } from "../../storage/kv-namespace.ts";

export const kvKeyDelete = defineCommand({
  name: "kv key delete",
  summary: "delete a key",
  arguments: [{ name: "key", summary: "name of the key", required: true }],
  options: namespaceOptions,
  examples: [["reelpost kv key delete greeting --binding NOTES", "one key"]],
  async run(values, [key], surroundings) {
    const { api, namespace, id } = await connectNamespace(values, surroundings);
    await api.result("DELETE", `${namespace}/values${at`/${key!}`}`);
    printResult(surroundings, { namespace_id: id, key, deleted: true }, () => [`${key} is deleted`]);
    return 0;
  },
});
