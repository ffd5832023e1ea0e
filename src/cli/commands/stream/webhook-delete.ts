import { connect } from "../../api/connect.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const streamWebhookDelete = defineCommand({
  name: "stream webhook delete",
  summary: "delete the webhook",
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost stream webhook delete --yes", "in a script"]],
  async run({ yes, ...values }, _, surroundings) {
    const { api, base } = await connect(values, surroundings);
    await confirm("Delete the webhook, with its secret and its log?", yes, surroundings);
    await api.result("DELETE", `${base}/stream/webhook`);
    printResult(surroundings, { deleted: true }, () => ["The webhook is deleted"]);
    return 0;
  },
});
