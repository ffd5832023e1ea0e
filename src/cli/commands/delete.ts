import { confirm } from "../ask.ts";
import { defineCommand } from "../command.ts";
import { printResult } from "../print.ts";
import { workerOptions, yesOption } from "../shared-options.ts";
import { connectWorker } from "../worker-of.ts";

export const deleteWorker = defineCommand({
  name: "delete",
  summary: "delete a worker with its versions and secrets",
  description: "Storage bound to the worker is kept.",
  arguments: [{ name: "worker", summary: "name of the worker (default: from the configuration)" }],
  options: { ...yesOption, ...workerOptions },
  examples: [["reelpost delete old-worker --yes", "in a script"]],
  async run({ yes, ...values }, [worker], context) {
    const { api, script, name, account } = await connectWorker(values, context, worker);
    await confirm(
      `Delete the worker ${name} of the account ${account} with all its versions and secrets?`,
      yes,
      context,
    );
    await api.result("DELETE", script, { query: { force: true } });
    printResult(context, { worker: name, deleted: true }, () => [`Deleted ${name}`]);
    return 0;
  },
});
