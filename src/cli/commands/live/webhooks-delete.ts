import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const liveWebhooksDelete = defineCommand({
  name: "live webhooks delete",
  summary: "delete a live input webhook and its log",
  arguments: [{ name: "id", summary: "id of the webhook", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live webhooks delete 7c1f… --yes", "in a script"]],
  async run({ yes, ...values }, [id], surroundings) {
    const { api, base } = await connect(values, surroundings);
    const path = `${base}/stream/webhook/endpoints${at`/${id!}`}`;
    await confirm(`Delete the webhook ${id!}?`, yes, surroundings);
    await api.result("DELETE", path);
    printResult(surroundings, { id, deleted: true }, () => [`${id!} is deleted`]);
    return 0;
  },
});
