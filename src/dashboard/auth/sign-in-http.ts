import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import {
  describeRole,
  type ReceivedInvitation,
  type SignInSuccess,
  type SignIn,
  type SignInResult,
} from "../../accounts/index.ts";
import { createJsonEndpoints, jsonEndpoint } from "../../api/index.ts";
import type { ClientAddress } from "../../kernel/client-address.ts";
import { UserError, type Ids, type Log } from "../../kernel/index.ts";

interface SignInHttpDeps {
  signIn: SignIn;
  /** The client's address and scheme, behind trusted proxies. */
  address: ClientAddress;
  ids: Ids;
  log: Log;
}

/** The page to which an OpenID Connect provider sends the browser. */
const CALLBACK_PATH = "/sign-in/callback";
const MAX_BODY_BYTES = 64 * 1024;

const ticket = z.string().max(8192);

/** Structures of Web Authentication Level 3; the domain validates what the authenticator signed. */
const assertionResponse = z.looseObject({
  id: z.string().max(2048),
  rawId: z.string().max(2048),
  type: z.literal("public-key"),
  response: z.looseObject({ clientDataJSON: z.string(), authenticatorData: z.string(), signature: z.string() }),
  clientExtensionResults: z.looseObject({}),
});
type Assertion = Parameters<SignIn["withPasskey"]>[0]["response"];

/**
 * Creates the sign-in endpoints of the dashboard: `/auth/*`, POST with JSON, with responses in the envelope of the v4
 * API. The caller must have refused requests for foreign host names and from other origins. Resolves with false,
 * without a response, if the path is none of them.
 */
export function createSignInHttp({
  signIn,
  address,
  ids,
  log,
}: SignInHttpDeps): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  const clientOf = (request: IncomingMessage) => ({
    ip: address.ip(request),
    userAgent: request.headers["user-agent"],
  });

  // A proxy that terminates TLS might not be listed as trusted: the browser knows the scheme, and its host is checked.
  const originOf = (request: IncomingMessage) =>
    request.headers.origin ?? `${address.scheme(request)}://${request.headers.host ?? ""}`;

  /** Logs the sign-in. */
  async function opened(request: IncomingMessage, signingIn: Promise<SignInResult>) {
    const ip = address.ip(request);
    const result = await signingIn.catch((thrown: unknown) => {
      if (thrown instanceof UserError) log.info({ ip, reason: thrown.kind }, "dashboard: sign-in failed");
      throw thrown;
    });
    if ("ticket" in result) return { two_factor: true, ...result };
    const { session, user } = result;
    log.info({ ip, user: user.id, session: session.id, method: session.method }, "dashboard: user signed in");
    return showSession(result);
  }

  return createJsonEndpoints({
    ids,
    log,
    maxBytes: MAX_BODY_BYTES,
    endpoints: {
      "/auth/methods": jsonEndpoint({
        body: z.object({}),
        handle: async () => ({ methods: signIn.methods() }),
      }),
      "/auth/link": jsonEndpoint({
        body: z.object({ link: z.string().max(256) }),
        handle: async ({ link }, request) => opened(request, signIn.withLink(link, clientOf(request))),
      }),
      "/auth/password": jsonEndpoint({
        body: z.object({ email: z.string().max(320), password: z.string().max(1024) }),
        handle: async (credentials, request) => opened(request, signIn.withPassword(credentials, clientOf(request))),
      }),
      "/auth/totp": jsonEndpoint({
        body: z.object({ ticket, code: z.string().max(64) }),
        handle: async (step, request) => opened(request, signIn.withCode(step, clientOf(request))),
      }),
      "/auth/passkey/options": jsonEndpoint({
        body: z.object({}),
        handle: async (_, request) => signIn.passkeyOptions(originOf(request)),
      }),
      "/auth/passkey/verify": jsonEndpoint({
        body: z.object({ ticket, response: assertionResponse }),
        handle: async ({ ticket: sent, response }, request) =>
          opened(
            request,
            signIn.withPasskey(
              { ticket: sent, response: response as unknown as Assertion },
              originOf(request),
              clientOf(request),
            ),
          ),
      }),
      "/auth/oidc/start": jsonEndpoint({
        body: z.object({}),
        handle: async (_, request) => signIn.startOidc(originOf(request) + CALLBACK_PATH),
      }),
      "/auth/oidc/finish": jsonEndpoint({
        body: z.object({ ticket, url: z.string().max(8192) }),
        handle: async (callback, request) => opened(request, signIn.withOidc(callback, clientOf(request))),
      }),
      "/auth/invitation": jsonEndpoint({
        body: z.object({ invitation: z.string().max(256) }),
        handle: async ({ invitation }, request) =>
          showInvitation(await signIn.invitation(invitation, clientOf(request))),
      }),
      "/auth/invitation/accept": jsonEndpoint({
        body: z.object({ invitation: z.string().max(256) }),
        async handle({ invitation }, request) {
          const result = await signIn.withInvitation(invitation, clientOf(request));
          // The user signs in as usual.
          return "accepted" in result ? showInvitation(result.accepted) : opened(request, Promise.resolve(result));
        },
      }),
      "/auth/sign-out": jsonEndpoint({
        body: z.object({}),
        async handle(_, { headers: { authorization = "" } }) {
          const secret = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
          if (secret !== undefined) await signIn.signOut(secret);
          return {};
        },
      }),
    },
  });
}

const showInvitation = ({ user, account, role, invitedBy, expiresAt }: ReceivedInvitation) => ({
  email: user.email,
  account: { id: account.id, name: account.name },
  role: describeRole(role).name,
  invited_by: invitedBy,
  expires_on: new Date(expiresAt).toISOString(),
});

const showSession = ({ secret, session, user }: SignInSuccess) => ({
  session: { id: session.id, secret, expires_on: new Date(session.expiresAt).toISOString() },
  user: { id: user.id, email: user.email },
});
