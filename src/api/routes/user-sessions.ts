import { z } from "@hono/zod-openapi";
import type { AccountsModule, Session } from "../../accounts/index.ts";
import { respond, respondWithPage, route, type Route } from "../operation.ts";
import { pageQuery, pageRequest } from "../paging.ts";
import { idResult } from "./account-schema.ts";

const tag = "Sessions";

const sessionResult = z.object({
  id: z.string(),
  /** True for the session that sends the request. */
  current: z.boolean(),
  method: z.enum(["link", "password", "passkey", "oidc"]),
  two_factor: z.boolean(),
  created_on: z.string(),
  last_used_on: z.string(),
  expires_on: z.string(),
  ip: z.string().nullable(),
  user_agent: z.string().nullable(),
});

const showTime = (ms: number) => new Date(ms).toISOString();

const showSession =
  (currentId: string | undefined) =>
  (session: Session): z.input<typeof sessionResult> => ({
    id: session.id,
    current: session.id === currentId,
    method: session.method,
    two_factor: session.twoFactor,
    created_on: showTime(session.createdAt),
    last_used_on: showTime(session.lastUsedAt),
    expires_on: showTime(session.expiresAt),
    ip: session.ip,
    user_agent: session.userAgent,
  });

/** Sessions of the user. No operation creates one: that requires a sign-in. */
export const userSessionRoutes = ({ sessions }: Pick<AccountsModule, "sessions">): Route[] => [
  route(
    {
      id: "user-sessions-list",
      method: "get",
      path: "/user/sessions",
      tag,
      summary: "List the user's sessions, newest first",
      permission: "User Details Read",
      query: z.object({ ...pageQuery() }),
      result: z.array(sessionResult),
    },
    async ({ caller, query }) => {
      const page = pageRequest(query);
      return respondWithPage(await sessions.list(caller, page), page, showSession(caller.sessionId));
    },
  ),

  route(
    {
      id: "user-sessions-revoke-others",
      method: "delete",
      path: "/user/sessions",
      tag,
      summary: "Revoke all sessions of the user except the one that sends the request",
      permission: "User Details Write",
      result: z.object({ revoked: z.number() }),
    },
    async ({ caller }) => respond({ revoked: await sessions.revokeOthers(caller) }),
  ),

  route(
    {
      id: "user-sessions-revoke",
      method: "delete",
      path: "/user/sessions/{session_id}",
      tag,
      summary: "Revoke a session of the user",
      permission: "User Details Write",
      result: idResult,
    },
    async ({ caller, params }) => {
      await sessions.revoke(caller, params.session_id!);
      return respond({ id: params.session_id! });
    },
  ),
];
