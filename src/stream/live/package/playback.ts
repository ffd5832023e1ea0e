import type { DeliveryRoute, DeliveryContext } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";
import { createHotSegments, type TextTracks } from "../../playback/index.ts";
import { notPlayableError, type Video } from "../../videos/index.ts";
import type { SegmentDuration } from "../../viewed/index.ts";
import type { LiveTimeline } from "../timeline.ts";
import { createLiveManifests } from "./manifests.ts";
import type { LivePackagesModule } from "./packages.ts";
import { createLiveSegmentHandler, type SendableSegment } from "./pieces.ts";
import { createLiveSources } from "./sources.ts";
import { createLiveSegmentDuration } from "./watched.ts";

interface LivePlaybackDeps {
  packages: Pick<LivePackagesModule, "of">;
  /**
   * Stored timeline of a recording, or of a broadcast in another process. Called for every playlist of broadcasts that
   * run in other processes.
   */
  timelineOf(video: string): Promise<LiveTimeline | undefined>;
  /** Returns a stored segment, or the init segment of a run. */
  stored(
    video: string,
    rendition: string,
    segmentOrRun: number | { run: string },
  ): Promise<SendableSegment | undefined>;
  settings: { dvr_minutes: number };
  /** Captions of recordings. */
  captions?: TextTracks;
  /**
   * True if players that do not specify a protocol get low-latency HLS (`preferLowLatency` of the input). Default:
   * never.
   */
  prefersLowLatency?(video: Video): Promise<boolean>;
  /** True if broadcasts of an input are recorded (`recording.mode`). Default: always true. */
  isRecorded?(input: string): Promise<boolean>;
  /** Memory for stored segments that several viewers request, in octets. Default 32 MiB. */
  hotBytes?: number;
}

interface LivePlayback {
  routes: DeliveryRoute[];
  /** True if the video is a broadcast or a recording: only these routes then serve it. */
  handles(video: Video): Promise<boolean>;
  /** Puts these routes before those for uploaded videos, in one list. */
  overrideRoutes(routes: readonly DeliveryRoute[]): DeliveryRoute[];
  /** Undefined for videos that are not live. */
  segmentDuration: SegmentDuration;
}

const CLIP_PATH = "manifest/clip.m3u8";
/** Before the first broadcast, requests for these under the input uid get an empty 204, as on the hosted service. */
const MANIFESTS = new Set(["manifest/video.m3u8", "manifest/video.mpd"]);

export function createLivePlayback({
  packages,
  timelineOf,
  stored,
  settings,
  captions,
  prefersLowLatency = async () => false,
  isRecorded = async () => true,
  hotBytes = 32 * 1024 * 1024,
}: LivePlaybackDeps): LivePlayback {
  const sources = createLiveSources({ packages, timelineOf });
  const manifests = createLiveManifests({ dvrSeconds: settings.dvr_minutes * 60, captions, prefersLowLatency });
  const pieces = createLiveSegmentHandler({ packages, stored, hot: createHotSegments({ bytes: hotBytes }) });

  async function requireSource(viewing: DeliveryContext) {
    const { video } = viewing;
    const source = await sources.of(video);
    if (source === undefined) throw notPlayableError(video);
    return source;
  }

  const isHandled = async (video: Video) =>
    video.liveInput !== undefined && (packages.of(video.uid) !== undefined || (await sources.of(video)) !== undefined);
  const routes: DeliveryRoute[] = [
    { path: "segments/{rendition}/{file}", purpose: "play", handle: (viewing) => pieces(viewing) },
    {
      path: "manifest/video.m3u8",
      purpose: "play",
      handle: async (viewing) => manifests.multivariant(viewing, await requireSource(viewing)),
    },
    {
      path: CLIP_PATH,
      purpose: "play",
      handle: async (viewing) => manifests.clip(viewing, await requireSource(viewing)),
    },
    {
      path: "manifest/video.mpd",
      purpose: "play",
      handle: async (viewing) => manifests.dash(viewing, await requireSource(viewing)),
    },
    {
      path: "manifest/text-{rendition}.m3u8",
      purpose: "play",
      handle: async (viewing) => manifests.text(viewing, await requireSource(viewing)),
    },
    {
      path: "manifest/{rendition}.m3u8",
      purpose: "play",
      handle: async (viewing) => manifests.media(viewing, await requireSource(viewing)),
    },
  ];

  return {
    routes,
    handles: isHandled,
    segmentDuration: createLiveSegmentDuration(sources),
    overrideRoutes(otherRoutes) {
      const paths = new Set(routes.map(({ path }) => path));
      const mergedRoutes = routes.map((liveRoute): DeliveryRoute => {
        const otherRoute = otherRoutes.find(({ path, method }) => path === liveRoute.path && method === undefined);
        return {
          ...liveRoute,
          async handle(viewing) {
            if (await isHandled(viewing.video)) return liveRoute.handle(viewing);
            const { uid, liveInput } = viewing.video;
            if (uid === liveInput) {
              if (!(await isRecorded(liveInput))) throw streamErrors.liveNotRecorded();
              if (MANIFESTS.has(liveRoute.path))
                return void viewing.response.writeHead(204, { "cache-control": "no-store" }).end();
            }
            if (otherRoute !== undefined) return otherRoute.handle(viewing);
            throw liveRoute.path === CLIP_PATH ? streamErrors.liveOnly() : notPlayableError(viewing.video);
          },
        };
      });
      return [...mergedRoutes, ...otherRoutes.filter(({ path }) => !paths.has(path))];
    },
  };
}
