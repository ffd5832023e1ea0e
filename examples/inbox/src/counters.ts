import type { Env } from "./env.ts";
import { createMessagesTable } from "./messages-table.ts";

export interface Counters {
  messages: number;
  attachments: number;
  octets: number;
}

/**
 * KV has no atomic increment: two concurrent messages would read the same value, and one would be lost. So the counters
 * are computed in D1 and stored in KV, where each page view reads them with one key.
 */
export async function recount(env: Env): Promise<void> {
  await env.COUNTERS.put("counters", JSON.stringify(await createMessagesTable(env.MESSAGES).totals()));
}

export async function readCounters(env: Env): Promise<Counters> {
  return (await env.COUNTERS.get<Counters>("counters", "json")) ?? { messages: 0, attachments: 0, octets: 0 };
}
