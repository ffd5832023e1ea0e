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
import { respond, route, type Call, type Route } from "../../operation.ts";
import { bucketOf } from "./bucket.ts";
import { bucketRefOf } from "./rules.ts";

export interface NotificationRouteDeps {
  bucketList: R2BucketList;
  settings: BucketSettingsStore;
  queues: Pick<Queues, "get">;
}

const ruleSchema = z.object({
  ruleId: z.string(),
  createdAt: z.string(),
  actions: z.array(z.enum(notificationActions)),
  prefix: z.string().optional(),
  suffix: z.string().optional(),
  description: z.string().optional(),
});
const queueSchema = z.object({ queueId: z.string(), queueName: z.string(), rules: z.array(ruleSchema) });
const optionalText = z.string().max(1024).optional();
const newRuleSchema = z.object({
  actions: z.array(z.enum(notificationActions)).min(1),
  prefix: optionalText,
  suffix: optionalText,
  description: optionalText,
});
const removalSchema = z.object({ ruleIds: z.array(z.string()).max(1000).optional() });

/** Routes for the event notifications of a bucket: object changes become messages in queues. */
export function notificationRoutes({ bucketList, settings, queues }: NotificationRouteDeps): Route[] {
  const readAccess = { tag: "R2 Bucket", permission: "Workers R2 Storage Read" } as const;
  const writeAccess = { tag: "R2 Bucket", permission: "Workers R2 Storage Write" } as const;
  const bucketPath = "/accounts/{account_id}/event_notifications/r2/{bucket_name}/configuration";
  const queuePath = `${bucketPath}/queues/{queue_id}`;

  async function queueOf({ params }: Pick<Call, "params">) {
    const queue = await queues.get(params.account_id!, params.queue_id!);
    if (queue === undefined) throw queueErrors.queueMissing({ queue: params.queue_id! });
    return queue;
  }

  return [
    route(
      {
        ...readAccess,
        id: "r2-get-event-notification-configs",
        method: "get",
        path: bucketPath,
        summary: "List the event notification rules of a bucket",
        result: z.object({ bucketName: z.string(), queues: z.array(queueSchema) }),
      },
      async (call) => {
        const { id, name } = await bucketOf(bucketList, call);
        const byQueue = Map.groupBy((await settings.get(id)).notifications, ({ queue }) => queue);
        const queueRules = await Promise.all(
          [...byQueue].map(async ([queueId, rules]) => ({
            queueId,
            queue: await queues.get(call.params.account_id!, queueId),
            rules: rules.map(showRule),
          })),
        );
        return respond({
          bucketName: name,
          // A rule for a deleted queue has no effect.
          queues: queueRules.flatMap(({ queueId, queue, rules }) =>
            queue === undefined ? [] : [{ queueId, queueName: queue.name, rules }],
          ),
        });
      },
    ),
    route(
      {
        ...readAccess,
        id: "r2-event-notification-get-config",
        method: "get",
        path: queuePath,
        summary: "Get the event notification rules for a queue",
        result: queueSchema,
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const queue = await queueOf(call);
        const rules = (await settings.get(id)).notifications.filter((rule) => rule.queue === queue.id);
        if (rules.length === 0)
          throw bucketSettingsErrors.noNotification({ reason: `the queue ${queue.name} has no rules` });
        return respond({ queueId: queue.id, queueName: queue.name, rules: rules.map(showRule) });
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-put-event-notification-config",
        method: "put",
        path: queuePath,
        summary: "Add event notification rules for a queue",
        body: z.object({ rules: z.array(newRuleSchema).min(1).max(100) }),
        result: z.object({}),
      },
      async (call) => {
        const ref = await bucketRefOf(bucketList, call);
        const { id } = await queueOf(call);
        await settings.addNotifications(ref, id, call.body.rules);
        return respond({});
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-event-notification-delete-config",
        method: "delete",
        path: queuePath,
        summary: "Delete event notification rules for a queue",
        body: removalSchema,
        bodyOptional: true,
        result: z.object({}),
      },
      async (call) => {
        const ref = await bucketRefOf(bucketList, call);
        // Rules for a deleted queue can be deleted too.
        await settings.removeNotifications(ref, call.params.queue_id!, call.body.ruleIds);
        return respond({});
      },
    ),
  ];
}

const showRule = ({ id, createdAt, actions, prefix, suffix, description }: NotificationRule) => ({
  ruleId: id,
  createdAt,
  actions,
  ...(prefix !== undefined && { prefix }),
  ...(suffix !== undefined && { suffix }),
  ...(description !== undefined && { description }),
});
