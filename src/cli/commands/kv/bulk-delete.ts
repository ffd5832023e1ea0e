import { defineCommand } from "../../command.ts";
import { readJson } from "../../input.ts";
import { plural, printResult } from "../../print.ts";
import { connectNamespace, namespaceOptions } from "../../storage/kv-namespace.ts";
import { MAX_LIST_FILE, listArgument, listIn } from "../../storage/json-list.ts";
import { batches } from "../../storage/batches.ts";
import { confirm } from "../../ask.ts";
import { yesOption } from "../../shared-options.ts";

export const kvBulkDelete = defineCommand({
  name: "kv bulk delete",
  summary: "delete the keys listed in a JSON file",
  description: 'The file contains a list of keys, or of objects with a "name" as printed by `kv key list --json`.',
  arguments: [listArgument],
  options: { ...yesOption, ...namespaceOptions },
  examples: [
    [
      "reelpost kv key list -b NOTES --prefix old/ --json | reelpost kv bulk delete - -b NOTES --yes",
      "all keys with the prefix old/",
    ],
  ],
  async run({ yes, ...values }, [file], surroundings) {
    const entries = listIn(
      await readJson(file!, surroundings, MAX_LIST_FILE),
      file!,
      (entry) => typeof nameOf(entry) === "string",
      "keys",
    );
    const { api, namespace, id, progress } = await connectNamespace(values, surroundings);
    await confirm(`Delete ${plural(entries.length, "key")} of the KV namespace ${id}?`, yes, surroundings);
    let deleted = 0;
    for (const batch of batches(entries.map(nameOf))) {
      progress.step(`deleting ${deleted} of ${entries.length}`);
      await api.result("POST", `${namespace}/bulk/delete`, { json: batch, timeoutMs: 300_000 });
      deleted += batch.length;
    }
    progress.clear();
    printResult(surroundings, { namespace_id: id, deleted }, () => [`${plural(deleted, "key")} deleted`]);
    return 0;
  },
});

const nameOf = (entry: unknown): unknown =>
  typeof entry === "object" && entry !== null
    ? ((entry as { name?: unknown; key?: unknown }).name ?? (entry as { key?: unknown }).key)
    : entry;
