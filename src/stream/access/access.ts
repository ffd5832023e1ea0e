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
  /** Answered from memory as a rule, as `keys` is: both are asked for every segment. */
  videos: Pick<Videos, "find">;
  keys: Pick<SigningKeys, "find">;
  /** Absent: uids of live inputs lead nowhere. */
  live?: LiveAddresses;
  /** ISO 3166-1 alpha-2 of an address. */
  countryOf(ip: string): string | undefined;
  clock: Clock;
  /** Whether the uploaded file of every video may be downloaded by whoever may download it at all. */
  originals?: boolean;
  /** Hours ahead that a token may be good for; 0: any. Default 24. */
  tokenHours?: number;
  /** Tokens whose signature is remembered. Default 20,000. */
  remembered?: number;
}

/** Seconds that the clock of who signs may differ from ours. */
const SKEW_SECONDS = 5;

/** A token whose signature was found good. That is for ever, while its key is there. */
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
  /** By digest: a token may be long, and what is kept of it is short. */
  const checked = new Map<string, Checked>();

  async function readAndVerify(text: string): Promise<Checked> {
    const reading = readToken(text);
    if (!reading.ok) throw refused(reading.why);
    const { claims, rules } = reading.token;
    const key = await keys.find(claims.kid);
    if (key === undefined) throw refused("its key (kid) is unknown or revoked");
    if (!isSignedBy(reading.token, key.publicKey)) throw refused("its signature is not of its key");
    return { ...claims, account: key.account, judge: compileRules(rules) };
  }

  async function tokenOf(text: string): Promise<Checked> {
    const name = hash("sha256", text, "base64");
    const known = checked.get(name);
    if (known !== undefined) {
      // The key tells of its revocation, and nothing that was made of it does: see SigningKeys.find.
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
    // Of a video that anybody may play a token takes nothing away.
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

/** What is on no page at all, as programs are, is no embedding. */
function checkOrigin({ allowedOrigins }: Video, { origin, place }: Viewer): void {
  if (allowedOrigins.length === 0 || place === "ours") return;
  if (origin === undefined && place === undefined) return;
  if (origin === undefined || !isAllowedOrigin(origin, allowedOrigins))
    throw streamErrors.originNotAllowed({
      origin: origin === undefined ? "a page that does not tell its address" : origin.slice(0, 200),
    });
}

const refused = (reason: string) => streamErrors.tokenRefused({ reason });
