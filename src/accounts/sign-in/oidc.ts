import type { Configuration } from "openid-client";
import { isLoopback, messageOf, type Clock, type Ids } from "../../kernel/index.ts";
import type { Secrets } from "../../store/index.ts";
import { accountErrors } from "../errors.ts";
import { createTickets } from "./tickets.ts";

/** The settings `dashboard.oidc_*`. */
export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The domains of addresses that may sign in; empty: any. */
  allowedDomains: readonly string[];
}

/** Sign-in with an OpenID Connect provider: authorization code flow with PKCE (RFC 7636), state and nonce. */
interface Oidc {
  /** `redirectUri`: the page of the dashboard to which the provider sends the browser. Throws oidcUnreachable. */
  start(redirectUri: string): Promise<{ url: string; ticket: string }>;
  /**
   * Resolves with the verified email address. `url`: the redirect URI with the parameters that the provider added.
   * Throws oidcFailed, oidcUnreachable, notMember, signInExpired.
   */
  finish(callback: { url: string; ticket: string }): Promise<{ email: string }>;
}

interface Flow {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}

/** A user may have to sign in at the provider first. */
const MAX_AGE_MS = 15 * 60_000;
const TIMEOUT_SECONDS = 10;
/** The provider's endpoints and keys are read again after this time. */
const DISCOVERY_TTL_MS = 10 * 60_000;

interface OidcDeps {
  settings: OidcSettings;
  secrets: Secrets;
  clock: Clock;
  ids: Ids;
}

export function createOidc({ settings, secrets, clock, ids }: OidcDeps): Oidc {
  const { issuer, clientId, clientSecret, allowedDomains } = settings;
  const tickets = createTickets<Flow>({ secrets, clock, ids, purpose: "oidc", maxAgeMs: MAX_AGE_MS });
  // Loaded on first use: most servers have no provider.
  const client = () => import("openid-client");
  let discovered: { configuration: Promise<Configuration>; until: number } | undefined;

  async function discover(): Promise<Configuration> {
    const { discovery, allowInsecureRequests, enableNonRepudiationChecks } = await client();
    const url = new URL(issuer);
    const isLocal = url.protocol === "http:" && isLoopback(url.hostname);
    return discovery(url, clientId, clientSecret, undefined, {
      timeout: TIMEOUT_SECONDS,
      // The signature of the ID token is verified although it is received over TLS.
      execute: [enableNonRepudiationChecks, ...(isLocal ? [allowInsecureRequests] : [])],
    });
  }

  async function configurationOf(): Promise<Configuration> {
    if (discovered === undefined || discovered.until <= clock.now()) {
      const configuration = discover();
      discovered = { configuration, until: clock.now() + DISCOVERY_TTL_MS };
      configuration.catch(() => (discovered = undefined));
    }
    try {
      return await discovered.configuration;
    } catch (cause) {
      throw accountErrors.oidcUnreachable({ issuer, reason: reasonOf(cause) }, { cause });
    }
  }

  return {
    async start(redirectUri) {
      const configuration = await configurationOf();
      const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } =
        await client();
      const flow: Flow = {
        state: randomState(),
        nonce: randomNonce(),
        verifier: randomPKCECodeVerifier(),
        redirectUri,
      };
      const url = buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        response_type: "code",
        scope: "openid email",
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: "S256",
      });
      return { url: url.href, ticket: tickets.create(flow) };
    },
    async finish({ url, ticket }) {
      const { state, nonce, verifier, redirectUri } = tickets.open(ticket);
      const callback = URL.parse(url);
      if (callback === null || callback.origin + callback.pathname !== redirectUri)
        throw accountErrors.oidcFailed({ issuer, reason: "the provider redirected to another page" });
      const configuration = await configurationOf();
      const { authorizationCodeGrant, fetchUserInfo } = await client();
      try {
        const tokens = await authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims()!;
        const profile =
          claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
            ? await fetchUserInfo(configuration, tokens.access_token, claims.sub)
            : claims;
        return { email: verifiedEmailOf(profile) };
      } catch (thrown) {
        if (isOurs(thrown)) throw thrown;
        throw accountErrors.oidcFailed({ issuer, reason: reasonOf(thrown) }, { cause: thrown });
      }
    },
  };

  function verifiedEmailOf({ email, email_verified: isVerified }: Record<string, unknown>): string {
    if (typeof email !== "string" || !email.includes("@"))
      throw accountErrors.oidcFailed({ issuer, reason: "the provider sent no email address" });
    // Some providers send the claim as text.
    if (isVerified !== true && isVerified !== "true")
      throw accountErrors.notMember({ email, reason: "the provider has not verified the address" });
    const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
    if (allowedDomains.length > 0 && !allowedDomains.some((allowed) => allowed.toLowerCase() === domain))
      throw accountErrors.notMember({ email, reason: "dashboard.oidc_domains does not contain the domain" });
    return email;
  }
}

const isOurs = (thrown: unknown) => thrown instanceof Error && thrown.name === "UserError";

/** Returns the provider's description of an error, or the message of the library and of what caused it. */
function reasonOf(thrown: unknown): string {
  const { error, error_description: description } = thrown as { error?: string; error_description?: string };
  if (typeof error === "string") return description === undefined ? error : `${error}: ${description}`;
  const cause = (thrown as Error).cause;
  return cause instanceof Error ? `${messageOf(thrown)}: ${messageOf(cause)}` : messageOf(thrown);
}
