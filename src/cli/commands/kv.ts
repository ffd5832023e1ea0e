import { oneLine } from "../../kernel/text.ts";
import type { SentBody } from "../api/client.ts";
import { collectItems, pagesOf, cursorPagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { fileBody, readStdin, readJsonFile } from "../input.ts";
import { printResult, table, plural } from "../print.ts";
import { saveBody } from "../save.ts";
import { storageOptions, yesOption } from "../shared-options.ts";
import { batches } from "../storage/batches.ts";
import { MAX_LIST_FILE, listArgument, validateList } from "../storage/json-list.ts";
import { keyOptions, namespaceOptions, connectNamespace } from "../storage/kv-namespace.ts";
import { connectStorage } from "../worker-of.ts";

interface Namespace {
  id: string;
  title: string;
}

const kvNamespaceCreate = defineCommand({
  name: "kv namespace create",
  summary: "create a KV namespace",
  arguments: [{ name: "title", summary: "title of the namespace", required: true }],
  options: storageOptions,
  examples: [["reelpost kv namespace create notes", "prints the entry for the configuration"]],
  async run(values, [title], context) {
    const { api, base } = await connectStorage(values, context);
    const namespace = await api.result<Namespace>("POST", `${base}/storage/kv/namespaces`, { json: { title } });
    printResult(context, namespace, () => [
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

const kvNamespaceList = defineCommand({
  name: "kv namespace list",
  summary: "list the KV namespaces",
  options: storageOptions,
  examples: [["reelpost kv namespace list --json", "JSON output, for scripts"]],
  async run(values, _, context) {
    const { api, base } = await connectStorage(values, context);
    const namespaces = await collectItems(
      pagesOf<Namespace>(api, `${base}/storage/kv/namespaces`, {
        query: { order: "title", direction: "asc" },
        perPage: 1000,
      }),
    );
    printResult(context, namespaces, (paint) =>
      table(
        ["id", "title"],
        namespaces.map(({ id, title }) => [id, title]),
        paint,
      ),
    );
    return 0;
  },
});

const kvNamespaceDelete = defineCommand({
  name: "kv namespace delete",
  summary: "delete a KV namespace and all its keys",
  options: { ...yesOption, ...namespaceOptions },
  examples: [["reelpost kv namespace delete --binding NOTES", "selected by its binding in the configuration"]],
  async run({ yes, ...values }, _, context) {
    const { api, base, id } = await connectNamespace(values, context);
    await confirm(`Delete the KV namespace ${id} with all its keys?`, yes, context);
    await api.result("DELETE", `${base}/storage/kv/namespaces${at`/${id}`}`, { timeoutMs: 300_000 });
    printResult(context, { id, deleted: true }, () => [`Deleted ${id}`]);
    return 0;
  },
});

/** Larger than any server accepts for a value. */
const MAX_STDIN_BYTES = 256 * 1024 * 1024;

const kvKeyPut = defineCommand({
  name: "kv key put",
  summary: "write a value",
  description: "The value is the second argument, the file given with --path, or standard input.",
  arguments: [
    { name: "key", summary: "name of the key", required: true },
    { name: "value", summary: "the value" },
  ],
  options: {
    path: { type: "string", placeholder: "file", summary: "file with the value", complete: "file" },
    ttl: { type: "number", placeholder: "seconds", min: 60, summary: "lifetime in seconds" },
    expiration: { type: "number", placeholder: "time", summary: "expiration in seconds since the Unix epoch" },
    metadata: { type: "string", placeholder: "json", summary: "metadata stored with the value" },
    ...keyOptions,
  },
  examples: [
    ["reelpost kv key put greeting hello --binding NOTES", "a short text"],
    ["reelpost kv key put logo --path logo.png -b NOTES --ttl 3600", "a file, for an hour"],
  ],
  async run({ path, ttl, expiration, metadata, ...values }, [key, value], context) {
    if (value !== undefined && path !== undefined)
      throw commandErrors.badContent({
        what: "The value",
        reason: "it is given both as an argument and with --path",
        fix: "Keep one of them.",
      });
    const { api, namespace, id, progress } = await connectNamespace(values, context);
    const raw =
      path !== undefined
        ? (await fileBody(context.cwd, path, (total) => progress.meter(`writing ${key}`, total))).body
        : toPlainBody(value === undefined ? await readStdin(context, MAX_STDIN_BYTES) : Buffer.from(value));
    const body = metadata === undefined ? raw : await withMetadata(raw, metadata);
    await api.result("PUT", `${namespace}/values${at`/${key!}`}`, {
      query: { expiration_ttl: ttl, expiration },
      body,
      timeoutMs: null,
    });
    progress.clear();
    printResult(context, { namespace_id: id, key, written: true }, () => [`Wrote ${key}`]);
    return 0;
  },
});

const toPlainBody = (bytes: Buffer) => () => new Uint8Array(bytes);

/** A form must be complete before it is sent, so values with metadata are held in memory. */
async function withMetadata(raw: () => SentBody, metadata: string): Promise<() => FormData> {
  try {
    JSON.parse(metadata);
  } catch (cause) {
    throw commandErrors.badContent(
      { what: "--metadata", reason: "it is not JSON", fix: `For example --metadata '{"by":"ada"}'` },
      { cause },
    );
  }
  const sent = raw();
  const bytes =
    sent instanceof Uint8Array
      ? sent
      : Buffer.concat(await collectItems((sent as { stream: AsyncIterable<Uint8Array> }).stream));
  return () => {
    const form = new FormData();
    form.set("value", new Blob([bytes as Uint8Array<ArrayBuffer>]));
    form.set("metadata", metadata);
    return form;
  };
}

const kvKeyGet = defineCommand({
  name: "kv key get",
  summary: "print a value",
  arguments: [{ name: "key", summary: "name of the key", required: true }],
  options: {
    file: {
      type: "string",
      placeholder: "file",
      summary: "write the value to this file",
      defaultText: "standard output",
      complete: "file",
    },
    ...keyOptions,
  },
  examples: [["reelpost kv key get greeting --binding NOTES", "write to standard output"]],
  async run({ file, ...values }, [key], context) {
    const { api, namespace, id, progress } = await connectNamespace(values, context);
    const response = await api.raw("GET", `${namespace}/values${at`/${key!}`}`, { timeoutMs: null });
    if (context.json && file === undefined)
      context.stdout.line(JSON.stringify({ namespace_id: id, key, value: await response.text() }));
    else {
      const size = await saveBody(response, file, context, progress.meter(`reading ${key}`));
      progress.clear();
      if (file !== undefined) printResult(context, { namespace_id: id, key, file, size }, () => [`Wrote ${file}`]);
    }
    return 0;
  },
});

interface Key {
  name: string;
  expiration?: number;
  metadata?: unknown;
}

const kvKeyList = defineCommand({
  name: "kv key list",
  summary: "list keys in order",
  options: {
    prefix: { type: "string", placeholder: "text", summary: "only keys with this prefix" },
    limit: { type: "number", min: 1, max: 1_000_000, summary: "maximum number of keys", defaultText: "10000" },
    ...keyOptions,
  },
  examples: [["reelpost kv key list --binding NOTES --prefix mail/", "keys with a prefix"]],
  async run({ prefix, limit = 10_000, ...values }, _, context) {
    const { api, namespace, id } = await connectNamespace(values, context);
    const keys: Key[] = [];
    let hasMore = false;
    for await (const key of cursorPagesOf<Key>(api, `${namespace}/keys`, { query: { prefix } })) {
      if (keys.length === limit) {
        hasMore = true;
        break;
      }
      keys.push(key);
    }
    printResult(context, keys, (paint) =>
      keys.map(({ name, expiration, metadata }) =>
        [
          oneLine(name, 2000),
          ...(expiration === undefined ? [] : [paint("dim", `expires ${new Date(expiration * 1000).toISOString()}`)]),
          ...(metadata === undefined || metadata === null ? [] : [paint("dim", oneLine(JSON.stringify(metadata)))]),
        ].join("  "),
      ),
    );
    if (hasMore && !context.json) context.stderr.line(`${id} has more than ${limit} keys: use --limit or --prefix`);
    return 0;
  },
});

const kvKeyDelete = defineCommand({
  name: "kv key delete",
  summary: "delete a key",
  arguments: [{ name: "key", summary: "name of the key", required: true }],
  options: keyOptions,
  examples: [["reelpost kv key delete greeting --binding NOTES", "one key"]],
  async run(values, [key], context) {
    const { api, namespace, id } = await connectNamespace(values, context);
    await api.result("DELETE", `${namespace}/values${at`/${key!}`}`);
    printResult(context, { namespace_id: id, key, deleted: true }, () => [`Deleted ${key}`]);
    return 0;
  },
});

interface Done {
  successful_key_count?: number;
  unsuccessful_keys?: string[];
}

const kvBulkPut = defineCommand({
  name: "kv bulk put",
  summary: "write many values from a JSON file",
  description:
    "The file contains a list of objects { key, value, expiration?, expiration_ttl?, metadata?, base64? }. Large files are split into several requests.",
  arguments: [listArgument],
  options: keyOptions,
  examples: [["reelpost kv bulk put entries.json --binding NOTES", '[{ "key": "a", "value": "1" }]']],
  async run(values, [file], context) {
    const entries = validateList(
      await readJsonFile(file!, context, MAX_LIST_FILE),
      file!,
      (entry) =>
        typeof (entry as { key?: unknown } | null)?.key === "string" &&
        typeof (entry as { value?: unknown }).value === "string",
      "{ key, value } objects with string values",
    );
    const { api, namespace, id, progress } = await connectNamespace(values, context);
    let written = 0;
    const failed: string[] = [];
    for (const batch of batches(entries)) {
      progress.step(`writing ${written} of ${entries.length}`);
      const bulkResult = await api.result<Done | null>("PUT", `${namespace}/bulk`, { json: batch, timeoutMs: 300_000 });
      written += bulkResult?.successful_key_count ?? batch.length;
      failed.push(...(bulkResult?.unsuccessful_keys ?? []));
    }
    progress.clear();
    printResult(context, { namespace_id: id, written, failed }, () => [
      `${plural(written, "key")} written${failed.length === 0 ? "" : `, ${failed.length} failed: ${failed.slice(0, 10).join(", ")}`}`,
    ]);
    return failed.length === 0 ? 0 : 1;
  },
});

const kvBulkDelete = defineCommand({
  name: "kv bulk delete",
  summary: "delete the keys listed in a JSON file",
  description: 'The file contains a list of keys, or of objects with a "name" as printed by `kv key list --json`.',
  arguments: [listArgument],
  options: { ...yesOption, ...keyOptions },
  examples: [
    [
      "reelpost kv key list -b NOTES --prefix old/ --json | reelpost kv bulk delete - -b NOTES --yes",
      "all keys with the prefix old/",
    ],
  ],
  async run({ yes, ...values }, [file], context) {
    const entries = validateList(
      await readJsonFile(file!, context, MAX_LIST_FILE),
      file!,
      (entry) => typeof nameOf(entry) === "string",
      "keys",
    );
    const { api, namespace, id, progress } = await connectNamespace(values, context);
    await confirm(`Delete ${plural(entries.length, "key")} of the KV namespace ${id}?`, yes, context);
    let deleted = 0;
    for (const batch of batches(entries.map(nameOf))) {
      progress.step(`deleting ${deleted} of ${entries.length}`);
      await api.result("POST", `${namespace}/bulk/delete`, { json: batch, timeoutMs: 300_000 });
      deleted += batch.length;
    }
    progress.clear();
    printResult(context, { namespace_id: id, deleted }, () => [`${plural(deleted, "key")} deleted`]);
    return 0;
  },
});

const nameOf = (entry: unknown): unknown =>
  typeof entry === "object" && entry !== null
    ? ((entry as { name?: unknown; key?: unknown }).name ?? (entry as { key?: unknown }).key)
    : entry;

export const kvCommands: readonly Command[] = [
  kvNamespaceCreate,
  kvNamespaceList,
  kvNamespaceDelete,
  kvKeyPut,
  kvKeyGet,
  kvKeyList,
  kvKeyDelete,
  kvBulkPut,
  kvBulkDelete,
];
