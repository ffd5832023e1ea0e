import { writeMediaPlaylist } from "../../../protocol/hls/index.ts";
import type { DeliveryContext } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";
import type { TextTracks } from "../../playback/index.ts";
import { notPlayableError, type Video } from "../../videos/index.ts";
import { liveDash } from "./dash.ts";
import { nextOf, isReached, type RenditionList, windowStart } from "./lists.ts";
import { liveMultivariantPlaylist } from "./multivariant.ts";
import { type PlaylistRange, mediaPlaylist, type WrittenPlaylist } from "./playlists.ts";
import { positionOf, readClip, readDirectives, readPlaylistRange, readPreview, segmentsBetween } from "./queries.ts";
import { broadcastIdQuery, checkBroadcastId, suffixOf } from "./marks.ts";
import { checkRendition, type LiveSource } from "./sources.ts";
import { waitFor } from "./waiting.ts";

interface LiveManifestsDeps {
  dvrSeconds: number;
  captions: TextTracks | undefined;
  prefersLowLatency(video: Video): Promise<boolean>;
}

const HLS_TYPE = "application/vnd.apple.mpegurl";
const DASH_TYPE = "application/dash+xml";

/** Seconds to cache a manifest: captions may be added to a recording. */
const ENDED_CACHE_SECONDS = 60;
const RUNNING_CACHE_SECONDS = 2;
/**
 * Three target durations (rfc8216bis 6.2.5.2), but shorter than players' timeout for the first octet of a response:
 * hls.js waits ten seconds.
 */
const MAX_WAIT_MS = 9000;
/** Maximum wait for the first segment of a broadcast. */
const FIRST_SEGMENT_WAIT_MS = 8000;
/** A request more than two segments ahead is invalid (6.2.5.2). */
const MAX_AHEAD = 2;

type LiveManifests = Record<
  "multivariant" | "media" | "text" | "clip" | "dash",
  (viewing: DeliveryContext, source: LiveSource) => Promise<void>
>;

