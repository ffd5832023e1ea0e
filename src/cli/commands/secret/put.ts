import { askHidden, canAsk } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { readStdin } from "../../input.ts";
import { printResult } from "../../print.ts";
import { workerOptions } from "../../shared-options.ts";
import { connectWorker } from "../../worker-of.ts";

/** More than any server takes. */
const MAX_SECRET = 1024 * 1024;

export const secretPut = defineCommand({
  name: "secret put",
  summary: "set a secret",
  description: `Prompts for the value without showing it, or reads it from standard input without the trailing line break. The change takes effect
immediately: the server creates a new version.`,
  arguments: [{ name: "name", summary: "name of the secret in env", required: true }],
  options: workerOptions,
  examples: [
    ["reelpost secret put API_KEY", "prompts for the value"],
    ["reelpost secret put API_KEY < key.txt", "reads it from a file"],
  ],
  async run(values, [secret], surroundings) {
    const { api, script, name } = await connectWorker(values, surroundings);
    const text = canAsk(surroundings)
      ? await askHidden(`Value of ${secret}: `, surroundings)
      : (await readStdin(surroundings, MAX_SECRET)).toString().replace(/\r?\n$/, "");
    const result = await api.result<{ name: string; type: string }>("PUT", `${script}/secrets`, {
      json: { name: secret, text, type: "secret_text" },
    });
    printResult(surroundings, { worker: name, ...result }, () => [`${name} has the secret ${secret}`]);
    return 0;
  },
});
