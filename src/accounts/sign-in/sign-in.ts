import type { AuthenticationResponseJSON, PublicKeyCredentialRequestOptionsJSON } from "@simplewebauthn/server";
import type { Clock, Ids } from "../../kernel/index.ts";
import type { RateLimits } from "../../kernel/rate-limits.ts";
import type { Db, Secrets } from "../../store/index.ts";
import { findUser, findUserByEmail } from "../accounts-table.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { accountErrors } from "../errors.ts";
import type { Invitations } from "../members/members.ts";
import type { ReceivedInvitation } from "../members/types.ts";
import type { SessionStore } from "../sessions/sessions.ts";
import type { Session, SignInClient, SignInMethod } from "../sessions/types.ts";
import type { User } from "../types.ts";
import type { AccountTables } from "../tables.ts";
import { createSignInAttempts } from "./attempts.ts";
import { createConfirmations } from "./confirmation.ts";
import { createSignInLinks, type SignInLinks } from "./links.ts";
import { createOidc, type OidcSettings } from "./oidc.ts";
import { createPasskeys, type Passkeys } from "./passkeys.ts";
import { createPasswordHasher, type PasswordHasher } from "./password-hash.ts";
import { createPasswords, type Passwords } from "./passwords.ts";
import { createTickets } from "./tickets.ts";
import { createTwoFactorCodes } from "./two-factor-codes.ts";
import { createTwoFactor, type TwoFactor } from "./two-factor.ts";

/** Methods of signing in. Each function throws tooManySignIns after too many failures. */
export interface SignIn {
  /** Returns the methods that this server offers. */
  methods(): SignInMethod[];
  /** Throws badLink. */
  withLink(secret: string, client: SignInClient): Promise<SignInResult>;
  /** Throws signInFailed, signInBusy. */
  withPassword(credentials: { email: string; password: string }, client: SignInClient): Promise<SignInResult>;
  /**
   * Completes a sign-in with the second factor; `ticket` is the one from the first step. Throws badCode, signInExpired.
   */
  withCode(step: { ticket: string; code: string }, client: SignInClient): Promise<SignInSuccess>;
  /** `origin`: the origin of the sign-in page. Throws noPasskeyHost. */
  passkeyOptions(origin: string): Promise<{ options: PublicKeyCredentialRequestOptionsJSON; ticket: string }>;
  /** Throws badPasskey, signInExpired. */
  withPasskey(
    assertion: { ticket: string; response: AuthenticationResponseJSON },
    origin: string,
    client: SignInClient,
  ): Promise<SignInSuccess>;
  /** Throws oidcOff, oidcUnreachable. */
  startOidc(redirectUri: string): Promise<{ url: string; ticket: string }>;
  /** Throws oidcOff, oidcUnreachable, oidcFailed, notMember, signInExpired. */
  withOidc(callback: { ticket: string; url: string }, client: SignInClient): Promise<SignInSuccess>;
  /**
   * Resolves with the invitation that the secret from an email belongs to, without accepting it. Throws badInvitation.
   */
  invitation(secret: string, client: SignInClient): Promise<ReceivedInvitation>;
  /**
   * Accepts the invitation that the secret from an email belongs to. Signs in a user whom the invitation created;
   * others must sign in themselves, because the invitation replaces no password. Throws badInvitation.
   */
  withInvitation(secret: string, client: SignInClient): Promise<SignInResult | { accepted: ReceivedInvitation }>;
  /** Ends the session. Does nothing if the secret is unknown. */
  signOut(secret: string): Promise<void>;
}

export interface SignInSuccess {
  user: User;
  session: Session;
  /** `rps_…`: the bearer value of the session. It is not stored. */
  secret: string;
}

/** With two-factor authentication, a ticket for `withCode`. */
export type SignInResult = SignInSuccess | { ticket: string };

export interface SignInModule extends SignInLinks {
  signIn: SignIn;
  passwords: Passwords;
  twoFactor: TwoFactor;
  passkeys: Passkeys;
}

interface SignInDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  secrets: Secrets;
  sessions: SessionStore;
  audit: Pick<AuditLog, "record">;
  invitations: Pick<Invitations, "find" | "accept">;
  oidc?: OidcSettings | undefined;
  hasher?: PasswordHasher | undefined;
  /** Counts failed attempts. */
  limits: Pick<RateLimits, "failures">;
  /** Called when a user has enabled or disabled two-factor authentication. */
  onTwoFactorChanged(user: string): void;
}

