import { looksLikeToken, readToken } from "../../../protocol/playback-token/index.ts";
import { createAccountHostCheck } from "../../customers/index.ts";
import type { PublicRoute } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";
import type { Videos } from "../../videos/index.ts";
import type { LiveBroadcasts } from "./broadcasts.ts";
import type { LiveInputDirectory } from "./port.ts";

interface PublicStatusDeps {
  directory: Pick<LiveInputDirectory, "find">;
  videos: Pick<Videos, "find">;
  broadcasts: LiveBroadcasts;
  /** Resolves with the number of clients that watch an input. */
  viewers(input: string): Promise<number>;
  /** Hosts `customer-<code>.<domain>` serve only their account. Absent or empty: no such hosts. */
  domain?: string;
}

/**
 * `lifecycle`: whether an input is live, and its video. `views`: number of viewers. Readable by every client that knows
 * the uid.
 */
export function createPublicStatus({
  directory,
  videos,
  broadcasts,
  viewers,
  domain,
}: PublicStatusDeps): PublicRoute[] {
  const ownHost = createAccountHostCheck(domain);

  /**
   * Resolves with the input or the video behind an id. Throws videoNotFound, including for an id requested under the
   * host of another account.
   */
  async function find(id: string, host: string | undefined) {
    const uid = looksLikeToken(id) ? subjectOf(id) : id;
    const [input, video] = await Promise.all([directory.find(uid), videos.find(uid)]);
    const account = input?.account ?? video?.account;
    if (account === undefined || !ownHost(host, account)) throw streamErrors.videoNotFound({ uid: uid.slice(0, 32) });
    return { input, video };
  }

  async function lifecycle(id: string, host: string | undefined): Promise<object> {
    const { input, video } = await find(id, host);
    if (input === undefined) return { isInput: false, videoUID: video!.uid, live: video!.state === "live-inprogress" };
    const now = await broadcasts.now(input.uid);
    return { isInput: true, videoUID: now?.video ?? null, live: now?.live ?? false };
  }

  async function views(id: string, host: string | undefined): Promise<object> {
    const found = await find(id, host);
    const watchedInput =
      found.input ?? (found.video?.liveInput === undefined ? undefined : await directory.find(found.video.liveInput));
    if (watchedInput === undefined) return { liveViewers: 0 };
    if (watchedInput.recording.hideLiveViewerCount) throw streamErrors.liveViewersHidden();
    // A broadcast that has ended has no live viewers, even if the next one of its input is running.
    if (found.input === undefined && found.video!.state !== "live-inprogress") return { liveViewers: 0 };
    return { liveViewers: await viewers(watchedInput.uid) };
  }

  return [
    { path: "lifecycle", read: lifecycle },
    { path: "views", read: views },
  ];
}

/** Returns the uid in a token. It grants no access here, so the signature is not verified. */
function subjectOf(token: string): string {
  const parsedToken = readToken(token);
  if (!parsedToken.ok) throw streamErrors.tokenRefused({ reason: parsedToken.why });
  return parsedToken.token.claims.sub;
}
