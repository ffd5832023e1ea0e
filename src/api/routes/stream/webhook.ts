import { z } from "@hono/zod-openapi";
import { streamErrors, type WebhookDelivery, type WebhookEndpoint, type Webhooks } from "../../../stream/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { secretField } from "../../secret-fields.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { itemsOfPage, wholeListQuery } from "./whole-list.ts";

interface StreamWebhookDeps {
  webhooks: Webhooks;
}

const tag = "Stream Webhook";
const MAIN = "/accounts/{account_id}/stream/webhook";
/** An extension: the hosted service has one webhook per account. */
const ENDPOINTS_PATH = `${MAIN}/endpoints`;
const ENDPOINT_PATH = `${ENDPOINTS_PATH}/{webhook_id}`;
const [READ, WRITE] = ["Stream Read", "Stream Write"] as const;

const text = z.string();
const urlBody = z.object({ notificationUrl: text.optional(), notification_url: text.optional() });
const mainSchema = z.object({
  notificationUrl: text,
  notification_url: text,
  modified: text,
  secret: secretField(z.string()),
});
const topicsSchema = z.array(z.enum(["videos", "live"]));
const endpointBody = urlBody.extend({ topics: topicsSchema.min(1).optional(), liveInputs: z.array(text).optional() });
const endpointSchema = mainSchema.extend({
  id: text,
  main: z.boolean(),
  topics: topicsSchema,
  liveInputs: z.array(text),
  created: text,
});
const deliverySchema = z.object({
  id: text,
  video: text,
  event: z.enum(["ready", "error", "test", "live_input.connected", "live_input.disconnected", "live_input.errored"]),
  status: z.enum(["waiting", "delivered", "failed"]),
  created: text,
  body: text,
  attempts: z.array(
    z.object({
      at: text,
      milliseconds: z.number(),
      status: z.number().nullable(),
      error: text.nullable(),
      response: text,
    }),
  ),
});

const iso = (time: number): string => new Date(time).toISOString();
const showMain = ({ url, modified, secret }: WebhookEndpoint): z.input<typeof mainSchema> => ({
  notificationUrl: url,
  notification_url: url,
  modified: iso(modified),
  secret,
});
const show = (endpoint: WebhookEndpoint): z.input<typeof endpointSchema> => ({
  id: endpoint.id,
  main: endpoint.main,
  topics: endpoint.topics,
  liveInputs: endpoint.liveInputs,
  created: iso(endpoint.created),
  ...showMain(endpoint),
});
const showDelivery = ({
  id,
  video,
  event,
  status,
  created,
  payload,
  attempts,
}: WebhookDelivery): z.input<typeof deliverySchema> => ({
  id,
  video,
  event,
  status,
  created: iso(created),
  body: payload,
  attempts: attempts.map(({ at, ms, ...attempt }) => ({ at: iso(at), milliseconds: ms, ...attempt })),
});

function urlOf({ notificationUrl, notification_url }: z.output<typeof urlBody>): string {
  const url = notificationUrl ?? notification_url;
  if (url === undefined) throw streamErrors.badParameter({ reason: "notificationUrl is required" });
  return url;
}

export function streamWebhookRoutes({ webhooks }: StreamWebhookDeps): Route[] {
  const endpointKeyOf = ({ account_id, webhook_id }: Record<string, string>): [account: string, id: string] => [
    account_id!,
    webhook_id!,
  ];

  return [
    route(
      {
        id: "stream-webhook-view-webhooks",
        method: "get",
        path: MAIN,
        tag,
        summary: "Get the webhook",
        permission: READ,
        result: mainSchema,
      },
      async ({ params }) => respond(showMain(await webhooks.main(params.account_id!))),
    ),
    route(
      {
        id: "stream-webhook-create-webhooks",
        method: "put",
        path: MAIN,
        tag,
        summary: "Create or update the webhook; an existing secret is kept",
        permission: WRITE,
        translate: toBadParameter,
        body: urlBody,
        result: mainSchema,
      },
      async ({ params, body }) => respond(showMain(await webhooks.setMain(params.account_id!, urlOf(body)))),
    ),
    route(
      {
        id: "stream-webhook-delete-webhooks",
        method: "delete",
        path: MAIN,
        tag,
        summary: "Delete the webhook",
        permission: WRITE,
        result: text,
      },
      async ({ params }) => {
        await webhooks.deleteMain(params.account_id!);
        return respond("ok");
      },
    ),

    route(
      {
        id: "stream-webhooks-list",
        method: "get",
        path: ENDPOINTS_PATH,
        tag,
        summary: "List all webhooks, the main one first",
        permission: READ,
        translate: toBadParameter,
        query: wholeListQuery,
        result: z.array(endpointSchema),
      },
      async ({ params, query }) => respond(itemsOfPage((await webhooks.list(params.account_id!)).map(show), query)),
    ),
    route(
      {
        id: "stream-webhooks-create",
        method: "post",
        path: ENDPOINTS_PATH,
        tag,
        summary: "Create an additional webhook for videos, live inputs or both",
        permission: WRITE,
        translate: toBadParameter,
        body: endpointBody,
        result: endpointSchema,
      },
      async ({ params, body: { topics, liveInputs, ...url } }) =>
        respond(
          show(
            await webhooks.create(params.account_id!, urlOf(url), {
              ...(topics && { topics }),
              ...(liveInputs && { liveInputs }),
            }),
          ),
        ),
    ),
    route(
      {
        id: "stream-webhooks-get",
        method: "get",
        path: ENDPOINT_PATH,
        tag,
        summary: "Get a webhook",
        permission: READ,
        result: endpointSchema,
      },
      async ({ params }) => respond(show(await webhooks.get(...endpointKeyOf(params)))),
    ),
    route(
      {
        id: "stream-webhooks-delete",
        method: "delete",
        path: ENDPOINT_PATH,
        tag,
        summary: "Delete a webhook and its delivery log",
        permission: WRITE,
        result: text,
      },
      async ({ params }) => {
        await webhooks.delete(...endpointKeyOf(params));
        return respond("ok");
      },
    ),
    route(
      {
        id: "stream-webhooks-deliveries",
        method: "get",
        path: `${ENDPOINT_PATH}/deliveries`,
        tag,
        summary: "List the deliveries of a webhook, newest first",
        permission: READ,
        translate: toBadParameter,
        query: z.object(pageQuery({ perPage: 20, max: 100 })),
        result: z.array(deliverySchema),
      },
      async ({ params, query }) => {
        const page = pageRequest(query);
        return respondWithPage(await webhooks.deliveries(...endpointKeyOf(params), page), page, showDelivery);
      },
    ),
    route(
      {
        id: "stream-webhooks-replay",
        method: "post",
        path: `${ENDPOINT_PATH}/deliveries/{delivery_id}/replay`,
        tag,
        summary: "Replay a delivery: send the same event again",
        audit: false,
        permission: WRITE,
        result: deliverySchema,
      },
      async ({ params }) => respond(showDelivery(await webhooks.replay(...endpointKeyOf(params), params.delivery_id!))),
    ),
    route(
      {
        id: "stream-webhooks-test",
        method: "post",
        path: `${ENDPOINT_PATH}/test`,
        tag,
        summary: "Send a test event immediately, without retries",
        audit: false,
        permission: WRITE,
        result: deliverySchema,
      },
      async ({ params }) => respond(showDelivery(await webhooks.test(...endpointKeyOf(params)))),
    ),
  ];
}
