import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { webhookLines, type Webhook } from "../../stream/webhook.ts";

export const streamWebhookGet = defineCommand({
  name: "stream webhook get",
  summary: "show the webhook for finished and failed videos",
  options: serverOptions,
  examples: [["reelpost stream webhook get", "URL and signing secret"]],
  async run(values, _, surroundings) {
    const { api, base } = await connect(values, surroundings);
    const webhook = await api.result<Webhook>("GET", `${base}/stream/webhook`);
    printResult(surroundings, webhook, (paint) => webhookLines(webhook, paint));
    return 0;
  },
});
