import { cursorPagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { connectNamespace, namespaceOptions } from "../../storage/kv-namespace.ts";
import { oneLine } from "../../../kernel/text.ts";

interface Key {
  name: string;
  expiration?: number;
  metadata?: unknown;
}

export const kvKeyList = defineCommand({
  name: "kv key list",
  summary: "list keys in order",
  options: {
    prefix: { type: "string", placeholder: "text", summary: "only keys with this prefix" },
    limit: { type: "number", min: 1, max: 1_000_000, summary: "maximum number of keys", defaultText: "10000" },
    ...namespaceOptions,
  },
  examples: [["reelpost kv key list --binding NOTES --prefix mail/", "keys with a prefix"]],
  async run({ prefix, limit = 10_000, ...values }, _, surroundings) {
    const { api, namespace, id } = await connectNamespace(values, surroundings);
    const keys: Key[] = [];
    let more = false;
    for await (const key of cursorPagesOf<Key>(api, `${namespace}/keys`, { query: { prefix } })) {
      if (keys.length === limit) {
        more = true;
        break;
      }
      keys.push(key);
    }
    printResult(surroundings, keys, (paint) =>
      keys.map(({ name, expiration, metadata }) =>
        [
          oneLine(name, 2000),
          ...(expiration === undefined ? [] : [paint("dim", `until ${new Date(expiration * 1000).toISOString()}`)]),
          ...(metadata === undefined || metadata === null ? [] : [paint("dim", oneLine(JSON.stringify(metadata)))]),
        ].join("  "),
      ),
    );
    if (more && !surroundings.json)
      surroundings.stderr.line(`${id} has more than ${limit} keys: use --limit or --prefix`);
    return 0;
  },
});
