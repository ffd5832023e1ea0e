import { z } from "@hono/zod-openapi";
import { accountErrors, type Accounts } from "../../accounts/index.ts";
import { respond, respondWithPage, route, type Route } from "../operation.ts";
import { pageQuery, pageRequest } from "../paging.ts";
import { accountResult, direction, idResult, showAccount } from "./account-schema.ts";

const tag = "Accounts";
const type = z.enum(["standard", "enterprise"]).optional();

/**
 * Routes under /accounts. The domain decides which accounts a token can see: any permission for an account allows
 * reading it.
 */
export const accountRoutes = ({ accounts }: { accounts: Accounts }): Route[] => [
  route(
    {
      id: "accounts-list-accounts",
      method: "get",
      path: "/accounts",
      tag,
      summary: "List accounts",
      permission: null,
      query: z.object({ ...pageQuery(), name: z.string().optional(), direction }),
      result: z.array(accountResult),
    },
    async ({ caller, query }) => {
      const page = pageRequest(query);
      return respondWithPage(await accounts.list(caller, page, query), page, showAccount);
    },
  ),

  route(
    {
      // A new account has no parent resource; its creator becomes a member.
      id: "account-creation",
      method: "post",
      path: "/accounts",
      tag,
      summary: "Create an account",
      permission: "Memberships Write",
      body: z.object({ name: z.string(), type }),
      // Otherwise the log of each of the user's accounts would list the creation.
      audit: { account: ({ after }) => (after as z.input<typeof accountResult>).id },
      result: accountResult,
    },
    async ({ caller, body }) => respond(showAccount(await accounts.create(caller, body))),
  ),

  route(
    {
      id: "accounts-account-details",
      method: "get",
      path: "/accounts/{account_id}",
      tag,
      summary: "Get an account",
      permission: null,
      result: accountResult,
    },
    async ({ caller, params }) => respond(showAccount(await accounts.get(caller, params.account_id!))),
  ),

  route(
    {
      id: "accounts-update-account",
      method: "put",
      path: "/accounts/{account_id}",
      tag,
      summary: "Update an account",
      permission: "Account Settings Write",
      body: z.object({
        id: z.string().optional(),
        name: z.string(),
        type,
        settings: z
          .object({ abuse_contact_email: z.string().nullish(), enforce_twofactor: z.boolean().nullish() })
          .nullish(),
      }),
      result: accountResult,
    },
    async ({ params, body: { id, name, type: kind, settings } }) => {
      if (id !== undefined && id !== params.account_id)
        throw accountErrors.badAccount({ field: "id", reason: "it is not the one in the path" });
      const { abuse_contact_email: abuseContact, enforce_twofactor: requireTwofactor } = settings ?? {};
      const settingsChange = {
        ...(abuseContact !== undefined && { abuseContactEmail: abuseContact || undefined }),
        ...(requireTwofactor != null && { enforceTwofactor: requireTwofactor }),
      };
      return respond(
        showAccount(await accounts.update(params.account_id!, { name, type: kind, settings: settingsChange })),
      );
    },
  ),

  route(
    {
      id: "account-deletion",
      method: "delete",
      path: "/accounts/{account_id}",
      tag,
      summary: "Delete an account, which must be empty and not the last one",
      permission: "Account Settings Write",
      // The log of the account is no longer accessible.
      audit: { account: () => undefined },
      result: idResult,
    },
    async ({ params }) => {
      await accounts.delete(params.account_id!);
      return respond({ id: params.account_id! });
    },
  ),
];
