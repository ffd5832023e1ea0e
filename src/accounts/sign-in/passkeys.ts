import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { isIP } from "../../kernel/networks.ts";
import { messageOf, type Clock, type Ids } from "../../kernel/index.ts";
import { isUniqueViolation, type Db, type Secrets } from "../../store/index.ts";
import { findUser } from "../accounts-table.ts";
import type { Caller } from "../caller.ts";
import { accountErrors } from "../errors.ts";
import { hashSecret } from "../tokens/value.ts";
import type { User } from "../types.ts";
import type { AccountTables, AccountsExecutor } from "../tables.ts";
import type { SignInAttempts } from "./attempts.ts";
import type { Confirmation, Confirmations } from "./confirmation.ts";
import {
  deletePasskey,
  findPasskeyByCredential,
  insertPasskey,
  passkeysOfUser,
  updatePasskey,
  type Passkey,
} from "./passkeys-table.ts";
import { useChallenge } from "./sign-in-table.ts";
import { createTickets } from "./tickets.ts";

/** Passkeys (Web Authentication Level 3) of the caller's user. `origin`: the origin of the page that calls. */
export interface Passkeys {
  list(by: Caller): Promise<Passkey[]>;
  /** Throws noPasskeyHost, tooManyPasskeys, and the errors of Confirmations.check. */
  registrationOptions(
    by: Caller,
    origin: string,
    confirmation: Confirmation,
  ): Promise<{ options: PublicKeyCredentialCreationOptionsJSON; ticket: string }>;
  /** Throws badPasskey, signInExpired, tooManyPasskeys. */
  register(by: Caller, registration: PasskeyRegistration): Promise<Passkey>;
  /** Throws noPasskey, like the following function. */
  rename(by: Caller, id: string, name: string): Promise<Passkey>;
  delete(by: Caller, id: string, confirmation: Confirmation): Promise<void>;
}

interface PasskeyRegistration {
  ticket: string;
  name: string;
  response: RegistrationResponseJSON;
}

interface PasskeyVerifier {
  /** Options for a discoverable credential: the authenticator lists the users. Throws noPasskeyHost. */
  signInOptions(origin: string): Promise<{ options: PublicKeyCredentialRequestOptionsJSON; ticket: string }>;
  /** Accepts each challenge once. Throws badPasskey, signInExpired, tooManySignIns. */
  verify(
    assertion: { ticket: string; response: AuthenticationResponseJSON },
    origin: string,
    ip: string | undefined,
  ): Promise<User>;
}

interface Challenge {
  challenge: string;
  origin: string;
  host: string;
}

const MAX_PASSKEYS = 20;
const RP_NAME = "Reelpost";

interface PasskeysDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  secrets: Secrets;
  attempts: SignInAttempts;
  confirmations: Confirmations;
}

