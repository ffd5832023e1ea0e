import { z } from "@hono/zod-openapi";
import {
  accountErrors,
  findPermissionGroups,
  type Permission,
  type TokenOwner,
  type Tokens,
} from "../../accounts/index.ts";
import { offsetOf } from "../../kernel/index.ts";
import { respond, respondWithPage, route, type Call, type Route } from "../operation.ts";
import { pageQuery, pageRequest } from "../paging.ts";
import { secretField } from "../secret-fields.ts";
import { direction, idResult } from "./account-schema.ts";
import {
  createdResult,
  groupResult,
  tokenRequestOf,
  showGroup,
  showToken,
  showVerified,
  tokenBody,
  tokenResult,
  verifyResult,
} from "./token-schema.ts";

/** Clients show this text. */
const VALID_MESSAGE = { code: 10000, message: "This API Token is valid and active" };

type TokenCall = Pick<Call, "caller" | "params">;

/** User tokens and account tokens have the same operations at two paths. */
interface Kind {
  tag: string;
  base: string;
  read: Permission;
  write: Permission;
  ids: Record<"list" | "create" | "groups" | "verify" | "get" | "update" | "delete" | "roll", string>;
  owner(call: TokenCall): TokenOwner;
  verified(call: TokenCall): "user" | { account: string };
}

const userKind: Kind = {
  tag: "User API tokens",
  base: "/user/tokens",
  read: "API Tokens Read",
  write: "API Tokens Write",
  ids: {
    list: "user-api-tokens-list-tokens",
    create: "user-api-tokens-create-token",
    groups: "permission-groups-list-permission-groups",
    verify: "user-api-tokens-verify-token",
    get: "user-api-tokens-token-details",
    update: "user-api-tokens-update-token",
    delete: "user-api-tokens-delete-token",
    roll: "user-api-tokens-roll-token",
  },
  owner: ({ caller }) => ({ user: caller.user.id }),
  verified: () => "user",
};

const accountKind: Kind = {
  tag: "Account API tokens",
  base: "/accounts/{account_id}/tokens",
  read: "Account API Tokens Read",
  write: "Account API Tokens Write",
  ids: {
    list: "account-api-tokens-list-tokens",
    create: "account-api-tokens-create-token",
    groups: "account-api-tokens-list-permission-groups",
    verify: "account-api-tokens-verify-token",
    get: "account-api-tokens-token-details",
    update: "account-api-tokens-update-token",
    delete: "account-api-tokens-delete-token",
    roll: "account-api-tokens-roll-token",
  },
  owner: ({ params }) => ({ account: params.account_id! }),
  verified: ({ params }) => ({ account: params.account_id! }),
};

export const tokenRoutes = ({ tokens }: { tokens: Tokens }): Route[] =>
  [userKind, accountKind].flatMap((kind) => routesOf(kind, tokens));

function routesOf({ tag, base, read, write, ids, owner, verified }: Kind, tokens: Tokens): Route[] {
  const tokenPath = `${base}/{token_id}`;

  return [
    route(
      {
        id: ids.list,
        method: "get",
        path: base,
        tag,
        summary: "List tokens",
        permission: read,
        query: z.object({ ...pageQuery(), direction, include_expired: z.enum(["true", "false"]).optional() }),
        result: z.array(tokenResult),
      },
      async (call) => {
        const page = pageRequest(call.query);
        const options = {
          includeExpired: call.query.include_expired === "true",
          ...(call.query.direction && { direction: call.query.direction }),
        };
        return respondWithPage(await tokens.list(owner(call), page, options), page, showToken);
      },
    ),

    route(
      {
        id: ids.create,
        method: "post",
        path: base,
        tag,
        summary: "Create a token; its value is returned only once",
        permission: write,
        body: tokenBody,
        result: createdResult,
      },
      async (call) => {
        const { token, value } = await tokens.create(owner(call), tokenRequestOf(call.body), call.caller);
        return respond({ ...showToken(token), value });
      },
    ),

    route(
      {
        id: ids.groups,
        method: "get",
        path: `${base}/permission_groups`,
        tag,
        summary: "List permission groups",
        permission: read,
        query: z.object({ ...pageQuery({ perPage: 1000 }), name: z.string().optional(), scope: z.string().optional() }),
        result: z.array(groupResult),
      },
      async ({ query }) => {
        const page = pageRequest(query);
        const matchingGroups = findPermissionGroups(query);
        return respondWithPage(
          { items: matchingGroups.slice(offsetOf(page), offsetOf(page) + page.perPage), total: matchingGroups.length },
          page,
          showGroup,
        );
      },
    ),

    route(
      {
        id: ids.verify,
        method: "get",
        path: `${base}/verify`,
        tag,
        summary: "Verify the token of this request",
        permission: null,
        authenticationError: accountErrors.invalidToken,
        result: verifyResult,
      },
      async (call) =>
        respond(showVerified(await tokens.verify(call.caller, verified(call))), { messages: [VALID_MESSAGE] }),
    ),

    route(
      {
        id: ids.get,
        method: "get",
        path: tokenPath,
        tag,
        summary: "Get a token",
        permission: read,
        result: tokenResult,
      },
      async (call) => respond(showToken(await tokens.get(owner(call), call.params.token_id!))),
    ),

    route(
      {
        id: ids.update,
        method: "put",
        path: tokenPath,
        tag,
        summary: "Update a token",
        permission: write,
        body: tokenBody,
        result: tokenResult,
      },
      async (call) =>
        respond(
          showToken(await tokens.update(owner(call), call.params.token_id!, tokenRequestOf(call.body), call.caller)),
        ),
    ),

    route(
      {
        id: ids.delete,
        method: "delete",
        path: tokenPath,
        tag,
        summary: "Revoke a token",
        permission: write,
        result: idResult,
      },
      async (call) => {
        await tokens.delete(owner(call), call.params.token_id!);
        return respond({ id: call.params.token_id! });
      },
    ),

    route(
      {
        id: ids.roll,
        method: "put",
        path: `${tokenPath}/value`,
        tag,
        summary: "Roll a token: replace its value",
        permission: write,
        body: z.looseObject({}),
        bodyOptional: true,
        result: secretField(z.string()),
      },
      async (call) => respond(await tokens.roll(owner(call), call.params.token_id!, call.caller)),
    ),
  ];
}
