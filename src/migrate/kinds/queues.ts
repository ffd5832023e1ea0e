import { plannedItem, type Context } from "../context.ts";
import { migrateErrors } from "../errors.ts";
import type { PlannedItem, V4Client } from "../port.ts";
import { apiPath, collect, hasErrorStatus, readNumberedPages } from "../requests.ts";

interface Queue {
  queue_id: string;
  queue_name: string;
  settings?: Record<string, unknown>;
  consumers?: Consumer[];
}

interface Consumer {
  consumer_id?: string;
  type?: string;
  script?: string;
  script_name?: string;
  dead_letter_queue?: string;
  settings?: Record<string, unknown>;
}

const QUEUE_SETTINGS = ["delivery_delay", "delivery_paused", "message_retention_period"];
const CONSUMER_SETTINGS = [
  "batch_size",
  "max_concurrency",
  "max_retries",
  "max_wait_time_ms",
  "retry_delay",
  "visibility_timeout_ms",
];

export const queuesOf = async (api: V4Client, base: string): Promise<Queue[]> =>
  collect(readNumberedPages<Queue>(api, `${base}/queues`, { perPage: 100 })).catch((thrown: unknown) => {
    // The server has no queues.
    if (hasErrorStatus(thrown, 404)) return [];
    throw thrown;
  });

const bothSides = ({ source, target, paths }: Context) =>
  Promise.all([queuesOf(source.api, paths.source), queuesOf(target.api, paths.target)]);

/**
 * Plans the import of queues, which must exist before workers are bound to them. Their messages stay on the source.
 */
export async function planQueues(context: Context): Promise<PlannedItem[]> {
  const [ours, theirs] = await bothSides(context);
  const path = `${context.paths.target}/queues`;
  const { api } = context.target;
  return ours.map((queue) => {
    const existing = theirs.find(({ queue_name }) => queue_name === queue.queue_name);
    const settings = pick(queue.settings, QUEUE_SETTINGS);
    const json = { queue_name: queue.queue_name, settings };
    return plannedItem(context, {
      kind: "queue",
      key: `queue ${queue.queue_name}`,
      name: queue.queue_name,
      losses: ["its messages are not imported"],
      source: settings,
      target: existing && pick(existing.settings, Object.keys(settings)),
      async apply() {
        if (existing === undefined) await api.result("POST", path, { json });
        else await api.result("PUT", path + apiPath`/${existing.queue_id}`, { json });
      },
    });
  });
}

/** Plans the import of the consumers of queues: workers, which have been imported by now, and HTTP clients. */
export async function planConsumers(context: Context): Promise<PlannedItem[]> {
  const [ours, theirs] = await bothSides(context);
  return ours.flatMap(({ queue_name: name, consumers = [] }) => {
    const [consumer] = consumers;
    if (consumer === undefined) return [];
    const existing = theirs.find(({ queue_name }) => queue_name === name)?.consumers?.[0];
    const wanted = formOf(consumer);
    return [
      plannedItem(context, {
        kind: "queue consumer",
        key: `consumer ${name}`,
        name: `${name}: ${wanted.script_name ?? "HTTP"}`,
        source: wanted,
        target: existing && formOf(existing, Object.keys(wanted.settings)),
        async apply() {
          const { api } = context.target;
          // The queue may have been created during this run.
          const queue = (await queuesOf(api, context.paths.target)).find(({ queue_name }) => queue_name === name);
          if (queue === undefined) throw migrateErrors.parentMissing({ what: `The queue ${name}` });
          const path = `${context.paths.target}/queues${apiPath`/${queue.queue_id}`}/consumers`;
          if (existing?.consumer_id === undefined) await api.result("POST", path, { json: wanted });
          else await api.result("PUT", path + apiPath`/${existing.consumer_id}`, { json: wanted });
        },
      }),
    ];
  });
}

const formOf = (
  { type = "worker", script_name, script, dead_letter_queue, settings }: Consumer,
  fields: readonly string[] = CONSUMER_SETTINGS,
) => ({
  type,
  ...((script_name ?? script) !== undefined && { script_name: script_name ?? script }),
  ...(dead_letter_queue && { dead_letter_queue }),
  settings: pick(settings, fields),
});

const pick = (settings: Record<string, unknown> = {}, fields: readonly string[]) =>
  Object.fromEntries(fields.flatMap((field) => (settings[field] == null ? [] : [[field, settings[field]]])));