export function createPasskeys({
  db,
  clock,
  ids,
  secrets,
  attempts,
  confirmations,
}: PasskeysDeps): Passkeys & PasskeyVerifier {
  const tables = db.tables<AccountTables>();
  const transaction = <Result>(work: (tx: AccountsExecutor) => Promise<Result>) =>
    db.transaction<AccountTables, Result>(work);
  const registrations = createTickets<Challenge & { user: string }>({ secrets, clock, ids, purpose: "passkey" });
  const signIns = createTickets<Challenge>({ secrets, clock, ids, purpose: "passkey sign-in" });
  // Loaded on first use: most processes never need the library.
  const webauthn = () => import("@simplewebauthn/server");

  async function find(tx: AccountsExecutor, by: Caller, id: string): Promise<Passkey> {
    const passkey = (await passkeysOfUser(tx, by.user.id)).find((each) => each.id === id);
    if (passkey === undefined) throw accountErrors.noPasskey({ id });
    return passkey;
  }

  async function refuseMore(tx: AccountsExecutor, user: string): Promise<Passkey[]> {
    const existing = await passkeysOfUser(tx, user);
    if (existing.length >= MAX_PASSKEYS) throw accountErrors.tooManyPasskeys({ limit: MAX_PASSKEYS });
    return existing;
  }

  return {
    list: (by) => passkeysOfUser(tables, by.user.id),
    async registrationOptions(by, origin, confirmation) {
      const host = passkeyHostOf(origin);
      const existing = await refuseMore(tables, by.user.id);
      await confirmations.check(by, confirmation);
      const { generateRegistrationOptions } = await webauthn();
      const options = await generateRegistrationOptions({
        rpName: RP_NAME,
        rpID: host,
        userID: new Uint8Array(Buffer.from(by.user.id, "hex")),
        userName: by.user.email,
        attestationType: "none",
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
        excludeCredentials: existing
          .filter(({ rpId }) => rpId === host)
          .map(({ credentialId, transports }) => ({
            id: credentialId,
            transports: transports as AuthenticatorTransport[],
          })),
      });
      const { challenge } = options;
      return { options, ticket: registrations.create({ challenge, origin, host, user: by.user.id }) };
    },
    async register(by, { ticket, name, response }) {
      const { challenge, origin, host, user } = registrations.open(ticket);
      if (user !== by.user.id) throw accountErrors.signInExpired();
      const { verifyRegistrationResponse } = await webauthn();
      const { registrationInfo } = await verifyRegistrationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: origin,
        expectedRPID: host,
        requireUserVerification: true,
      }).catch((cause: unknown) => {
        throw accountErrors.badPasskey({ reason: messageOf(cause), host }, { cause });
      });
      if (registrationInfo === undefined) throw accountErrors.badPasskey({ reason: "it is not valid", host });
      const { credential, credentialBackedUp } = registrationInfo;
      const passkey: Passkey = {
        id: ids.hex(),
        user,
        credentialId: credential.id,
        rpId: host,
        publicKey: Buffer.from(credential.publicKey).toString("base64url"),
        counter: credential.counter,
        transports: credential.transports ?? [],
        name,
        synced: credentialBackedUp,
        createdAt: clock.now(),
        lastUsedAt: null,
      };
      await transaction(async (tx) => {
        await refuseMore(tx, user);
        await insertPasskey(tx, passkey);
      }).catch((thrown: unknown) => {
        if (!isUniqueViolation(thrown)) throw thrown;
        throw accountErrors.badPasskey({ reason: "it is already registered", host }, { cause: thrown });
      });
      return passkey;
    },
    rename: (by, id, name) =>
      transaction(async (tx) => {
        const passkey = { ...(await find(tx, by, id)), name };
        await updatePasskey(tx, passkey);
        return passkey;
      }),
    async delete(by, id, confirmation) {
      await find(tables, by, id);
      await confirmations.check(by, confirmation);
      await transaction((tx) => deletePasskey(tx, id));
    },

    async signInOptions(origin) {
      const host = passkeyHostOf(origin);
      const { generateAuthenticationOptions } = await webauthn();
      const options = await generateAuthenticationOptions({ rpID: host, userVerification: "required" });
      return { options, ticket: signIns.create({ challenge: options.challenge, origin, host }) };
    },
    async verify({ ticket, response }, origin, ip) {
      await attempts.check(ip);
      const { challenge, origin: startedAt, host, id, expiresAt } = signIns.open(ticket);
      if (startedAt !== origin) throw accountErrors.signInExpired();
      const refuse = async (reason: string, cause?: unknown) => {
        await attempts.failed(ip);
        return accountErrors.badPasskey({ reason, host }, { cause });
      };
      const passkey = await findPasskeyByCredential(tables, response.id);
      if (passkey?.rpId !== host) throw await refuse("it is not registered on this server");
      const { verifyAuthenticationResponse } = await webauthn();
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: origin,
        expectedRPID: host,
        requireUserVerification: true,
        credential: {
          id: passkey.credentialId,
          publicKey: new Uint8Array(Buffer.from(passkey.publicKey, "base64url")),
          counter: passkey.counter,
          transports: passkey.transports as AuthenticatorTransport[],
        },
      }).catch(async (cause: unknown) => {
        throw await refuse(messageOf(cause), cause);
      });
      if (!verified) throw await refuse("its signature is wrong");
      const user = await findUser(tables, passkey.user);
      // Synced passkeys have no counter, so the challenge itself must not be used again.
      const isFirst = await transaction(async (tx) => {
        if (!(await useChallenge(tx, hashSecret(id), { now: clock.now(), expiresAt }))) return false;
        const { newCounter, credentialBackedUp } = authenticationInfo;
        await updatePasskey(tx, {
          ...passkey,
          counter: newCounter,
          synced: credentialBackedUp,
          lastUsedAt: clock.now(),
        });
        return true;
      });
      if (!isFirst || user === undefined) throw await refuse("the challenge was used before");
      return user;
    },
  };
}

/** Browsers offer passkeys on secure origins with a host name: HTTPS, and HTTP on localhost. */
function passkeyHostOf(origin: string): string {
  const { protocol, hostname } = URL.parse(origin) ?? { protocol: "", hostname: "" };
  const isSecure = protocol === "https:" || (protocol === "http:" && hostname === "localhost");
  if (!isSecure || isIP(hostname.replace(/^\[|\]$/g, "")) !== 0) throw accountErrors.noPasskeyHost({ origin });
  return hostname;
}
