import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { webhookLines, type Webhook } from "../../stream/webhook.ts";

export const streamWebhookSet = defineCommand({
  name: "stream webhook set",
  summary: "set the webhook for finished and failed videos",
  description:
    "Sends the video as JSON when it is ready or has failed, signed with the secret in Webhook-Signature. An existing webhook keeps its secret.",
  arguments: [{ name: "url", summary: "http or https URL", required: true }],
  options: serverOptions,
  examples: [["reelpost stream webhook set https://example.com/videos", "prints the secret"]],
  async run(values, [url], surroundings) {
    const { api, base } = await connect(values, surroundings);
    const webhook = await api.result<Webhook>("PUT", `${base}/stream/webhook`, { json: { notificationUrl: url } });
    printResult(surroundings, webhook, (paint) => webhookLines(webhook, paint));
    return 0;
  },
});
