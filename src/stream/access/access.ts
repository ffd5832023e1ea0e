import { hash } from "node:crypto";
import { type Clock, isHexId } from "../../kernel/index.ts";
import {
  compileRules,
  isSignedBy,
  looksLikeToken,
  readToken,
  refusedByTime,
  type Judge,
  type PlaybackClaims,
} from "../../protocol/playback-token/index.ts";
import type { Viewer, Want } from "./port.ts";
import { streamErrors } from "../errors.ts";
import type { SigningKeys } from "../keys/index.ts";
import type { Video, Videos } from "../videos/index.ts";
import { isAllowedOrigin } from "./origins.ts";
import type { Access, LiveAddresses } from "./port.ts";

export interface AccessOptions {
  /** Usually served from memory, like `keys`: both are read for every segment. */
  videos: Pick<Videos, "find">;
  keys: Pick<SigningKeys, "find">;
  /** If absent, the uids of live inputs are unknown. */
  live?: LiveAddresses;
  /** ISO 3166-1 alpha-2 country code of an IP address. */
  countryOf(ip: string): string | undefined;
  clock: Clock;
  /** Whether every downloadable video also offers its original file. */
  originals?: boolean;
  /** Maximum remaining lifetime of a token in hours; 0: unlimited. Default 24. */
  tokenHours?: number;
  /** Maximum number of cached verified tokens. Default 20,000. */
  remembered?: number;
}

/** Tolerated clock skew of the token's issuer, in seconds. */
const SKEW_SECONDS = 5;

/** A token with a verified signature. It stays verified as long as its key exists. */
type Checked = PlaybackClaims & { account: string; judge: Judge };

export function createAccess({
  videos,
  keys,
  live,
  countryOf,
  clock,
  originals = false,
  tokenHours = 24,
  remembered = 20_000,
}: AccessOptions): Access {
  /** Keyed by digest: tokens may be long, but their parsed claims are short. */
  const checked = new Map<string, Checked>();

  async function readAndVerify(text: string): Promise<Checked> {
    const reading = readToken(text);
    if (!reading.ok) throw refused(reading.why);
    const { claims, rules } = reading.token;
    const key = await keys.find(claims.kid);
    if (key === undefined) throw refused("its key (kid) is unknown or revoked");
    if (!isSignedBy(reading.token, key.publicKey)) throw refused("its signature does not match its key");
    return { ...claims, account: key.account, judge: compileRules(rules) };
  }

  async function tokenOf(text: string): Promise<Checked> {
    const name = hash("sha256", text, "base64");
    const known = checked.get(name);
    if (known !== undefined) {
      // A revocation is visible only on the key, not on anything derived from it: see SigningKeys.find.
      if ((await keys.find(known.kid)) !== undefined) return known;
      checked.delete(name);
      throw refused("its key (kid) is unknown or revoked");
    }
    const token = await readAndVerify(text);
    if (checked.size >= remembered) checked.delete(checked.keys().next().value!);
    checked.set(name, token);
    return token;
  }

  async function find(uid: string): Promise<Video> {
    const own = isHexId(uid) ? await videos.find(uid) : undefined;
    const video = own === undefined && isHexId(uid) ? await live?.videoOf(uid) : own;
    if (video === undefined) throw streamErrors.videoNotFound({ uid: uid.slice(0, 32) });
    return own !== undefined && live !== undefined ? live.guarded(own) : video;
  }

  async function byToken(text: string, want: Want, viewer: Viewer): Promise<Video> {
    const token = await tokenOf(text);
    const late = refusedByTime(token, clock.now() / 1000, { skew: SKEW_SECONDS, maxLife: tokenHours * 3600 });
    if (late !== undefined) throw refused(late);
    const video = await find(token.sub);
    if (video.account !== token.account) throw refused("its key belongs to another account");
    if (token.judge({ ip: viewer.ip, country: () => countryOf(viewer.ip) }) === "block")
      throw refused("its access rules block this viewer");
    // A token does not restrict a video that can be played without one.
    const downloadable = token.downloadable || !video.requireSignedURLs;
    if (want === "download" && !downloadable) throw streamErrors.downloadNotAllowed();
    if (want === "original" && !token.original && !(originals && downloadable)) throw streamErrors.originalNotAllowed();
    return video;
  }

  async function byUid(uid: string, want: Want): Promise<Video> {
    const video = await find(uid);
    if (video.requireSignedURLs) throw streamErrors.signedUrlNeeded();
    if (want === "original" && !originals) throw streamErrors.originalNotAllowed();
    return video;
  }

  return {
    async check(id, want, viewer) {
      const video = looksLikeToken(id) ? await byToken(id, want, viewer) : await byUid(id, want);
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

const refused = (reason: string) => streamErrors.tokenRefused({ reason });
