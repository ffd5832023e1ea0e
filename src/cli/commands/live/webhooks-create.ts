import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { webhookTable, type LiveWebhook } from "../../live/webhook.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveWebhooksCreate = defineCommand({
  name: "live webhooks create",
  summary: "have an address told when live inputs are connected, disconnected or in error",
  description:
    "A request is sent there for each event, with a notification as JSON, signed with the secret in Webhook-Signature. What does not arrive is tried again for a day.",
  arguments: [{ name: "url", summary: "http or https", required: true }],
  options: {
    input: {
      type: "string",
      placeholder: "uid",
      multiple: true,
      summary: "only of this live input",
      defaultText: "of all",
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
