import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { webhookTable, type LiveWebhook } from "../../live/webhook.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const liveWebhooksList = defineCommand({
  name: "live webhooks list",
  summary: "list live input webhooks",
  options: serverOptions,
  examples: [["reelpost live webhooks list", "then `reelpost stream webhook deliveries --endpoint <id>`"]],
  async run(values, _, surroundings) {
    const { api, base } = await connect(values, surroundings);
    const webhooks = (await api.result<LiveWebhook[]>("GET", `${base}/stream/webhook/endpoints`)).filter(({ topics }) =>
      topics.includes("live"),
    );
    printResult(surroundings, webhooks, (paint) =>
      webhooks.length === 0 ? ["No webhooks of live inputs."] : webhookTable(webhooks, paint),
    );
    return 0;
  },
});
