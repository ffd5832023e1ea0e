import { errorOfResponse, toApiError } from "../api/errors.ts";

/** A session that a sign-in opened, or the ticket of the second step: a code of the authenticator app. */
export type SignInResult =
  | { session: { id: string; secret: string; expires_on: string } }
  | { two_factor: true; ticket: string };

export type SignInMethod = "password" | "passkey" | "link" | "oidc";

interface Invitation {
  email: string;
  account: { id: string; name: string };
  role: string;
  invited_by: string | null;
  expires_on: string;
}

interface Endpoints {
  "/auth/methods": { body: Record<string, never>; result: { methods: SignInMethod[] } };
  "/auth/link": { body: { link: string }; result: SignInResult };
  "/auth/password": { body: { email: string; password: string }; result: SignInResult };
  "/auth/totp": { body: { ticket: string; code: string }; result: SignInResult };
  "/auth/passkey/options": { body: Record<string, never>; result: { options: object; ticket: string } };
  "/auth/passkey/verify": { body: { ticket: string; response: object }; result: SignInResult };
  "/auth/oidc/start": { body: Record<string, never>; result: { url: string; ticket: string } };
  "/auth/oidc/finish": { body: { ticket: string; url: string }; result: SignInResult };
  "/auth/invitation": { body: { invitation: string }; result: Invitation };
  "/auth/invitation/accept": { body: { invitation: string }; result: SignInResult | Invitation };
}

/** Calls a sign-in endpoint. Throws ApiError. */
export async function callAuth<Path extends keyof Endpoints>(
  path: Path,
  body: Endpoints[Path]["body"],
): Promise<Endpoints[Path]["result"]> {
  let response: Response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
    });
  } catch (thrown) {
    throw toApiError(thrown);
  }
  const envelope: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw errorOfResponse(response.status, envelope);
  return (envelope as { result: Endpoints[Path]["result"] }).result;
}

/** The ticket of a sign-in at an OpenID Connect provider, kept while the browser is at the provider. */
const OIDC_TICKET = "reelpost.oidc";

/** Leaves the page for the provider. */
export async function startOidc(): Promise<void> {
  const { url, ticket } = await callAuth("/auth/oidc/start", {});
  sessionStorage.setItem(OIDC_TICKET, ticket);
  location.assign(url);
}

/** Completes the sign-in with the URL to which the provider sent the browser. */
export async function finishOidc(url: string): Promise<SignInResult> {
  const ticket = sessionStorage.getItem(OIDC_TICKET);
  sessionStorage.removeItem(OIDC_TICKET);
  if (ticket === null) throw new Error("This sign-in was not started in this tab. Sign in again.");
  return callAuth("/auth/oidc/finish", { ticket, url });
}

/** Asks the browser for a passkey. Throws ApiError, or a DOMException if the user cancels. */
export async function withPasskey(): Promise<SignInResult> {
  const { options, ticket } = await callAuth("/auth/passkey/options", {});
  // Not part of the first load.
  const { startAuthentication } = await import("@simplewebauthn/browser");
  const response = await startAuthentication({
    optionsJSON: options as Parameters<typeof startAuthentication>[0]["optionsJSON"],
  });
  return callAuth("/auth/passkey/verify", { ticket, response });
}
