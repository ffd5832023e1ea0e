import { collect } from "../../api/lists.ts";
import { at } from "../../api/paths.ts";
import type { SentBody } from "../../api/client.ts";
import { defineCommand } from "../../command.ts";
import { commandErrors } from "../../errors.ts";
import { fileBody, readStdin } from "../../input.ts";
import { printResult } from "../../print.ts";
import { connectNamespace, namespaceOptions } from "../../storage/kv-namespace.ts";

/** More than any server takes for a value. */
const MAX_STDIN = 256 * 1024 * 1024;

export const kvKeyPut = defineCommand({
  name: "kv key put",
  summary: "write a value",
  description: "The value is the second argument, the file of --path, or standard input.",
  arguments: [
    { name: "key", summary: "name of the key", required: true },
    { name: "value", summary: "the value" },
  ],
  options: {
    path: { type: "string", placeholder: "file", summary: "file with the value", complete: "file" },
    ttl: { type: "number", placeholder: "seconds", min: 60, summary: "lifetime in seconds" },
    expiration: { type: "number", placeholder: "time", summary: "expiration in seconds since the Unix epoch" },
    metadata: { type: "string", placeholder: "json", summary: "metadata stored with the value" },
    ...namespaceOptions,
  },
  examples: [
    ["reelpost kv key put greeting hello --binding NOTES", "a short text"],
    ["reelpost kv key put logo --path logo.png -b NOTES --ttl 3600", "a file, for an hour"],
  ],
  async run({ path, ttl, expiration, metadata, ...values }, [key, value], surroundings) {
    if (value !== undefined && path !== undefined)
      throw commandErrors.badContent({
        what: "The value",
        reason: "it is given both as an argument and with --path",
        fix: "Keep one of them.",
      });
    const { api, namespace, id, progress } = await connectNamespace(values, surroundings);
    const raw =
      path !== undefined
        ? (await fileBody(surroundings.cwd, path, (total) => progress.meter(`writing ${key}`, total))).body
        : plain(value === undefined ? await readStdin(surroundings, MAX_STDIN) : Buffer.from(value));
    const body = metadata === undefined ? raw : await withMetadata(raw, metadata);
    await api.result("PUT", `${namespace}/values${at`/${key!}`}`, {
      query: { expiration_ttl: ttl, expiration },
      body,
      timeoutMs: null,
    });
    progress.clear();
    printResult(surroundings, { namespace_id: id, key, written: true }, () => [`${key} is written`]);
    return 0;
  },
});

const plain = (bytes: Buffer) => () => new Uint8Array(bytes);

/** A form has to be whole: values with metadata are held in memory. */
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
      : Buffer.concat(await collect((sent as { stream: AsyncIterable<Uint8Array> }).stream));
  return () => {
    const form = new FormData();
    form.set("value", new Blob([bytes as Uint8Array<ArrayBuffer>]));
    form.set("metadata", metadata);
    return form;
  };
}
