import { hash } from "node:crypto";
import { type Clock, isHexId } from "../../kernel/index.ts";
import {
  compileRules,
  isSignedBy,
  looksLikeToken,
  readToken,
  timeValidityError,
  type RuleEvaluator,
  type PlaybackClaims,
} from "../../protocol/playback-token/index.ts";
import type { Viewer, AccessPurpose } from "./port.ts";
import { streamErrors } from "../errors.ts";
import type { SigningKeys } from "../keys/index.ts";
import type { Video, Videos } from "../videos/index.ts";
import { isAllowedOrigin } from "./origins.ts";
import type { Access, LiveInputResolver } from "./port.ts";

export interface AccessOptions {
  /** Usually served from memory, like `keys`: both are read for every segment. */
  videos: Pick<Videos, "find">;
  keys: Pick<SigningKeys, "find">;
  /** If absent, the uids of live inputs are unknown. */
  live?: LiveInputResolver;
  /** ISO 3166-1 alpha-2 country code of an IP address. */
  countryOf(ip: string): string | undefined;
  clock: Clock;
  /** True if every downloadable video also offers its original file. */
  originals?: boolean;
  /** Maximum remaining lifetime of a token in hours; 0: unlimited. Default 24. */
  tokenHours?: number;
  /** Maximum number of cached verified tokens. Default 20,000. */
  maxCachedTokens?: number;
}

/** Tolerated clock skew of the token's issuer, in seconds. */
const SKEW_SECONDS = 5;

/** A token with a verified signature. It stays verified as long as its key exists. */
type VerifiedToken = PlaybackClaims & { account: string; evaluate: RuleEvaluator };

export function createAccess({
  videos,
  keys,
  live,
  countryOf,
  clock,
  originals = false,
  tokenHours = 24,
  maxCachedTokens = 20_000,
}: AccessOptions): Access {
  /** Keyed by digest: tokens may be long, but their parsed claims are short. */
  const verifiedTokens = new Map<string, VerifiedToken>();

  async function readAndVerify(text: string): Promise<VerifiedToken> {
    const reading = readToken(text);
    if (!reading.ok) throw tokenRejected(reading.why);
    const { claims, rules } = reading.token;
    const key = await keys.find(claims.kid);
    if (key === undefined) throw tokenRejected("its key (kid) is unknown or revoked");
    if (!isSignedBy(reading.token, key.publicKey)) throw tokenRejected("its signature does not match its key");
    return { ...claims, account: key.account, evaluate: compileRules(rules) };
  }

  async function tokenOf(text: string): Promise<VerifiedToken> {
    const name = hash("sha256", text, "base64");
    const cachedToken = verifiedTokens.get(name);
    if (cachedToken !== undefined) {
      // A revocation is visible only on the key, not on anything derived from it: see SigningKeys.find.
      if ((await keys.find(cachedToken.kid)) !== undefined) return cachedToken;
      verifiedTokens.delete(name);
      throw tokenRejected("its key (kid) is unknown or revoked");
    }
    const token = await readAndVerify(text);
    if (verifiedTokens.size >= maxCachedTokens) verifiedTokens.delete(verifiedTokens.keys().next().value!);
    verifiedTokens.set(name, token);
    return token;
  }

  async function findVideo(uid: string): Promise<Video> {
    const ownVideo = isHexId(uid) ? await videos.find(uid) : undefined;
    const video = ownVideo === undefined && isHexId(uid) ? await live?.videoOf(uid) : ownVideo;
    if (video === undefined) throw streamErrors.videoNotFound({ uid: uid.slice(0, 32) });
    return ownVideo !== undefined && live !== undefined ? live.withAccessRules(ownVideo) : video;
  }

  async function findByToken(text: string, purpose: AccessPurpose, viewer: Viewer): Promise<Video> {
    const token = await tokenOf(text);
    const timeError = timeValidityError(token, clock.now() / 1000, { skew: SKEW_SECONDS, maxLife: tokenHours * 3600 });
    if (timeError !== undefined) throw tokenRejected(timeError);
    const video = await findVideo(token.sub);
    if (video.account !== token.account) throw tokenRejected("its key belongs to another account");
    if (token.evaluate({ ip: viewer.ip, country: () => countryOf(viewer.ip) }) === "block")
      throw tokenRejected("its access rules block this viewer");
    // A token does not restrict a video that can be played without one.
    const isDownloadable = token.downloadable || !video.requireSignedURLs;
    if (purpose === "download" && !isDownloadable) throw streamErrors.downloadNotAllowed();
    if (purpose === "original" && !token.original && !(originals && isDownloadable))
      throw streamErrors.originalNotAllowed();
    return video;
  }

  async function findByUid(uid: string, purpose: AccessPurpose): Promise<Video> {
    const video = await findVideo(uid);
    if (video.requireSignedURLs) throw streamErrors.signedUrlNeeded();
    if (purpose === "original" && !originals) throw streamErrors.originalNotAllowed();
    return video;
  }

  return {
    async check(id, purpose, viewer) {
      const video = looksLikeToken(id) ? await findByToken(id, purpose, viewer) : await findByUid(id, purpose);
      checkOrigin(video, viewer);
      return video;
    },
  };
}

/** Non-browser clients are not part of a page, so this is not embedding. */
function checkOrigin({ allowedOrigins }: Video, { origin, place }: Viewer): void {
  if (allowedOrigins.length === 0 || place === "ours") return;
  if (origin === undefined && place === undefined) return;
  if (origin === undefined || !isAllowedOrigin(origin, allowedOrigins))
    throw streamErrors.originNotAllowed({
      origin: origin === undefined ? "a page that does not reveal its origin" : origin.slice(0, 200),
    });
}

const tokenRejected = (reason: string) => streamErrors.tokenRefused({ reason });
