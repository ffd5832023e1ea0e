import { collect, pagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { printResult, table } from "../../print.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectStorage } from "../../worker-of.ts";

interface Namespace {
  id: string;
  title: string;
}

export const kvNamespaceList = defineCommand({
  name: "kv namespace list",
  summary: "list the KV namespaces",
  options: storageOptions,
  examples: [["reelpost kv namespace list --json", "for a program"]],
  async run(values, _, surroundings) {
    const { api, base } = await connectStorage(values, surroundings);
    const namespaces = await collect(
      pagesOf<Namespace>(api, `${base}/storage/kv/namespaces`, {
        query: { order: "title", direction: "asc" },
        perPage: 1000,
      }),
    );
    printResult(surroundings, namespaces, (paint) =>
      table(
        ["id", "title"],
        namespaces.map(({ id, title }) => [id, title]),
        paint,
      ),
    );
    return 0;
  },
});
