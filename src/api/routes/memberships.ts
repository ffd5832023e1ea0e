import { z } from "@hono/zod-openapi";
import {
  describeRole,
  permissionGroups,
  roleAllows,
  SCOPE_NAMES,
  type Memberships,
  type MembershipWithAccount,
} from "../../accounts/index.ts";
import { respond, respondWithPage, route, type Route } from "../operation.ts";
import { pageQuery, pageRequest } from "../paging.ts";
import { accountResult, direction, idResult, showAccount } from "./account-schema.ts";
import { areaPermissionsOf, areaPermissionsResult } from "./role-schema.ts";

const tag = "Memberships";

const membershipResult = z.object({
  id: z.string(),
  account: accountResult,
  status: z.enum(["accepted", "pending", "rejected"]),
  roles: z.array(z.string()),
  permissions: areaPermissionsResult,
  api_access_enabled: z.boolean().nullable(),
});
const detailedResult = membershipResult.extend({
  policies: z.array(
    z.object({
      id: z.string(),
      access: z.enum(["allow", "deny"]),
      permission_groups: z.array(z.object({ id: z.string(), name: z.string() })),
      resource_groups: z.array(
        z.object({
          id: z.string(),
          name: z.string(),
          scope: z.object({ key: z.string(), objects: z.array(z.object({ key: z.string() })) }),
        }),
      ),
    }),
  ),
});

const showMembership = ({
  membership: { id, status, role },
  account,
}: MembershipWithAccount): z.input<typeof membershipResult> => ({
  id,
  account: showAccount(account),
  status,
  roles: [describeRole(role).name],
  permissions: areaPermissionsOf(role),
  api_access_enabled: null,
});

const showDetails = (found: MembershipWithAccount): z.input<typeof detailedResult> => {
  const name = `${SCOPE_NAMES.account}.${found.account.id}`;
  return {
    ...showMembership(found),
    policies: [
      {
        id: found.membership.id,
        access: "allow",
        permission_groups: permissionGroups
          .filter(({ name: permission, scope }) => scope !== "user" && roleAllows(found.membership.role, permission))
          .map((group) => ({ id: group.id, name: group.name })),
        resource_groups: [{ id: found.account.id, name, scope: { key: name, objects: [{ key: "*" }] } }],
      },
    ],
  };
};

const accountOf = ({ before }: { before: unknown }) =>
  (before as z.input<typeof detailedResult> | undefined)?.account.id;

export const membershipRoutes = ({ memberships }: { memberships: Memberships }): Route[] => [
  route(
    {
      id: "user'-s-account-memberships-list-memberships",
      method: "get",
      path: "/memberships",
      tag,
      summary: "List the user's memberships",
      permission: "Memberships Read",
      query: z.object({
        ...pageQuery(),
        direction,
        name: z.string().optional(),
        "account.name": z.string().optional(),
        status: z.enum(["accepted", "pending", "rejected"]).optional(),
        order: z.enum(["id", "account.name", "status"]).optional(),
      }),
      result: z.array(membershipResult),
    },
    async ({ caller, query }) => {
      const page = pageRequest(query);
      const found = await memberships.list(caller, page, {
        accountName: query["account.name"] ?? query.name,
        status: query.status,
        order: query.order,
        direction: query.direction,
      });
      return respondWithPage(found, page, showMembership);
    },
  ),

  route(
    {
      id: "user'-s-account-memberships-membership-details",
      method: "get",
      path: "/memberships/{membership_id}",
      tag,
      summary: "Get a membership",
      permission: "Memberships Read",
      result: detailedResult,
    },
    async ({ caller, params }) => respond(showDetails(await memberships.get(caller, params.membership_id!))),
  ),

  route(
    {
      id: "user'-s-account-memberships-update-membership",
      method: "put",
      path: "/memberships/{membership_id}",
      tag,
      summary: "Accept or reject a membership",
      permission: "Memberships Write",
      audit: { account: accountOf },
      body: z.object({ status: z.enum(["accepted", "rejected"]) }),
      result: detailedResult,
    },
    async ({ caller, params, body }) =>
      respond(showDetails(await memberships.setStatus(caller, params.membership_id!, body.status))),
  ),

  route(
    {
      id: "user'-s-account-memberships-delete-membership",
      method: "delete",
      path: "/memberships/{membership_id}",
      tag,
      summary: "Leave an account",
      permission: "Memberships Write",
      audit: { account: accountOf },
      result: idResult,
    },
    async ({ caller, params }) => {
      await memberships.delete(caller, params.membership_id!);
      return respond({ id: params.membership_id! });
    },
  ),
];
