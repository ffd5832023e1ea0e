import { z } from "@hono/zod-openapi";
import { customerCode, type StreamUrls } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";

interface StreamDeliveryDeps {
  urls: Pick<StreamUrls, "origin" | "deliveryDomain">;
}

const deliverySchema = z.object({
  customerCode: z.string().describe("The account's code in `customer-<code>.<deliveryDomain>`."),
  deliveryDomain: z.string().nullable().describe("`stream.delivery_domain`; null if it is not set."),
  baseUrl: z.string().describe("URL before `/<uid>` of every video of the account."),
});

/**
 * The URLs at which the videos of an account are served. Not part of the hosted API: the hosted service shows them only
 * in its dashboard.
 */
export const streamDeliveryRoutes = ({ urls }: StreamDeliveryDeps): Route[] => [
  route(
    {
      id: "stream-delivery-get",
      method: "get",
      path: "/accounts/{account_id}/stream/delivery",
      tag: "Stream Videos",
      summary: "Get the customer code and the base URL of the account's videos",
      permission: "Stream Read",
      result: deliverySchema,
    },
    async ({ params: { account_id: account } }) =>
      respond({
        customerCode: customerCode(account!),
        deliveryDomain: urls.deliveryDomain === "" ? null : urls.deliveryDomain,
        baseUrl: urls.origin(account!),
      }),
  ),
];
