import { defineCommand } from "../../command.ts";
import { readJson } from "../../input.ts";
import { plural, printResult } from "../../print.ts";
import { connectNamespace, namespaceOptions } from "../../storage/kv-namespace.ts";
import { MAX_LIST_FILE, listArgument, listIn } from "../../storage/json-list.ts";
import { batches } from "../../storage/batches.ts";

interface Done {
  successful_key_count?: number;
  unsuccessful_keys?: string[];
}

export const kvBulkPut = defineCommand({
  name: "kv bulk put",
  summary: "write many values from a JSON file",
  description:
    "The file contains a list of { key, value, expiration?, expiration_ttl?, metadata?, base64? }. Large files are split into several requests.",
  arguments: [listArgument],
  options: namespaceOptions,
  examples: [["reelpost kv bulk put entries.json --binding NOTES", '[{ "key": "a", "value": "1" }]']],
  async run(values, [file], surroundings) {
    const entries = listIn(
      await readJson(file!, surroundings, MAX_LIST_FILE),
      file!,
      (entry) =>
        typeof (entry as { key?: unknown } | null)?.key === "string" &&
        typeof (entry as { value?: unknown }).value === "string",
      "{ key, value } with texts",
    );
    const { api, namespace, id, progress } = await connectNamespace(values, surroundings);
    let written = 0;
    const failed: string[] = [];
    for (const batch of batches(entries)) {
      progress.step(`writing ${written} of ${entries.length}`);
      const done = await api.result<Done | null>("PUT", `${namespace}/bulk`, { json: batch, timeoutMs: 300_000 });
      written += done?.successful_key_count ?? batch.length;
      failed.push(...(done?.unsuccessful_keys ?? []));
    }
    progress.clear();
    printResult(surroundings, { namespace_id: id, written, failed }, () => [
      `${plural(written, "key")} written${failed.length === 0 ? "" : `, ${failed.length} not: ${failed.slice(0, 10).join(", ")}`}`,
    ]);
    return failed.length === 0 ? 0 : 1;
  },
});
