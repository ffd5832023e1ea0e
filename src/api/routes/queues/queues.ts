import { z } from "@hono/zod-openapi";
import type { Queue, QueueSettings } from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import {
  QUEUE,
  QUEUES,
  getQueue,
  queueShape,
  READ_OPTIONS,
  toQueueResponse,
  WRITE_OPTIONS,
  type QueueRouteDeps,
} from "./shapes.ts";

const settings = z
  .object({
    delivery_delay: z.number().nullish(),
    delivery_paused: z.boolean().nullish(),
    message_retention_period: z.number().nullish(),
  })
  .nullish();
const jurisdiction = z.enum(["eu", "us", "fedramp"]).nullish();
/** Loose, because some clients send back the whole queue object. */
const queueBody = z.looseObject({ queue_name: z.string().optional(), settings, jurisdiction });
const names = z.union([z.string().transform((name) => [name]), z.array(z.string()).max(1000)]).optional();

function readSettings(
  sentSettings: z.infer<typeof settings>,
  requestedJurisdiction: z.infer<typeof jurisdiction>,
): Partial<QueueSettings> {
  return {
    ...(typeof sentSettings?.delivery_delay === "number" && { deliveryDelay: sentSettings.delivery_delay }),
    ...(typeof sentSettings?.delivery_paused === "boolean" && { deliveryPaused: sentSettings.delivery_paused }),
    ...(typeof sentSettings?.message_retention_period === "number" && {
      retention: sentSettings.message_retention_period,
    }),
    ...(typeof requestedJurisdiction === "string" && { jurisdiction: requestedJurisdiction }),
  };
}

/** Routes that create, list, change and delete queues. */
export function queueRoutes({ queues, scripts }: QueueRouteDeps): Route[] {
  const toResponse = async (account: string, queue: Queue) =>
    toQueueResponse(queue, await scripts.queueProducers(account));

  const updateRoute = (id: string, method: "put" | "patch"): Route =>
    route(
      { ...WRITE_OPTIONS, id, method, path: QUEUE, summary: "Update Queue", body: queueBody, result: queueShape },
      async ({ params, body }) =>
        respond(
          await toResponse(
            params.account_id!,
            await queues.update(params.account_id!, params.queue_id!, {
              ...(body.queue_name !== undefined && { name: body.queue_name }),
              settings: readSettings(body.settings, body.jurisdiction),
            }),
          ),
        ),
    );

  return [
    route(
      {
        ...READ_OPTIONS,
        id: "queues-list",
        method: "get",
        path: QUEUES,
        summary: "List Queues",
        query: z.object({ ...pageQuery({ perPage: 100 }), name: names }),
        result: z.array(queueShape),
      },
      async ({ params, query }) => {
        const page = pageRequest(query);
        const producers = await scripts.queueProducers(params.account_id!);
        return respondWithPage(await queues.list(params.account_id!, page, query.name), page, (queue) =>
          toQueueResponse(queue, producers),
        );
      },
    ),
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-create",
        method: "post",
        path: QUEUES,
        summary: "Create Queue",
        body: queueBody.extend({ queue_name: z.string() }),
        result: queueShape,
      },
      async ({ params, body }) =>
        respond(
          await toResponse(
            params.account_id!,
            await queues.create(params.account_id!, body.queue_name, readSettings(body.settings, body.jurisdiction)),
          ),
        ),
    ),
    route(
      { ...READ_OPTIONS, id: "queues-get", method: "get", path: QUEUE, summary: "Get Queue", result: queueShape },
      async ({ params }) => respond(await toResponse(params.account_id!, await getQueue(queues, params))),
    ),
    updateRoute("queues-update", "put"),
    updateRoute("queues-update-partial", "patch"),
    route(
      {
        ...WRITE_OPTIONS,
        id: "queues-delete",
        method: "delete",
        path: QUEUE,
        summary: "Delete Queue",
        result: z.null(),
      },
      async ({ params }) => {
        await queues.delete(params.account_id!, params.queue_id!);
        return respond(null);
      },
    ),
  ];
}
