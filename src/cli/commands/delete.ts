import { confirm } from "../ask.ts";
import { defineCommand } from "../command.ts";
import { printResult } from "../print.ts";
import { workerOptions, yesOption } from "../shared-options.ts";
import { connectWorker } from "../worker-of.ts";

export const deleteWorker = defineCommand({
  name: "delete",
  summary: "take a worker off the server, with its versions and secrets",
  description: "Storage that it is bound to stays.",
  arguments: [{ name: "worker", summary: "its name (default: the one of the configuration)" }],
  options: { ...yesOption, ...workerOptions },
  examples: [["reelpost delete old-worker --yes", "in a script"]],
  async run({ yes, ...values }, [worker], surroundings) {
    const { api, script, name, account } = await connectWorker(values, surroundings, worker);
    await confirm(
      `Delete the worker ${name} of the account ${account} with all its versions and secrets?`,
      yes,
      surroundings,
    );
    await api.result("DELETE", script, { query: { force: true } });
    printResult(surroundings, { worker: name, deleted: true }, () => [`${name} is deleted`]);
    return 0;
  },
});
