import { z } from "@hono/zod-openapi";
import {
  bucketSettingsErrors,
  notificationActions,
  queueErrors,
  type BucketSettingsStore,
  type NotificationRule,
  type Queues,
  type R2BucketList,
} from "../../../workers/index.ts";
import { answer, route, type Call, type Route } from "../../operation.ts";
import { bucketOf } from "./bucket.ts";
import { refOf } from "./rules.ts";

export interface NotificationRouteDeps {
  bucketList: R2BucketList;
  settings: BucketSettingsStore;
  queues: Pick<Queues, "get">;
}

const shownRule = z.object({
  ruleId: z.string(),
  createdAt: z.string(),
  actions: z.array(z.enum(notificationActions)),
  prefix: z.string().optional(),
  suffix: z.string().optional(),
  description: z.string().optional(),
});
const shownQueue = z.object({ queueId: z.string(), queueName: z.string(), rules: z.array(shownRule) });
const text = z.string().max(1024).optional();
const newRule = z.object({
  actions: z.array(z.enum(notificationActions)).min(1),
  prefix: text,
  suffix: text,
  description: text,
});
const removal = z.object({ ruleIds: z.array(z.string()).max(1000).optional() });

/** Event notifications of a bucket: changes of objects become messages in queues. */
export function notificationRoutes({ bucketList, settings, queues }: NotificationRouteDeps): Route[] {
  const read = { tag: "R2 Bucket", permission: "Workers R2 Storage Read" } as const;
  const write = { tag: "R2 Bucket", permission: "Workers R2 Storage Write" } as const;
  const all = "/accounts/{account_id}/event_notifications/r2/{bucket_name}/configuration";
  const one = `${all}/queues/{queue_id}`;

  async function queueOf({ params }: Pick<Call, "params">) {
    const queue = await queues.get(params.account_id!, params.queue_id!);
    if (queue === undefined) throw queueErrors.queueMissing({ queue: params.queue_id! });
    return queue;
  }

  return [
    route(
      {
        ...read,
        id: "r2-get-event-notification-configs",
        method: "get",
        path: all,
        summary: "List the event notification rules of a bucket",
        result: z.object({ bucketName: z.string(), queues: z.array(shownQueue) }),
      },
      async (call) => {
        const { id, name } = await bucketOf(bucketList, call);
        const byQueue = Map.groupBy((await settings.of(id)).notifications, ({ queue }) => queue);
        const shown = await Promise.all(
          [...byQueue].map(async ([queueId, rules]) => ({
            queueId,
            queue: await queues.get(call.params.account_id!, queueId),
            rules: rules.map(show),
          })),
        );
        return answer({
          bucketName: name,
          // A rule of a deleted queue has no effect.
          queues: shown.flatMap(({ queueId, queue, rules }) =>
            queue === undefined ? [] : [{ queueId, queueName: queue.name, rules }],
          ),
        });
      },
    ),
    route(
      {
        ...read,
        id: "r2-event-notification-get-config",
        method: "get",
        path: one,
        summary: "Get the event notification rules for a queue",
        result: shownQueue,
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const queue = await queueOf(call);
        const rules = (await settings.of(id)).notifications.filter((rule) => rule.queue === queue.id);
        if (rules.length === 0)
          throw bucketSettingsErrors.noNotification({ reason: `the queue ${queue.name} has no rules` });
        return answer({ queueId: queue.id, queueName: queue.name, rules: rules.map(show) });
      },
    ),
    route(
      {
        ...write,
        id: "r2-put-event-notification-config",
        method: "put",
        path: one,
        summary: "Add event notification rules for a queue",
        body: z.object({ rules: z.array(newRule).min(1).max(100) }),
        result: z.object({}),
      },
      async (call) => {
        const ref = await refOf(bucketList, call);
        const { id } = await queueOf(call);
        await settings.addNotifications(ref, id, call.body.rules);
        return answer({});
      },
    ),
    route(
      {
        ...write,
        id: "r2-event-notification-delete-config",
        method: "delete",
        path: one,
        summary: "Delete event notification rules for a queue",
        body: removal,
        bodyOptional: true,
        result: z.object({}),
      },
      async (call) => {
        const ref = await refOf(bucketList, call);
        // Also for a deleted queue.
        await settings.removeNotifications(ref, call.params.queue_id!, call.body.ruleIds);
        return answer({});
      },
    ),
  ];
}

const show = ({ id, createdAt, actions, prefix, suffix, description }: NotificationRule) => ({
  ruleId: id,
  createdAt,
  actions,
  ...(prefix !== undefined && { prefix }),
  ...(suffix !== undefined && { suffix }),
  ...(description !== undefined && { description }),
});
