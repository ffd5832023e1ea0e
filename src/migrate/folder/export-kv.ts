import { isUtf8 } from "node:buffer";
import { BATCH, namespacesOf, readTexts, readValue, type ListedKey, type Namespace } from "../kinds/kv.ts";
import type { ItemProgress, PlannedItem } from "../port.ts";
import { apiPath, chunksOf, readCursorPages } from "../requests.ts";
import { listItem, unlessUnavailable, type ExportContext } from "./export-context.ts";
import { countLines } from "./files.ts";
import { apiFile, namespaceFile, type KvLine } from "./layout.ts";

/** Plans the export of KV namespaces, each as a file with one line per key. */
export async function exportKv(context: ExportContext): Promise<PlannedItem[]> {
  const { source, paths, files, areas } = context;
  const path = `${paths.source}/storage/kv/namespaces`;
  const namespaces = await unlessUnavailable(context, path, namespacesOf(source.api, paths.source));
  if (namespaces === undefined) return [];
  const list: PlannedItem = {
    ...listItem("KV namespaces"),
    apply: () => files.writeJson(apiFile(path), namespaces),
  };
  if (!areas.has("kv")) return [list];
  return [
    list,
    ...namespaces.map((namespace): PlannedItem => ({
      kind: "KV namespace",
      key: `kv ${namespace.id}`,
      name: namespace.title,
      action: "new",
      apply: (progress) => exportNamespace(context, namespace, progress),
    })),
  ];
}

async function exportNamespace(context: ExportContext, { id }: Namespace, progress: ItemProgress): Promise<void> {
  const { paths, files } = context;
  const file = namespaceFile(id);
  if (files.find(file) === undefined)
    await files.write(
      file,
      linesOfNamespace(context, `${paths.source}/storage/kv/namespaces${apiPath`/${id}`}`, progress),
    );
  context.count("KV namespace", 1);
  context.count("KV key", await countLines(files.find(file)!.path));
}

async function* linesOfNamespace(
  { source, concurrency, signal }: ExportContext,
  path: string,
  progress: ItemProgress,
): AsyncGenerator<string> {
  let batch: ListedKey[] = [];
  async function* flush(): AsyncGenerator<string> {
    signal?.throwIfAborted();
    if (batch.length === 0) return;
    const texts = await readTexts(source.api, path, batch);
    // A value can be up to 25 MiB, so only a few are held in memory.
    for (const keys of chunksOf(batch, concurrency)) {
      const values = await Promise.all(
        keys.map(async (key) => texts.get(key.name) ?? (await readValue(source.api, path, key))),
      );
      for (const [index, value] of values.entries()) if (value !== undefined) yield lineOf(keys[index]!, value);
    }
    progress.entries(batch.length);
    batch = [];
  }
  for await (const key of readCursorPages<ListedKey>(source.api, `${path}/keys`, { query: { limit: 1000 } })) {
    batch.push(key);
    if (batch.length === BATCH) yield* flush();
  }
  yield* flush();
}

function lineOf({ name, expiration, metadata }: ListedKey, value: Buffer): string {
  const line: KvLine = {
    key: name,
    ...(isUtf8(value) ? { value: value.toString() } : { value: value.toString("base64"), base64: true }),
    ...(expiration !== undefined && { expiration }),
    ...(metadata != null && { metadata }),
  };
  return `${JSON.stringify(line)}\n`;
}