export function createSignIn({
  db,
  clock,
  ids,
  secrets,
  sessions,
  audit,
  invitations,
  oidc: oidcSettings,
  hasher = createPasswordHasher(),
  limits,
  onTwoFactorChanged,
}: SignInDeps): SignInModule {
  const tables = db.tables<AccountTables>();
  const attempts = createSignInAttempts(limits);
  const codes = createTwoFactorCodes({ db, clock, secrets, attempts });
  const confirmations = createConfirmations({ db, clock, attempts, hasher, codes });
  const links = createSignInLinks({ db, clock, ids, attempts });
  const passwords = createPasswords({ db, clock, hasher, attempts, confirmations, sessions });
  const passkeys = createPasskeys({ db, clock, ids, secrets, attempts, confirmations });
  const oidc = oidcSettings && createOidc({ settings: oidcSettings, secrets, clock, ids });
  const secondSteps = createTickets<{ user: string; method: SignInMethod }>({
    secrets,
    clock,
    ids,
    purpose: "second factor",
  });

  async function open(
    user: User,
    method: SignInMethod,
    more: SignInClient & { twoFactor?: boolean },
  ): Promise<SignInSuccess> {
    const opened = await sessions.open(user.id, method, more);
    await audit.record({
      actor: user,
      interface: "dashboard",
      credential: opened.session.id,
      ip: more.ip,
      userAgent: more.userAgent,
      operation: `sign-in-${method}`,
      summary: "Sign in to the dashboard",
      action: "sign_in",
      resource: { type: "sessions", id: opened.session.id },
      after: { method, two_factor: more.twoFactor === true },
    });
    return { user, ...opened };
  }

  const openOrAskForCode = async (user: User, method: SignInMethod, client: SignInClient): Promise<SignInResult> =>
    (await codes.isEnabled(user.id))
      ? { ticket: secondSteps.create({ user: user.id, method }) }
      : open(user, method, client);

  /** Counts a failure. */
  async function attempt<Result>(ip: string | undefined, work: () => Promise<Result>): Promise<Result> {
    await attempts.check(ip);
    return work().catch(async (thrown: unknown) => {
      await attempts.failed(ip);
      throw thrown;
    });
  }

  const requireOidc = () => {
    if (oidc === undefined) throw accountErrors.oidcOff();
    return oidc;
  };

  return {
    async createSignInLink(target, options) {
      const link = await links.createSignInLink(target, options);
      await audit.record({
        interface: "command line",
        user: link.user.id,
        operation: "create-sign-in-link",
        summary: "Create a sign-in link on the server's machine",
        action: "create",
        resource: { type: "sign_in_links" },
        after: { email: link.user.email, skips_two_factor: options?.skipsTwoFactor === true },
      });
      return link;
    },
    passwords,
    passkeys,
    twoFactor: createTwoFactor({
      db,
      clock,
      secrets,
      codes,
      confirmations,
      sessions,
      onChanged: onTwoFactorChanged,
    }),
    signIn: {
      methods: () => ["password", "passkey", ...(oidc === undefined ? [] : ["oidc" as const]), "link"],
      async withLink(secret, client) {
        const { user, skipsTwoFactor } = await links.take(secret, client.ip);
        return skipsTwoFactor ? open(user, "link", client) : openOrAskForCode(user, "link", client);
      },
      withPassword: async (credentials, client) =>
        openOrAskForCode(await passwords.verify(credentials, client.ip), "password", client),
      async withCode({ ticket, code }, client) {
        const { user: id, method } = secondSteps.open(ticket);
        const user = await findUser(tables, id);
        if (user === undefined) throw accountErrors.signInExpired();
        await codes.check(id, code, client.ip);
        return open(user, method, { ...client, twoFactor: true });
      },
      passkeyOptions: passkeys.signInOptions,
      withPasskey: async (assertion, origin, client) =>
        open(await passkeys.verify(assertion, origin, client.ip), "passkey", client),
      startOidc: async (redirectUri) => requireOidc().start(redirectUri),
      async withOidc(callback, client) {
        await attempts.check(client.ip);
        const { email } = await requireOidc()
          .finish(callback)
          .catch(async (thrown: unknown) => {
            await attempts.failed(client.ip);
            throw thrown;
          });
        const user = await findUserByEmail(tables, email);
        if (user === undefined) throw accountErrors.notMember({ email, reason: "no member has this address" });
        return open(user, "oidc", client);
      },
      invitation: (secret, client) => attempt(client.ip, () => invitations.find(secret)),
      async withInvitation(secret, client) {
        const { user, isNew, invitation } = await attempt(client.ip, () => invitations.accept(secret, client));
        return isNew ? openOrAskForCode(user, "link", client) : { accepted: invitation };
      },
      async signOut(secret) {
        await sessions.close(secret);
      },
    },
  };
}
