import type { Clock } from "../../../kernel/index.ts";
import { createReadThroughCache } from "../../../kernel/recent.ts";
import type { LiveInputResolver } from "../../access/index.ts";
import { newVideo, type Video, type VideoCatalog, type Videos } from "../../videos/index.ts";
import type { LiveInput, LiveInputDirectory } from "../inputs/port.ts";

interface LiveAddressesDeps {
  inputs: Pick<LiveInputDirectory, "find">;
  videos: Pick<Videos, "find" | "get">;
  catalog: Pick<VideoCatalog, "list">;
  clock: Clock;
}

export interface LiveAddressesModule extends LiveInputResolver {
  /** Target of a playback token: a video of the account, or one of its inputs. Throws videoNotFound. */
  get(account: string, uid: string): Promise<Video>;
  /**
   * Access rules of the current broadcast: those of its video, otherwise those in the input settings, regardless of
   * recordings. Accepts the uid of either.
   */
  onAir(uid: string): Promise<Video | undefined>;
}

/** Maximum delay until a new broadcast is found by the uid of its input. */
const CACHE_TTL_MS = 1000;
/**
 * Cache time of a running broadcast as the latest one: its row shows its end, but not that its process has died and
 * another broadcast has begun.
 */
const RUNNING_TTL_MS = 10_000;
const MAX_CACHED_INPUTS = 10_000;

/** Resolves the uid of an input to the video that viewers expect. */
export function createLiveAddresses({ inputs, videos, catalog, clock }: LiveAddressesDeps): LiveAddressesModule {
  const runningVideos = new Map<string, { uid: string; until: number }>();
  const lastVideos = createReadThroughCache<{ uid: string | undefined }>({
    read: async (uid) => ({ uid: await lastOf(uid) }),
    clock,
    max: MAX_CACHED_INPUTS,
    ttlMs: CACHE_TTL_MS,
  });

  async function lastOf(uid: string): Promise<string | undefined> {
    const input = await inputs.find(uid);
    if (input === undefined) return undefined;
    const [last] = await catalog.list(input.account, { liveInput: uid, limit: 1 });
    return last?.uid;
  }

  async function findRunning(input: string): Promise<Video | undefined> {
    const cachedVideo = runningVideos.get(input);
    if (cachedVideo === undefined) return undefined;
    const video = cachedVideo.until > clock.now() ? await videos.find(cachedVideo.uid) : undefined;
    if (video?.state === "live-inprogress") return video;
    runningVideos.delete(input);
    return undefined;
  }

  async function findLatestOrRunning(uid: string): Promise<Video | undefined> {
    const now = await findRunning(uid);
    if (now !== undefined) return now;
    const last = (await lastVideos.get(uid))?.uid;
    const video = last === undefined ? undefined : await videos.find(last);
    if (video?.state === "live-inprogress") {
      if (runningVideos.size >= MAX_CACHED_INPUTS) runningVideos.delete(runningVideos.keys().next().value!);
      runningVideos.set(uid, { uid: video.uid, until: clock.now() + RUNNING_TTL_MS });
    }
    return video;
  }

  async function withAccessRules(video: Video): Promise<Video> {
    if (video.liveInput === undefined || video.state !== "live-inprogress") return video;
    const input = await inputs.find(video.liveInput);
    return input === undefined ? video : applyRules(input, video);
  }

  return {
    withAccessRules,
    async videoOf(uid) {
      const input = await inputs.find(uid);
      if (input === undefined) return undefined;
      const video = await findLatestOrRunning(uid);
      return video === undefined ? placeholderVideo(input) : applyRules(input, video);
    },
    async onAir(uid) {
      const input = await inputs.find(uid);
      if (input === undefined) {
        const video = await videos.find(uid);
        return video && withAccessRules(video);
      }
      const video = await findLatestOrRunning(uid);
      return video?.state === "live-inprogress" ? applyRules(input, video) : placeholderVideo(input);
    },
    async get(account, uid) {
      const input = await inputs.find(uid);
      return input?.account === account ? placeholderVideo(input) : videos.get(account, uid);
    },
  };
}

/**
 * The access rules of an input apply to everything played under its uid, and to its live video under every uid. The
 * stricter rule wins: an open input does not open a recording that its owner has protected.
 */
function applyRules({ recording: { requireSignedURLs, allowedOrigins } }: LiveInput, video: Video): Video {
  return {
    ...video,
    requireSignedURLs: requireSignedURLs || video.requireSignedURLs,
    allowedOrigins: originsOf(video, allowedOrigins),
  };
}

/**
 * An empty list allows every origin, so an empty intersection is not allowed: in that case, the recording's own list is
 * used.
 */
function originsOf({ state, allowedOrigins: videoOrigins }: Video, inputOrigins: string[]): string[] {
  if (videoOrigins.length === 0 || state === "live-inprogress")
    return inputOrigins.length > 0 ? inputOrigins : videoOrigins;
  const commonOrigins = videoOrigins.filter((origin) => inputOrigins.includes(origin));
  return commonOrigins.length > 0 ? commonOrigins : videoOrigins;
}

/**
 * Placeholder before the first broadcast. It has the access rules of the recordings, so a waiting page is protected
 * too.
 */
function placeholderVideo({
  uid,
  account,
  created,
  recording: { requireSignedURLs, allowedOrigins },
}: LiveInput): Video {
  return {
    ...newVideo({ uid, account, now: created, state: "pendingupload" }, { requireSignedURLs, allowedOrigins }),
    liveInput: uid,
  };
}
