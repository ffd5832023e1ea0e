import type { DeliveryRoute, Sendable, DeliveryContext } from "../delivery/index.ts";
import { type GrowingSegment, segmentKey, type Segments } from "../encode/index.ts";
import { streamErrors } from "../errors.ts";
import { audioRendition, SOURCE_RENDITION } from "../model.ts";
import { notPlayableError } from "../videos/index.ts";
import { dashPresentation } from "./dash.ts";
import { createHotSegments } from "./hot-segments.ts";
import { hlsMediaPlaylist, hlsMultivariantPlaylist, hlsText } from "./hls.ts";
import { type PlaybackOverride, type PlaybackTracks, SOURCE_AUDIO, type ViewerCounter } from "./port.ts";
import type { RenditionRates } from "./rates.ts";
import { type PlayableVideo, playableVideoOf } from "./tracks.ts";

interface PlaybackOptions extends PlaybackTracks {
  segments: Pick<Segments, "get" | "follow">;
  /** If absent, manifests contain estimated bitrates. */
  rates?: RenditionRates;
  /** Broadcasts, which take precedence over uploaded videos. If absent, there are none. */
  live?: PlaybackOverride;
  /** Count viewers on every route, including broadcasts. Default: none. */
  counters?: readonly ViewerCounter[];
  /** Maximum bytes of segments cached in memory; 0: none. Default 64 MiB. */
  hotBytes?: number;
}

/**
 * Cache lifetime of a manifest in seconds. It is limited because captions and audio may be added at any time, and
 * renditions become ready while a video is being encoded.
 */
const READY_CACHE_SECONDS = 60;
const GROWING_CACHE_SECONDS = 2;

const ADDED_AUDIO = audioRendition("");

const HLS_TYPE = "application/vnd.apple.mpegurl";
const DASH_TYPE = "application/dash+xml";

/**
 * Manifests, segments and captions. A manifest lists every segment as soon as the video has a model, whether or not it
 * is encoded.
 */
export function createPlayback({
  segments,
  live,
  counters = [],
  hotBytes = 64 * 1024 * 1024,
  ...tracks
}: PlaybackOptions): DeliveryRoute[] {
  const { captions, source } = tracks;
  const hotSegments = createHotSegments({ bytes: hotBytes });

  async function manifest(
    viewing: DeliveryContext,
    type: string,
    write: (playable: PlayableVideo) => string | undefined,
  ) {
    const { video } = viewing;
    if (video.model === null) throw notPlayableError(video);
    const playable = await playableVideoOf(video, video.model, tracks);
    const text = write(playable);
    if (text === undefined)
      throw streamErrors.segmentNotFound({ segment: "list", rendition: viewing.params["rendition"] });
    viewing.sendText(text, { type, cache: playable.complete ? READY_CACHE_SECONDS : GROWING_CACHE_SECONDS });
  }

  async function segment(viewing: DeliveryContext) {
    const { video, params } = viewing;
    const { rendition = "", file = "" } = params;
    if (video.model === null) throw notPlayableError(video);
    const number = numberOf(file);
    const segmentContent =
      number === undefined || !RENDITION.test(rendition) ? undefined : await contentOf(viewing, rendition, number);
    if (segmentContent === undefined) throw streamErrors.segmentNotFound({ segment: file, rendition });
    const metadata = {
      type: rendition.startsWith("audio") || rendition === SOURCE_AUDIO ? "audio/mp4" : "video/mp4",
      cache: "immutable",
    } as const;
    if ("size" in segmentContent) await viewing.sendObject(segmentContent, metadata);
    else await viewing.sendGrowing(segmentContent.read(), metadata);
  }

  async function contentOf(
    viewing: DeliveryContext,
    rendition: string,
    number: number | "init",
  ): Promise<Sendable | GrowingSegment | undefined> {
    const { video } = viewing;
    if (rendition === SOURCE_RENDITION) return source?.segment(video, "video", number);
    if (rendition === SOURCE_AUDIO) return source?.segment(video, "audio", number);
    // An added track may be deleted before its video: its existence must be checked each time.
    if (rendition.startsWith(ADDED_AUDIO)) return segments.get(video, rendition, number, viewing);
    const key = segmentKey(video.uid, rendition, number);
    const hotSegment = hotSegments.get(key);
    if (hotSegment !== undefined) return hotSegment;
    // The viewing is passed as a whole, because its signal is created only if the request waits for an encoder.
    const segmentContent = await segments[viewing.acceptsGrowing ? "follow" : "get"](video, rendition, number, viewing);
    if (segmentContent === undefined || !("size" in segmentContent)) return segmentContent;
    return (await hotSegments.offer(key, segmentContent)) ?? segmentContent;
  }

  const bandwidthHint = ({ query }: DeliveryContext) => ({ bandwidthHint: query.get("clientBandwidthHint") });

  const uploadedRoutes: DeliveryRoute[] = [
    { path: "segments/{rendition}/{file}", purpose: "play", handle: segment },
    {
      path: "manifest/video.m3u8",
      purpose: "play",
      handle: (viewing) =>
        manifest(viewing, HLS_TYPE, (playable) => hlsMultivariantPlaylist(playable, bandwidthHint(viewing))),
    },
    {
      path: "manifest/video.mpd",
      purpose: "play",
      handle: (viewing) =>
        manifest(viewing, DASH_TYPE, (playable) => dashPresentation(playable, bandwidthHint(viewing))),
    },
    {
      path: "manifest/text-{rendition}.m3u8",
      purpose: "play",
      handle: (viewing) =>
        manifest(viewing, HLS_TYPE, (playable) =>
          hasText(playable, viewing.params["rendition"]!) ? hlsText(playable, viewing.params["rendition"]!) : undefined,
        ),
    },
    {
      path: "manifest/{rendition}.m3u8",
      purpose: "play",
      handle: (viewing) =>
        manifest(viewing, HLS_TYPE, (playable) => hlsMediaPlaylist(playable, viewing.params["rendition"]!)),
    },
    {
      path: "captions/{language}.vtt",
      purpose: "play",
      async handle(viewing) {
        const language = viewing.params["language"]!;
        const vtt = await captions?.vtt(viewing.video.uid, language);
        if (vtt === undefined) throw streamErrors.captionNotFound({ language });
        viewing.sendText(vtt, { type: "text/vtt; charset=utf-8", cache: READY_CACHE_SECONDS });
      },
    },
  ];
  const routes = live === undefined ? uploadedRoutes : live.overrideRoutes(uploadedRoutes);
  return routes.map((route) => counters.reduce((countedRoutes, count) => count(countedRoutes), route));
}

const hasText = ({ text }: PlayableVideo, language: string) =>
  text.some((textTrack) => textTrack.language === language);

/** Names become object keys: only valid rendition names are accepted. */
const RENDITION = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** Ten hours of 50 ms segments have numbers of six digits. */
function numberOf(file: string): number | "init" | undefined {
  if (file === "init.mp4") return "init";
  const [, digits] = /^(0|[1-9]\d{0,6})\.m4s$/.exec(file) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
