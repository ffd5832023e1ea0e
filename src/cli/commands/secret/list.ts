import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { workerOptions } from "../../shared-options.ts";
import { connectWorker } from "../../worker-of.ts";

export const secretList = defineCommand({
  name: "secret list",
  summary: "list the names of a worker's secrets",
  options: workerOptions,
  examples: [["reelpost secret list", "the worker of this folder"]],
  async run(values, _, surroundings) {
    const { api, script, name } = await connectWorker(values, surroundings);
    const secrets = await api.result<{ name: string; type: string }[]>("GET", `${script}/secrets`);
    printResult(surroundings, secrets, () =>
      secrets.length === 0 ? [`${name} has no secrets`] : secrets.map((secret) => secret.name),
    );
    return 0;
  },
});
