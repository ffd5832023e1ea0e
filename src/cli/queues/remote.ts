import type { ApiConnection } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { commandErrors } from "../errors.ts";

/** A queue in API responses. */
export interface RemoteQueue {
  queue_id: string;
  queue_name: string;
  created_on: string;
  producers_total_count: number;
  producers: { script?: string }[];
  consumers: { consumer_id: string; type: string; script?: string }[];
  settings: { delivery_delay: number; delivery_paused: boolean; message_retention_period: number };
}

/** Finds a queue by name. Throws queueMissing. */
export async function findQueue(
  api: ApiConnection["api"],
  base: string,
  name: string,
): Promise<{ path: string; queue: RemoteQueue }> {
  const [queue] = await api.result<RemoteQueue[]>("GET", `${base}/queues`, { query: { name } });
  if (queue === undefined) throw commandErrors.queueMissing({ queue: name });
  return { path: `${base}/queues${at`/${queue.queue_id}`}`, queue };
}

export const toQueueSettings = (values: { "delivery-delay": number | undefined; retention: number | undefined }) => ({
  delivery_delay: values["delivery-delay"],
  message_retention_period: values.retention,
});

export const consumerLabel = ({ type, script }: RemoteQueue["consumers"][number]) => script ?? type;
