import { collectItems, pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { consumerLabel, findQueue, toQueueSettings, type RemoteQueue } from "../queues/remote.ts";
import { nameValueLines, formatUtcTime, plural, printResult, table } from "../print.ts";
import { storageOptions, yesOption } from "../shared-options.ts";
import { connectStorage } from "../worker-of.ts";

const nameArgument = { name: "name", summary: "name of the queue", required: true } as const;
const settingOptions = {
  "delivery-delay": {
    type: "number",
    placeholder: "seconds",
    min: 0,
    max: 86_400,
    summary: "default delay of messages",
  },
  retention: {
    type: "number",
    placeholder: "seconds",
    min: 60,
    max: 1_209_600,
    summary: "message retention period",
    defaultText: "345600, four days",
  },
} as const;

const create = defineCommand({
  name: "queues create",
  summary: "create a queue",
  arguments: [nameArgument],
  options: { ...settingOptions, ...storageOptions },
  examples: [["reelpost queues create jobs", "prints the entry to add to the configuration"]],
  async run(values, [name], context) {
    const { api, base } = await connectStorage(values, context);
    const queue = await api.result<RemoteQueue>("POST", `${base}/queues`, {
      json: { queue_name: name, settings: toQueueSettings(values) },
    });
    const binding = name!
      .toUpperCase()
      .replaceAll("-", "_")
      .replace(/^(?=\d)/, "_");
    printResult(context, queue, () => [
      `Created the queue ${queue.queue_name}. In the configuration:`,
      `  "queues": { "producers": [{ "binding": "${binding}", "queue": "${name}" }], "consumers": [{ "queue": "${name}" }] }`,
    ]);
    return 0;
  },
});

const list = defineCommand({
  name: "queues list",
  summary: "list queues",
  options: storageOptions,
  examples: [["reelpost queues list --json", "JSON output, for scripts"]],
  async run(values, _, context) {
    const { api, base } = await connectStorage(values, context);
    const queues = await collectItems(pagesOf<RemoteQueue>(api, `${base}/queues`, { perPage: 100 }));
    printResult(context, queues, (paint) =>
      table(
        ["name", "id", "created", "producers", "consumer"],
        queues.map((queue) => [
          queue.queue_name,
          queue.queue_id,
          formatUtcTime(queue.created_on),
          String(queue.producers_total_count),
          queue.consumers.map(consumerLabel).join(", "),
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const info = defineCommand({
  name: "queues info",
  summary: "show a queue and its backlog",
  arguments: [nameArgument],
  options: storageOptions,
  examples: [["reelpost queues info jobs", "settings, consumer and number of messages"]],
  async run(values, [name], context) {
    const { api, base } = await connectStorage(values, context);
    const { path, queue } = await findQueue(api, base, name!);
    const backlog = await api.result<{ backlog_count: number; backlog_bytes: number }>("GET", `${path}/metrics`);
    printResult(context, { ...queue, ...backlog }, (paint) =>
      nameValueLines(
        [
          ["name", queue.queue_name],
          ["id", queue.queue_id],
          ["created", formatUtcTime(queue.created_on)],
          ["delivery", queue.settings.delivery_paused ? "paused" : undefined],
          ["delay", `${queue.settings.delivery_delay} s`],
          ["retention", `${queue.settings.message_retention_period} s`],
          ["producers", queue.producers.map(({ script }) => script).join(", ") || undefined],
          ["consumer", queue.consumers.map(consumerLabel).join(", ") || undefined],
          ["backlog", `${plural(backlog.backlog_count, "message")}, ${backlog.backlog_bytes} bytes`],
        ],
        paint,
      ),
    );
    return 0;
  },
});

const update = defineCommand({
  name: "queues update",
  summary: "change the settings of a queue",
  arguments: [nameArgument],
  options: { ...settingOptions, ...storageOptions },
  examples: [["reelpost queues update jobs --retention 86400", "keeps new messages for a day"]],
  async run(values, [name], context) {
    return updateQueue(name!, toQueueSettings(values), "Updated", context, values);
  },
});

const pause = defineCommand({
  name: "queues pause-delivery",
  summary: "pause message delivery from a queue; messages are kept",
  arguments: [nameArgument],
  options: storageOptions,
  examples: [["reelpost queues pause-delivery jobs", "until queues resume-delivery"]],
  run: (values, [name], context) => updateQueue(name!, { delivery_paused: true }, "Paused", context, values),
});

const resume = defineCommand({
  name: "queues resume-delivery",
  summary: "resume message delivery from a queue",
  arguments: [nameArgument],
  options: storageOptions,
  examples: [["reelpost queues resume-delivery jobs", "after queues pause-delivery"]],
  run: (values, [name], context) => updateQueue(name!, { delivery_paused: false }, "Resumed", context, values),
});

async function updateQueue(
  name: string,
  settings: object,
  verb: string,
  context: CommandContext,
  values: Parameters<typeof connectStorage>[0],
): Promise<number> {
  const { api, base } = await connectStorage(values, context);
  const { path } = await findQueue(api, base, name);
  const queue = await api.result<RemoteQueue>("PATCH", path, { json: { settings } });
  printResult(context, queue, () => [`${verb} ${name}`]);
  return 0;
}

const purge = defineCommand({
  name: "queues purge",
  summary: "delete all messages in a queue",
  arguments: [nameArgument],
  options: { ...yesOption, ...storageOptions },
  examples: [["reelpost queues purge jobs --yes", "in a script"]],
  async run({ yes, ...values }, [name], context) {
    const { api, base } = await connectStorage(values, context);
    await confirm(`Delete all messages in the queue ${name}?`, yes, context);
    const { path } = await findQueue(api, base, name!);
    await api.result("POST", `${path}/purge`, { json: { delete_messages_permanently: true }, timeoutMs: 300_000 });
    printResult(context, { name, purged: true }, () => [`Purged ${name}`]);
    return 0;
  },
});

const remove = defineCommand({
  name: "queues delete",
  summary: "delete a queue and its messages",
  arguments: [nameArgument],
  options: { ...yesOption, ...storageOptions },
  examples: [["reelpost queues delete jobs --yes", "in a script"]],
  async run({ yes, ...values }, [name], context) {
    const { api, base } = await connectStorage(values, context);
    await confirm(`Delete the queue ${name} and its messages?`, yes, context);
    const { path } = await findQueue(api, base, name!);
    await api.result("DELETE", path, { timeoutMs: 300_000 });
    printResult(context, { name, deleted: true }, () => [`Deleted ${name}`]);
    return 0;
  },
});

const addPullConsumer = defineCommand({
  name: "queues consumer add",
  summary: "add an HTTP pull consumer to a queue",
  description: "Deploying a worker makes it the consumer of the queues in its configuration.",
  arguments: [nameArgument],
  options: {
    "max-retries": { type: "number", min: 0, max: 100, summary: "maximum number of retries", defaultText: "3" },
    "dead-letter-queue": {
      type: "string",
      placeholder: "name",
      summary: "queue that receives messages whose retries are exhausted",
    },
    "visibility-timeout": {
      type: "number",
      placeholder: "ms",
      min: 0,
      max: 43_200_000,
      summary: "time in which a pulled message must be acknowledged",
      defaultText: "30000",
    },
    ...storageOptions,
  },
  examples: [["reelpost queues consumer add jobs", "then POST …/queues/<id>/messages/pull"]],
  async run(values, [name], context) {
    const { api, base } = await connectStorage(values, context);
    const { path } = await findQueue(api, base, name!);
    const consumer = await api.result<object>("POST", `${path}/consumers`, {
      json: {
        type: "http_pull",
        dead_letter_queue: values["dead-letter-queue"],
        settings: { max_retries: values["max-retries"], visibility_timeout_ms: values["visibility-timeout"] },
      },
    });
    printResult(context, consumer, () => [
      `Added an HTTP pull consumer to ${name}. Pull its messages with POST ${path}/messages/pull`,
    ]);
    return 0;
  },
});

const removeConsumer = defineCommand({
  name: "queues consumer remove",
  summary: "remove the consumer of a queue",
  arguments: [nameArgument],
  options: storageOptions,
  examples: [["reelpost queues consumer remove jobs", "for a worker or an HTTP pull consumer"]],
  async run(values, [name], context) {
    const { api, base } = await connectStorage(values, context);
    const { path, queue } = await findQueue(api, base, name!);
    for (const { consumer_id } of queue.consumers)
      await api.result("DELETE", `${path}/consumers${at`/${consumer_id}`}`);
    printResult(context, { name, removed: queue.consumers.length }, () => [
      `Removed ${plural(queue.consumers.length, "consumer")} from ${name}`,
    ]);
    return 0;
  },
});

export const queuesCommands: readonly Command[] = [
  create,
  list,
  info,
  update,
  pause,
  resume,
  purge,
  remove,
  addPullConsumer,
  removeConsumer,
];
