import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { workerOptions } from "../../shared-options.ts";
import { connectWorker } from "../../worker-of.ts";

export const secretDelete = defineCommand({
  name: "secret delete",
  summary: "delete a secret",
  arguments: [{ name: "name", summary: "name of the secret", required: true }],
  options: workerOptions,
  examples: [["reelpost secret delete API_KEY", "the worker of this folder"]],
  async run(values, [secret], surroundings) {
    const { api, script, name } = await connectWorker(values, surroundings);
    await api.result("DELETE", `${script}/secrets${at`/${secret!}`}`, { query: { url_encoded: true } });
    printResult(surroundings, { worker: name, name: secret }, () => [`${secret} of ${name} is deleted`]);
    return 0;
  },
});
