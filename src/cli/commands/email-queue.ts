import { oneLine } from "../../kernel/text.ts";
import type { ApiRequestOptions } from "../api/client.ts";
import { connectToApi, type ApiConnection } from "../api/connect.ts";
import { cursorPagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import {
  QUEUE_STATES,
  queueTable,
  type QueuedItem,
  queuedMessageLines,
  type QueuedMessageDetails,
} from "../email/queue.ts";
import { formatUtcTime, printResult, table } from "../print.ts";
import { limitOption, serverOptions, yesOption } from "../shared-options.ts";

const emailQueuePauses = defineCommand({
  name: "email queue pauses",
  summary: "list paused destinations with queued mail",
  options: serverOptions,
  examples: [["reelpost email queue pauses", "reason and end of each pause"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const pauses = await api.result<{ destination: string; until: string; reason: string }[]>(
      "GET",
      `${base}/email/queue/pauses`,
    );
    printResult(context, pauses, (paint) =>
      pauses.length === 0
        ? ["No destination is paused."]
        : table(
            ["destination", "until (UTC)", "reason"],
            pauses.map(({ destination, until, reason }) => [destination, formatUtcTime(until), reason]),
            paint,
          ),
    );
    return 0;
  },
});

const emailQueueResume = defineCommand({
  name: "email queue resume",
  summary: "resume a paused destination and retry its mail immediately",
  arguments: [{ name: "destination", summary: "domain as listed by `email queue pauses`", required: true }],
  options: serverOptions,
  examples: [["reelpost email queue resume example.net", "after its server accepts mail again"]],
  async run(values, [destination], context) {
    const { api, base } = await connectToApi(values, context);
    const resumed = await api.result("POST", `${base}/email/queue/pauses/resume`, { json: { destination } });
    printResult(context, resumed, () => [`Resumed ${oneLine(destination!)}`]);
    return 0;
  },
});

const emailQueueList = defineCommand({
  name: "email queue list",
  summary: "list queued mail, newest first",
  description: "A message has one entry per recipient, while it is queued and for some days after it failed.",
  options: {
    state: {
      type: "string",
      placeholder: "state",
      choices: QUEUE_STATES,
      summary: "only recipients in this state",
      defaultText: "all but delivered",
    },
    domain: { type: "string", placeholder: "domain", summary: "only recipients at this domain" },
    platform: {
      type: "boolean",
      summary: "only system mail, such as verification messages and delivery reports (operators only)",
    },
    ...limitOption(10_000, 100),
    ...serverOptions,
  },
  examples: [
    ["reelpost email queue list", "status, reason and expiration of each recipient"],
    ["reelpost email queue list --state failed --domain example.net", "failed deliveries to a domain"],
  ],
  async run({ state, domain, platform, limit = 100, ...values }, _, context) {
    const connection = await connectToApi(values, context);
    const states = state === undefined ? QUEUE_STATES.filter((one) => one !== "delivered") : [state];
    const lists = await Promise.all(states.map((one) => newest(connection, { state: one, domain, platform }, limit)));
    // A recipient whose state changes between the requests is in two lists, or in none.
    const items = [...new Map(lists.flat().map((item) => [`${item.id} ${item.to}`, item])).values()]
      .sort((a, b) => b.created.localeCompare(a.created))
      .slice(0, limit);
    printResult(context, items, (paint) => (items.length === 0 ? ["No messages."] : queueTable(items, paint)));
    return 0;
  },
});

async function newest(
  { api, base }: ApiConnection,
  query: NonNullable<ApiRequestOptions["query"]>,
  limit: number,
): Promise<QueuedItem[]> {
  const items: QueuedItem[] = [];
  for await (const item of cursorPagesOf<QueuedItem>(api, `${base}/email/queue`, {
    query: { ...query, per_page: Math.min(limit, 1000) },
  })) {
    if (items.push(item) === limit) break;
  }
  return items;
}

const emailQueueGet = defineCommand({
  name: "email queue get",
  summary: "show a queued message and the replies of each next hop",
  arguments: [{ name: "id", summary: "id of the message", required: true }],
  options: serverOptions,
  examples: [["reelpost email queue get 91ab…", "an id from the list"]],
  async run(values, [id], context) {
    const { api, base } = await connectToApi(values, context);
    const message = await api.result<QueuedMessageDetails>("GET", `${base}/email/queue${at`/${id!}`}`);
    printResult(context, message, (paint) => queuedMessageLines(message, paint));
    return 0;
  },
});

const emailQueueResend = defineCommand({
  name: "email queue resend",
  summary: "retry immediately, including failed recipients, and resume the paused destination",
  arguments: [{ name: "id", summary: "id of the message", required: true }],
  options: serverOptions,
  examples: [["reelpost email queue resend 91ab…", "after a problem of the receiving server is fixed"]],
  async run(values, [id], context) {
    const { api, base } = await connectToApi(values, context);
    const message = await api.result<QueuedMessageDetails>("POST", `${base}/email/queue${at`/${id!}`}/resend`);
    printResult(context, message, (paint) => queuedMessageLines(message, paint));
    return 0;
  },
});

const emailQueueCancel = defineCommand({
  name: "email queue cancel",
  summary: "cancel a queued message for all pending recipients",
  description: "Deliveries in progress continue. The sender receives a bounce as for any undeliverable message.",
  arguments: [{ name: "id", summary: "id of the message", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost email queue cancel 91ab…", "`reelpost email queue resend` resumes it"]],
  async run({ yes, ...values }, [id], context) {
    const { api, base } = await connectToApi(values, context);
    await confirm(`Cancel the delivery of message ${id!}?`, yes, context);
    const message = await api.result<QueuedMessageDetails>("POST", `${base}/email/queue${at`/${id!}`}/cancel`);
    printResult(context, message, (paint) => queuedMessageLines(message, paint));
    return 0;
  },
});

export const emailQueueCommands: readonly Command[] = [
  emailQueueList,
  emailQueueGet,
  emailQueueResend,
  emailQueueCancel,
  emailQueuePauses,
  emailQueueResume,
];
