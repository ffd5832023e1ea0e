import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectStorage } from "../../worker-of.ts";

interface Namespace {
  id: string;
  title: string;
}

export const kvNamespaceCreate = defineCommand({
  name: "kv namespace create",
  summary: "create a KV namespace",
  arguments: [{ name: "title", summary: "title of the namespace", required: true }],
  options: storageOptions,
  examples: [["reelpost kv namespace create notes", "prints the entry for the configuration"]],
  async run(values, [title], surroundings) {
    const { api, base } = await connectStorage(values, surroundings);
    const namespace = await api.result<Namespace>("POST", `${base}/storage/kv/namespaces`, { json: { title } });
    printResult(surroundings, namespace, () => [
      `Created the KV namespace ${namespace.title}. In the configuration:`,
      `  "kv_namespaces": [{ "binding": "${bindingName(title!)}", "id": "${namespace.id}" }]`,
    ]);
    return 0;
  },
});

const bindingName = (title: string) =>
  title
    .toUpperCase()
    .replaceAll(/[^A-Z0-9_]+/g, "_")
    .replace(/^(?=\d)/, "_") || "KV";
