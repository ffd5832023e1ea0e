import { connectToApi } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { webhookTable, type LiveWebhook } from "../live/webhook.ts";
import { printResult } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

const liveWebhooksList = defineCommand({
  name: "live webhooks list",
  summary: "list live input webhooks",
  options: serverOptions,
  examples: [["reelpost live webhooks list", "then `reelpost stream webhook deliveries --endpoint <id>`"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const webhooks = (await api.result<LiveWebhook[]>("GET", `${base}/stream/webhook/endpoints`)).filter(({ topics }) =>
      topics.includes("live"),
    );
    printResult(context, webhooks, (paint) =>
      webhooks.length === 0 ? ["No webhooks of live inputs."] : webhookTable(webhooks, paint),
    );
    return 0;
  },
});

const liveWebhooksCreate = defineCommand({
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
  async run({ input, ...values }, [url], context) {
    const { api, base } = await connectToApi(values, context);
    const webhook = await api.result<LiveWebhook>("POST", `${base}/stream/webhook/endpoints`, {
      json: { notificationUrl: url, topics: ["live"], liveInputs: input },
    });
    printResult(context, webhook, (paint) => webhookTable([webhook], paint));
    return 0;
  },
});

const liveWebhooksDelete = defineCommand({
  name: "live webhooks delete",
  summary: "delete a live input webhook and its log",
  arguments: [{ name: "id", summary: "id of the webhook", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost live webhooks delete 7c1f… --yes", "in a script"]],
  async run({ yes, ...values }, [id], context) {
    const { api, base } = await connectToApi(values, context);
    const path = `${base}/stream/webhook/endpoints${at`/${id!}`}`;
    await confirm(`Delete the webhook ${id!}?`, yes, context);
    await api.result("DELETE", path);
    printResult(context, { id, deleted: true }, () => [`Deleted ${id!}`]);
    return 0;
  },
});

export const liveWebhookCommands: readonly Command[] = [liveWebhooksList, liveWebhooksCreate, liveWebhooksDelete];
