import { z } from "@hono/zod-openapi";
import { describeRole, type Members, type ReceivedInvitation } from "../../accounts/index.ts";
import type { Clock } from "../../kernel/index.ts";
import { respond, route, type Route } from "../operation.ts";

const INVITES_PATH = "/user/invites";
const INVITE_PATH = `${INVITES_PATH}/{invite_id}`;
const tag = "User Invites";

const inviteResult = z.object({
  id: z.string(),
  invited_member_id: z.string(),
  invited_member_email: z.string(),
  organization_id: z.string(),
  organization_name: z.string(),
  organization_is_enforcing_twofactor: z.boolean(),
  invited_by: z.string(),
  invited_on: z.string(),
  expires_on: z.string(),
  roles: z.array(z.string()),
  status: z.enum(["pending", "accepted", "rejected", "expired"]),
});
type Invite = z.input<typeof inviteResult>;

/** The hosted service calls accounts organizations here. */
const showInvite = (
  { id, user, account, role, invitedBy, sentAt, expiresAt }: ReceivedInvitation,
  status: Invite["status"],
): Invite => ({
  id,
  invited_member_id: user.id,
  invited_member_email: user.email,
  organization_id: account.id,
  organization_name: account.name,
  organization_is_enforcing_twofactor: account.enforceTwofactor,
  invited_by: invitedBy,
  invited_on: new Date(sentAt).toISOString(),
  expires_on: new Date(expiresAt).toISOString(),
  roles: [describeRole(role).name],
  status,
});

export function userInviteRoutes(
  { members: { invitations } }: { members: Members },
  clock: Pick<Clock, "now">,
): Route[] {
  const showNow = (invitation: ReceivedInvitation) =>
    showInvite(invitation, clock.now() < invitation.expiresAt ? "pending" : "expired");

  return [
    route(
      {
        id: "user'-s-invites-list-invitations",
        method: "get",
        path: INVITES_PATH,
        tag,
        summary: "List the user's pending invitations, newest first",
        permission: "Memberships Read",
        result: z.array(inviteResult),
      },
      async ({ caller }) => respond((await invitations.list(caller.user.id)).map(showNow)),
    ),
    route(
      {
        id: "user'-s-invites-invitation-details",
        method: "get",
        path: INVITE_PATH,
        tag,
        summary: "Get an invitation",
        permission: "Memberships Read",
        result: inviteResult,
      },
      async ({ caller, params }) => respond(showNow(await invitations.get(caller.user.id, params.invite_id!))),
    ),
    route(
      {
        id: "user'-s-invites-respond-to-invitation",
        method: "patch",
        path: INVITE_PATH,
        tag,
        summary: "Accept or reject an invitation",
        permission: "Memberships Write",
        audit: { account: ({ after }) => (after as Invite).organization_id },
        body: z.object({ status: z.enum(["accepted", "rejected"]) }),
        result: inviteResult,
      },
      async ({ caller, params, body: { status } }) => {
        const invitation = await invitations.get(caller.user.id, params.invite_id!);
        await invitations.answer(caller.user.id, invitation.id, status);
        return respond(showInvite(invitation, status));
      },
    ),
  ];
}
