import type { KeyObject } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import { parseRules, signToken } from "../../protocol/playback-token/index.ts";
import { streamErrors } from "../errors.ts";
import { isPair, readPem, type SigningKeys } from "../keys/index.ts";
import type { Videos } from "../videos/index.ts";

/** Signs playback tokens for accounts. */
export interface PlaybackTokens {
  /** Signs a token for one video of the account. Throws videoNotFound, badParameter, keyNotFound. */
  sign(account: string, uid: string, request?: PlaybackTokenRequest): Promise<string>;
}

export interface PlaybackTokenRequest {
  /**
   * A signing key of the account and its private half, in PEM (base64 or plain): both or neither. Without them the
   * account's default key signs.
   */
  id?: string | undefined;
  pem?: string | undefined;
  /** Seconds since the epoch. Default: one hour from now. */
  exp?: number | undefined;
  /** Default: one hour ago. */
  nbf?: number | undefined;
  downloadable?: boolean | undefined;
  original?: boolean | undefined;
  /** Unvalidated input; it is validated here. */
  accessRules?: unknown;
}

interface TokensOptions {
  videos: Pick<Videos, "get">;
  keys: Pick<SigningKeys, "find" | "own">;
  clock: Clock;
  /** Maximum hours in the future for `exp`; 0: unlimited. Default 24. */
  tokenHours?: number;
}

const HOUR_SECONDS = 3600;
/** Tolerance for clients that request the maximum, computed with their own clock. */
const CLOCK_SKEW_SECONDS = 60;

export function createPlaybackTokens({ videos, keys, clock, tokenHours = 24 }: TokensOptions): PlaybackTokens {
  async function keyOf(
    account: string,
    { id, pem }: PlaybackTokenRequest,
  ): Promise<{ id: string; privateKey: KeyObject }> {
    if (id === undefined && pem === undefined) return keys.own(account);
    if (id === undefined || pem === undefined)
      throw badTokenRequest("id and pem must be used together: send both or neither");
    const privateKey = readPem(pem);
    if (privateKey === undefined) throw badTokenRequest("pem is not a private RSA key, as PEM or base64-encoded PEM");
    const signingKey = await keys.find(id);
    if (signingKey === undefined || signingKey.account !== account)
      throw streamErrors.keyNotFound({ id: id.slice(0, 64) });
    if (!isPair(privateKey, signingKey.publicKey))
      throw badTokenRequest("pem is not the private key that belongs to id");
    return { id, privateKey };
  }

  return {
    async sign(account, uid, request = {}) {
      const { uid: sub } = await videos.get(account, uid);
      const now = Math.floor(clock.now() / 1000);
      const { exp = now + HOUR_SECONDS, nbf = now - HOUR_SECONDS, downloadable = false, original = false } = request;
      if (tokenHours > 0 && exp > now + tokenHours * HOUR_SECONDS + CLOCK_SKEW_SECONDS)
        throw badTokenRequest(
          `exp is ${exp}; the maximum is ${now + tokenHours * HOUR_SECONDS}: ${tokenHours} hours from now, in seconds since the epoch`,
        );
      if (exp <= now)
        throw badTokenRequest(
          `exp is ${exp}, which has passed (it is ${now} now): send a future time, in seconds since the epoch`,
        );
      if (nbf >= exp) throw badTokenRequest(`nbf (${nbf}) is not before exp (${exp})`);
      const rules = parseRules(request.accessRules);
      if (!rules.ok) throw badTokenRequest(rules.why);
      const { id, privateKey } = await keyOf(account, request);
      return signToken({ kid: id, sub, exp, nbf, downloadable, original, rules: rules.rules }, privateKey);
    },
  };
}

const badTokenRequest = (reason: string) => streamErrors.badParameter({ reason });