export function createLiveManifests({ dvrSeconds, captions, prefersLowLatency }: LiveManifestsDeps): LiveManifests {
  /** A playlist of a low-latency broadcast is written once for all viewers waiting for the same one. */
  const writtenPlaylists = new WeakMap<object, { version: number; texts: Map<string, WrittenPlaylist> }>();

  function write(
    source: LiveSource,
    rendition: string,
    extent: PlaylistRange,
    { query, suffix }: { query: string; suffix: string },
  ): WrittenPlaylist {
    const { broadcast, renditions } = source;
    const playlist = () =>
      mediaPlaylist(
        source,
        rendition,
        extent,
        {
          targetDuration: broadcast?.targetDuration ?? source.targetDuration,
          partTarget: broadcast?.partTargets.of(rendition) ?? 0,
          dvrSeconds,
        },
        {
          others:
            extent.lowLatency === true ? renditions.flatMap(({ name }) => (name === rendition ? [] : [name])) : [],
          query,
          suffix,
        },
      );
    // Clients may request any number of parts.
    if (broadcast === undefined || typeof extent.range === "object") return playlist();
    let cachedPlaylists = writtenPlaylists.get(broadcast);
    if (cachedPlaylists?.version !== broadcast.version)
      writtenPlaylists.set(broadcast, (cachedPlaylists = { version: broadcast.version, texts: new Map() }));
    return cachedPlaylists.texts.getOrInsertComputed(JSON.stringify([rendition, extent, query]), playlist);
  }

  async function sendMultivariant(viewing: DeliveryContext, source: LiveSource): Promise<void> {
    await waitForFirstSegment(viewing, source);
    const { video, query } = viewing;
    const { timeline } = source;
    const length = readPreview(query);
    if (length !== undefined) {
      const from = windowStart(timeline.segments, length, 1);
      viewing.response.setHeader("preview-start-seconds", positionOf(timeline, from).toFixed(3));
      viewing.response.setHeader("stream-media-id", video.uid);
      return send(viewing, source, { from: String(from), to: String(timeline.segments.length - 1) });
    }
    if (timeline.ended) return send(viewing, source, {}, (await captions?.of(video.uid)) ?? []);
    const requested = query.get("protocol");
    const lowLatency =
      source.broadcast !== undefined &&
      (requested === "llhls" || (requested === null && (await prefersLowLatency(video))));
    return send(viewing, source, {
      protocol: lowLatency ? "llhls" : "hls",
      ...(query.get("dvrEnabled") === "true" && { dvrEnabled: "true" }),
    });
  }

  async function send(
    viewing: DeliveryContext,
    source: LiveSource,
    query: Record<string, string>,
    text: Awaited<ReturnType<TextTracks["of"]>> = [],
  ): Promise<void> {
    const params = new URLSearchParams({ ...query, ...broadcastIdQuery(viewing) });
    const playlist = liveMultivariantPlaylist(source.renditions, {
      query: params.size === 0 ? "" : `?${params}`,
      bandwidthHint: viewing.query.get("clientBandwidthHint"),
      text,
    });
    viewing.sendText(playlist, {
      type: HLS_TYPE,
      cache: source.timeline.ended ? ENDED_CACHE_SECONDS : RUNNING_CACHE_SECONDS,
    });
  }

  async function media(viewing: DeliveryContext, source: LiveSource): Promise<void> {
    const {
      query,
      params: { rendition = "" },
    } = viewing;
    checkBroadcastId(viewing);
    checkRendition(source, rendition);
    const extent = readPlaylistRange(query, source.timeline.ended);
    const directives = readDirectives(query);
    const mark = broadcastIdQuery(viewing);
    const options = { query: queryOf(extent, mark), suffix: suffixOf(mark) };
    const playlist = () => write(source, rendition, extent, options);
    const isMet = (list: RenditionList) => directives === undefined || isReached(list, directives.msn, directives.part);
    const { broadcast } = source;
    let now = playlist();
    if (broadcast !== undefined && !broadcast.isClosed && typeof extent.range === "string") {
      if (directives !== undefined && directives.msn > nextOf(now.list, 0) + MAX_AHEAD)
        throw streamErrors.badParameter({ reason: `segment ${directives.msn} is too far ahead` });
      const ms =
        now.list.segments.length === 0
          ? FIRST_SEGMENT_WAIT_MS
          : Math.min(3 * broadcast.targetDuration * 1000, MAX_WAIT_MS);
      await waitFor(broadcast, () => (now = playlist()).list.segments.length > 0 && isMet(now.list), {
        ms,
        signal: viewing.signal,
      });
      now = playlist();
    }
    if (viewing.response.destroyed) return;
    if (now.list.segments.length === 0) throw notPlayableError(viewing.video);
    viewing.sendText(now.text, {
      type: HLS_TYPE,
      ...cacheOf(source, extent, directives === undefined ? undefined : isMet(now.list)),
    });
  }

  async function sendDash(viewing: DeliveryContext, source: LiveSource): Promise<void> {
    await waitForFirstSegment(viewing, source);
    const {
      timeline: { ended },
    } = source;
    const text = ended ? ((await captions?.of(viewing.video.uid)) ?? []) : [];
    viewing.sendText(
      liveDash(source, {
        now: Date.now(),
        suffix: suffixOf(broadcastIdQuery(viewing)),
        bandwidthHint: viewing.query.get("clientBandwidthHint"),
        text,
      }),
      { type: DASH_TYPE, cache: ended ? ENDED_CACHE_SECONDS : 1 },
    );
  }

  async function text(viewing: DeliveryContext, { timeline }: LiveSource): Promise<void> {
    const language = viewing.params["rendition"]!;
    if (!timeline.ended || !((await captions?.of(viewing.video.uid)) ?? []).some((one) => one.language === language))
      throw streamErrors.captionNotFound({ language });
    viewing.sendText(
      writeMediaPlaylist({
        segments: [{ uri: `../captions/${language}.vtt`, duration: positionOf(timeline, timeline.segments.length) }],
      }),
      { type: HLS_TYPE, cache: ENDED_CACHE_SECONDS },
    );
  }

  async function sendClip(viewing: DeliveryContext, source: LiveSource): Promise<void> {
    const { video, id } = viewing;
    if (id === video.liveInput)
      throw streamErrors.badParameter({
        reason: "an instant clip requires the uid of a video in the URL, not that of a live input",
      });
    const { time, duration } = readClip(viewing.query);
    const part = segmentsBetween(source.timeline, time, duration);
    if (part === undefined) throw streamErrors.badParameter({ reason: `the recording does not reach second ${time}` });
    return send(viewing, source, { from: String(part.from), to: String(part.to), start: part.start.toFixed(3) });
  }

  return { multivariant: sendMultivariant, media, dash: sendDash, text, clip: sendClip };
}

/** Waits until every rendition has a playable segment. */
async function waitForFirstSegment(viewing: DeliveryContext, { timeline, broadcast }: LiveSource): Promise<void> {
  const hasSegments = () => timeline.segments.length > 0;
  if (broadcast !== undefined)
    await waitFor(broadcast, hasSegments, { ms: FIRST_SEGMENT_WAIT_MS, signal: viewing.signal });
  if (!hasSegments()) throw notPlayableError(viewing.video);
}

function queryOf({ range, lowLatency }: PlaylistRange, mark: { of?: string }): string {
  const query = new URLSearchParams({
    ...(typeof range === "string" && range !== "whole" && { protocol: lowLatency === true ? "llhls" : "hls" }),
    ...(range === "dvr" && { dvrEnabled: "true" }),
    ...mark,
  });
  return query.size === 0 ? "" : `?${query}`;
}

/**
 * A blocking playlist request has its own URL and the same response for every client: a cache forwards one request for
 * all waiting clients and stores the response for late ones (six target durations). An incomplete response must not be
 * shared.
 */
function cacheOf(
  { timeline: { ended }, targetDuration, broadcast }: LiveSource,
  { range, lowLatency }: PlaylistRange,
  areDirectivesMet: boolean | undefined,
): { cache?: number } {
  if (typeof range === "object" || range === "whole") return { cache: ENDED_CACHE_SECONDS };
  if (ended) return { cache: RUNNING_CACHE_SECONDS };
  const target = broadcast?.targetDuration ?? targetDuration;
  if (areDirectivesMet === undefined) return { cache: lowLatency === true ? 1 : Math.max(1, Math.floor(target / 2)) };
  return areDirectivesMet ? { cache: 6 * target } : {};
}
