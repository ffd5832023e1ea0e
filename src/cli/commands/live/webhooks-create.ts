import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { webhookTable, type LiveWebhook } from "../../live/webhook.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveWebhooksCreate = defineCommand({
  name: "live webhooks create",
  summary: "create a webhook for live inputs that connect, disconnect or fail",
  description:
    "Sends a JSON notification for each event, signed with the secret in Webhook-Signature. Failed deliveries are retried for a day.",
  arguments: [{ name: "url", summary: "http or https URL", required: true }],
  options: {
    input: {
      type: "string",
      placeholder: "uid",
      multiple: true,
      summary: "only for this live input",
      defaultText: "all",
    },
    ...serverOptions,
  },
  examples: [["reelpost live webhooks create https://example.com/live", "prints the secret"]],
  async run({ input, ...values }, [url], surroundings) {
    const { api, base } = await connect(values, surroundings);
    const webhook = await api.result<LiveWebhook>("POST", `${base}/stream/webhook/endpoints`, {
      json: { notificationUrl: url, topics: ["live"], liveInputs: input },
    });
    printResult(surroundings, webhook, (paint) => webhookTable([webhook], paint));
    return 0;
  },
});
