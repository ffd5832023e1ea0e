import { connectToApi } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { printResult } from "../print.ts";
import { limitOption, serverOptions, yesOption } from "../shared-options.ts";
import {
  webhookLines,
  type Webhook,
  deliveryTable,
  endpointOption,
  endpointPath,
  type ApiWebhookDelivery,
} from "../stream/webhook.ts";

const streamWebhookGet = defineCommand({
  name: "stream webhook get",
  summary: "show the webhook for finished and failed videos",
  options: serverOptions,
  examples: [["reelpost stream webhook get", "URL and signing secret"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const webhook = await api.result<Webhook>("GET", `${base}/stream/webhook`);
    printResult(context, webhook, (paint) => webhookLines(webhook, paint));
    return 0;
  },
});

const streamWebhookSet = defineCommand({
  name: "stream webhook set",
  summary: "set the webhook for finished and failed videos",
  description:
    "Sends the video as JSON when it is ready or has failed, signed with the secret in Webhook-Signature. An existing webhook keeps its secret.",
  arguments: [{ name: "url", summary: "http or https URL", required: true }],
  options: serverOptions,
  examples: [["reelpost stream webhook set https://example.com/videos", "prints the secret"]],
  async run(values, [url], context) {
    const { api, base } = await connectToApi(values, context);
    const webhook = await api.result<Webhook>("PUT", `${base}/stream/webhook`, { json: { notificationUrl: url } });
    printResult(context, webhook, (paint) => webhookLines(webhook, paint));
    return 0;
  },
});

const streamWebhookDelete = defineCommand({
  name: "stream webhook delete",
  summary: "delete the webhook",
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost stream webhook delete --yes", "in a script"]],
  async run({ yes, ...values }, _, context) {
    const { api, base } = await connectToApi(values, context);
    await confirm("Delete the webhook, with its secret and its log?", yes, context);
    await api.result("DELETE", `${base}/stream/webhook`);
    printResult(context, { deleted: true }, () => ["Deleted the webhook"]);
    return 0;
  },
});

const streamWebhookDeliveries = defineCommand({
  name: "stream webhook deliveries",
  summary: "list webhook deliveries, newest first",
  description: "The last hundred finished deliveries are kept. --json includes contents and all attempts.",
  options: {
    ...limitOption(100, 20),
    ...endpointOption,
    ...serverOptions,
  },
  examples: [["reelpost stream webhook deliveries", "results of the deliveries"]],
  async run({ limit = 20, endpoint, ...values }, _, context) {
    const connection = await connectToApi(values, context);
    const deliveries = await connection.api.result<ApiWebhookDelivery[]>(
      "GET",
      `${await endpointPath(connection, endpoint)}/deliveries`,
      { query: { per_page: limit } },
    );
    printResult(context, deliveries, (paint) =>
      deliveries.length === 0 ? ["No deliveries."] : deliveryTable(deliveries, paint),
    );
    return 0;
  },
});

const streamWebhookReplay = defineCommand({
  name: "stream webhook replay",
  summary: "redeliver a webhook event",
  arguments: [{ name: "delivery", summary: "id of the delivery", required: true }],
  options: { ...endpointOption, ...serverOptions },
  examples: [["reelpost stream webhook replay 91ab…", "an id from the deliveries"]],
  async run({ endpoint, ...values }, [id], context) {
    const connection = await connectToApi(values, context);
    const delivery = await connection.api.result<ApiWebhookDelivery>(
      "POST",
      `${await endpointPath(connection, endpoint)}/deliveries${at`/${id!}`}/replay`,
    );
    printResult(context, delivery, () => [
      `Queued ${delivery.id}; \`reelpost stream webhook deliveries\` shows its status`,
    ]);
    return 0;
  },
});

export const streamWebhookCommands: readonly Command[] = [
  streamWebhookGet,
  streamWebhookSet,
  streamWebhookDelete,
  streamWebhookDeliveries,
  streamWebhookReplay,
];
