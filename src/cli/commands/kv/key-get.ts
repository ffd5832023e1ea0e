import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { saveBody } from "../../save.ts";
import { printResult } from "../../print.ts";
import { connectNamespace, namespaceOptions } from "../../storage/kv-namespace.ts";

export const kvKeyGet = defineCommand({
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
    ...namespaceOptions,
  },
  examples: [["reelpost kv key get greeting --binding NOTES", "write to standard output"]],
  async run({ file, ...values }, [key], surroundings) {
    const { api, namespace, id, progress } = await connectNamespace(values, surroundings);
    const response = await api.raw("GET", `${namespace}/values${at`/${key!}`}`, { timeoutMs: null });
    if (surroundings.json && file === undefined)
      surroundings.stdout.line(JSON.stringify({ namespace_id: id, key, value: await response.text() }));
    else {
      const size = await saveBody(response, file, surroundings, progress.meter(`reading ${key}`));
      progress.clear();
      if (file !== undefined)
        printResult(surroundings, { namespace_id: id, key, file, size }, () => [`${file} is written`]);
    }
    return 0;
  },
});
