import type { Env } from "./env.ts";
import { createMessagesTable } from "./messages-table.ts";

export interface Counters {
  messages: number;
  attachments: number;
  octets: number;
}

/**
 * KV cannot add to a number: two messages at the same moment would read the same value and one would be lost.
 * So the numbers are counted in D1 and kept in KV, where every visit of the page reads them at the price of one key.
 */
export async function recount(env: Env): Promise<void> {
  await env.COUNTERS.put("counters", JSON.stringify(await createMessagesTable(env.MESSAGES).totals()));
}

export async function readCounters(env: Env): Promise<Counters> {
  return (await env.COUNTERS.get<Counters>("counters", "json")) ?? { messages: 0, attachments: 0, octets: 0 };
}
