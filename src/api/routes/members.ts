import { z } from "@hono/zod-openapi";
import {
  accountErrors,
  describeRole,
  roles,
  type Member,
  type Members,
  type Role,
  type RoleDescription,
} from "../../accounts/index.ts";
import { respond, respondWithPage, route, type Route } from "../operation.ts";
import { pageQuery, pageRequest } from "../paging.ts";
import { direction, idResult } from "./account-schema.ts";
import { areaPermissionsOf, areaPermissionsResult } from "./role-schema.ts";

const MEMBERS_PATH = "/accounts/{account_id}/members";
const MEMBER_PATH = `${MEMBERS_PATH}/{member_id}`;
const ROLES_PATH = "/accounts/{account_id}/roles";
const reading = { tag: "Account Members", permission: "Account Settings Read" } as const;
const writing = { tag: "Account Members", permission: "Account Settings Write" } as const;

const roleResult = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  permissions: areaPermissionsResult,
});

const memberResult = z.object({
  id: z.string(),
  email: z.string(),
  status: z.enum(["accepted", "pending", "rejected"]),
  roles: z.array(roleResult),
  user: z.object({
    id: z.string(),
    email: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
  }),
  /** An extension: the hosted service shows invitations only to the invited user. */
  invitation: z.object({ invited_by: z.string(), invited_on: z.string(), expires_on: z.string() }).optional(),
});

// Clients send ids when they create a member, and objects when they update one.
const roleReference = z.union([z.string(), z.object({ id: z.string() }).transform(({ id }) => id)]);
const unsupported = { policies: z.unknown().optional() };

const time = (ms: number): string => new Date(ms).toISOString();

const showRole = ({ id, name, description, role }: RoleDescription): z.input<typeof roleResult> => ({
  id,
  name,
  description,
  permissions: areaPermissionsOf(role),
});

const showMember = ({ id, user, role, status, invitation }: Member): z.input<typeof memberResult> => ({
  id,
  email: user.email,
  status,
  roles: [showRole(describeRole(role))],
  user: {
    id: user.id,
    email: user.email,
    first_name: user.firstName,
    last_name: user.lastName,
  },
  ...(invitation && {
    invitation: {
      invited_by: invitation.invitedBy,
      invited_on: time(invitation.sentAt),
      expires_on: time(invitation.expiresAt),
    },
  }),
});

function findRole(id: string): RoleDescription {
  const found = roles.find((each) => each.id === id);
  if (found === undefined) throw accountErrors.noRole({ id });
  return found;
}

/** A member of the hosted service can have several roles, or policies. */
function roleOf({ roles: ids, policies }: { roles?: string[] | undefined; policies?: unknown }): Role {
  if (policies !== undefined) throw accountErrors.badMember({ field: "policies", reason: "only roles are supported" });
  const [id, ...others] = ids ?? [];
  if (id === undefined || others.length > 0)
    throw accountErrors.badMember({
      field: "roles",
      reason: `a member has one role, and ${ids?.length ?? 0} were sent`,
    });
  return findRole(id).role;
}

export const memberRoutes = ({ members }: { members: Members }): Route[] => [
  route(
    {
      ...reading,
      id: "account-members-list-members",
      method: "get",
      path: MEMBERS_PATH,
      summary: "List the members of an account",
      query: z.object({
        ...pageQuery(),
        direction,
        order: z.enum(["user.first_name", "user.last_name", "user.email", "status"]).optional(),
        status: z.enum(["accepted", "pending", "rejected"]).optional(),
      }),
      result: z.array(memberResult),
    },
    async ({ params, query }) => {
      const page = pageRequest(query);
      return respondWithPage(await members.list(params.account_id!, page, query), page, showMember);
    },
  ),
  route(
    {
      ...writing,
      id: "account-members-add-member",
      method: "post",
      path: MEMBERS_PATH,
      summary: "Invite a user to an account by email",
      body: z.object({
        email: z.string().trim(),
        roles: z.array(roleReference).optional(),
        status: z.enum(["accepted", "pending"]).optional(),
        ...unsupported,
      }),
      result: memberResult,
    },
    async ({ params, body, caller }) => {
      if (body.status === "accepted")
        throw accountErrors.badMember({ field: "status", reason: "the user must accept the invitation" });
      const request = { email: body.email, role: roleOf(body) };
      return respond(showMember(await members.invite(caller, params.account_id!, request)));
    },
  ),
  route(
    {
      ...reading,
      id: "account-members-member-details",
      method: "get",
      path: MEMBER_PATH,
      summary: "Get a member",
      result: memberResult,
    },
    async ({ params }) => respond(showMember(await members.get(params.account_id!, params.member_id!))),
  ),
  route(
    {
      ...writing,
      id: "account-members-update-member",
      method: "put",
      path: MEMBER_PATH,
      summary: "Change the role of a member",
      body: z.object({ roles: z.array(roleReference).optional(), ...unsupported }),
      result: memberResult,
    },
    async ({ params, body, caller }) =>
      respond(showMember(await members.setRole(caller, params.account_id!, params.member_id!, roleOf(body)))),
  ),
  route(
    {
      ...writing,
      id: "account-members-remove-member",
      method: "delete",
      path: MEMBER_PATH,
      summary: "Remove a member, or cancel an invitation",
      result: idResult,
    },
    async ({ params }) => {
      await members.remove(params.account_id!, params.member_id!);
      return respond({ id: params.member_id! });
    },
  ),
  route(
    {
      ...writing,
      id: "account-members-resend-invitation",
      method: "post",
      path: `${MEMBER_PATH}/resend`,
      summary: "Send an invitation again; the link of the previous one stops working",
      result: memberResult,
    },
    async ({ params, caller }) =>
      respond(showMember(await members.resend(caller, params.account_id!, params.member_id!))),
  ),
  route(
    {
      ...reading,
      id: "account-roles-list-roles",
      method: "get",
      path: ROLES_PATH,
      summary: "List the roles of members",
      query: z.object(pageQuery()),
      result: z.array(roleResult),
    },
    async ({ query }) => {
      const page = pageRequest(query);
      const from = (page.page - 1) * page.perPage;
      return respondWithPage({ items: roles.slice(from, from + page.perPage), total: roles.length }, page, showRole);
    },
  ),
  route(
    {
      ...reading,
      id: "account-roles-role-details",
      method: "get",
      path: `${ROLES_PATH}/{role_id}`,
      summary: "Get a role",
      result: roleResult,
    },
    async ({ params }) => respond(showRole(findRole(params.role_id!))),
  ),
];
