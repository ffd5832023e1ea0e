import { z } from "@hono/zod-openapi";
import type { Caller } from "../../../accounts/index.ts";
import { addressErrors } from "../../../mail/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { addressSchema, showAddress } from "./routing-schemas.ts";
import type { EmailRoutingDeps } from "./routing-settings.ts";

const tag = "Email Routing destination addresses";
const ADDRESSES_PATH = "/accounts/{account_id}/email/routing/addresses";
const ADDRESS_PATH = `${ADDRESSES_PATH}/{destination_address_identifier}`;

/**
 * Throws adminOnly unless the caller may administer the account: otherwise a user who may add addresses could send mail
 * to people who never consented.
 */
function requireAdmin(caller: Caller, account: string): void {
  if (!caller.allows("Account Settings Write", { account })) throw addressErrors.adminOnly();
}

export function routingAddressesRoutes({ routing: { addresses } }: EmailRoutingDeps): Route[] {
  const idsOf = ({
    account_id,
    destination_address_identifier,
  }: Record<string, string>): [account: string, id: string] => [account_id!, destination_address_identifier!];

  return [
    // `verified` defaults to true in the published API; wrangler omits it and shows pending addresses, so the default
    // here lists all.
    route(
      {
        id: "email-routing-destination-addresses-list-destination-addresses",
        method: "get",
        path: ADDRESSES_PATH,
        tag,
        summary: "List destination addresses",
        permission: "Email Routing Addresses Read",
        result: z.array(addressSchema),
        query: z.object({
          verified: z.enum(["true", "false"]).optional(),
          order: z.literal("created").optional(),
          direction: z.enum(["asc", "desc"]).default("asc"),
          ...pageQuery({ max: 50 }),
        }),
      },
      async ({ params, query: { verified, direction, ...query } }) => {
        const page = pageRequest(query);
        return respondWithPage(
          await addresses.list(
            params.account_id!,
            { verified: verified === undefined ? undefined : verified === "true", direction },
            page,
          ),
          page,
          showAddress,
        );
      },
    ),
    route(
      {
        id: "email-routing-destination-addresses-create-a-destination-address",
        method: "post",
        path: ADDRESSES_PATH,
        tag,
        summary:
          "Create a destination address and send it a verification email; administrators may create it as verified",
        permission: "Email Routing Addresses Write",
        body: z.object({ email: z.string(), status: z.enum(["verified", "unverified"]).nullish() }),
        result: addressSchema,
      },
      async ({ params, body: { email, status }, caller }) => {
        const account = params.account_id!;
        if (status === "verified") requireAdmin(caller, account);
        return respond(showAddress(await addresses.create(account, email, { verified: status === "verified" })));
      },
    ),
    route(
      {
        id: "email-routing-destination-addresses-get-a-destination-address",
        method: "get",
        path: ADDRESS_PATH,
        tag,
        summary: "Get a destination address",
        permission: "Email Routing Addresses Read",
        result: addressSchema,
      },
      async ({ params }) => respond(showAddress(await addresses.get(...idsOf(params)))),
    ),
    route(
      {
        id: "email-routing-destination-addresses-update-destination-address",
        method: "patch",
        path: ADDRESS_PATH,
        tag,
        summary: "Mark a destination address as verified or unverified",
        permission: "Email Routing Addresses Write",
        body: z.object({ status: z.enum(["verified", "unverified"]) }),
        result: addressSchema,
      },
      async ({ params, body: { status }, caller }) => {
        if (status === "verified") requireAdmin(caller, params.account_id!);
        return respond(showAddress(await addresses.setVerified(...idsOf(params), status === "verified")));
      },
    ),
    route(
      {
        id: "email-routing-destination-addresses-delete-destination-address",
        method: "delete",
        path: ADDRESS_PATH,
        tag,
        summary: "Delete a destination address and disable its rules",
        permission: "Email Routing Addresses Write",
        result: addressSchema,
      },
      async ({ params }) => respond(showAddress(await addresses.delete(...idsOf(params)))),
    ),
    route(
      {
        id: "email-routing-destination-addresses-resend",
        method: "post",
        path: `${ADDRESS_PATH}/resend`,
        tag,
        summary: "Resend the verification email",
        permission: "Email Routing Addresses Write",
        result: addressSchema,
      },
      async ({ params }) => respond(showAddress(await addresses.resend(...idsOf(params)))),
    ),
  ];
}
