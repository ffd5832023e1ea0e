import type { ApiRequest } from "../../api/client.ts";
import { connect, type Connection } from "../../api/connect.ts";
import { cursorPagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { QUEUE_STATES, queueTable, type QueuedItem } from "../../email/queue.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailQueueList = defineCommand({
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
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 10_000,
      summary: "maximum number of entries",
      defaultText: "100",
    },
    ...serverOptions,
  },
  examples: [
    ["reelpost email queue list", "status, reason and expiration of each recipient"],
    ["reelpost email queue list --state failed --domain example.net", "failed deliveries to a domain"],
  ],
  async run({ state, domain, platform, limit = 100, ...values }, _, surroundings) {
    const connection = await connect(values, surroundings);
    const states = state === undefined ? QUEUE_STATES.filter((one) => one !== "delivered") : [state];
    const lists = await Promise.all(states.map((one) => newest(connection, { state: one, domain, platform }, limit)));
    // A recipient whose state changes between the requests is in two lists, or in none.
    const items = [...new Map(lists.flat().map((item) => [`${item.id} ${item.to}`, item])).values()]
      .sort((a, b) => b.created.localeCompare(a.created))
      .slice(0, limit);
    printResult(surroundings, items, (paint) => (items.length === 0 ? ["Nothing."] : queueTable(items, paint)));
    return 0;
  },
});

async function newest(
  { api, base }: Connection,
  query: NonNullable<ApiRequest["query"]>,
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
