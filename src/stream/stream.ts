import { mkdirSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createClientAddress } from "../kernel/client-address.ts";
import { createGuardedFetch } from "../kernel/guarded-fetch.ts";
import type { Basics } from "../kernel/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { OwnAddresses } from "../kernel/own-addresses.ts";
import type { Settings } from "../kernel/settings.ts";
import type { TlsSource } from "../kernel/tls-source.ts";
import {
  localSweeps,
  type Db,
  type Events,
  type Jobs,
  type ObjectStore,
  type Secrets,
  type Sweeps,
} from "../store/index.ts";
import { type AccessOptions, createAccess, createCountryLookup } from "./access/index.ts";
import { createAudience } from "./audience/index.ts";
import { createAudio } from "./audio/index.ts";
import { createStreamBinding } from "./binding/index.ts";
import { CAPTIONS_CHANGED, createCaptions } from "./captions/index.ts";
import { chapterRoutes, CHAPTERS_CHANGED, createChapters } from "./chapters/index.ts";
import { createClips } from "./clips/index.ts";
import { createDelivery } from "./delivery/index.ts";
import { createDownloads } from "./downloads/index.ts";
import { createSegments } from "./encode/index.ts";
import { createSigningKeys } from "./keys/index.ts";
import { createLive, liveNotificationExample } from "./live/index.ts";
import { createMeteredTools } from "./media/index.ts";
import { createSourcePassthrough } from "./passthrough/index.ts";
import { createPlayback, createRenditionRates } from "./playback/index.ts";
import { createPlayer } from "./player/index.ts";
import type { Stream } from "./port.ts";
import { createProbe } from "./probe/index.ts";
import { createProcessing } from "./processing/index.ts";
import { createScratch } from "./scratch.ts";
import { traceFetch, traceUploads } from "./tracing.ts";
import { createThumbnails } from "./thumbnails/index.ts";
import { createPlaybackTokens } from "./tokens/index.ts";
import { createUploads } from "./uploads/index.ts";
import { createStreamUrls, createVideos, VIDEO_CHANGED } from "./videos/index.ts";
import { createUploadSegmentDuration, createViewedMinutes, firstKnownDuration } from "./viewed/index.ts";
import { createWatermarks } from "./watermarks/index.ts";
import { createWebhooks } from "./webhooks/index.ts";

type StreamRole = "api" | "encode" | "live" | "playback";

interface StreamDeps {
  store: { db: Db; objects: ObjectStore; events: Events; jobs: Jobs; sweeps?: Sweeps };
  secrets: Secrets;
  settings: Settings;
  roles: { has(role: StreamRole): boolean };
  metrics?: Metrics;
  /** Returns the server's own URL, as used by clients, without a trailing slash. */
  serverUrl: () => string;
  /** Path prefix of all delivery URLs: "/cdn-cgi/stream" in `reelpost dev`. Default "". */
  base?: string;
  /** Scratch folder of this process, on a disk with space for whole uploads. */
  folder: string;
  /** Addresses of this machine, blocked for fetches and live outputs. Default: those of its interfaces. */
  own?: OwnAddresses;
  /** For RTMPS. If absent, the server does not listen for RTMPS. */
  tls?: Pick<TlsSource, "context">;
  /** True to look for ffmpeg after the start and log its absence. Default: true in processes that need it. */
  warm?: boolean;
  /** True if other machines can reach this server. Default false. */
  exposed?: boolean;
  /** Account whose videos are visible to workers without an account. */
  defaultAccount?: string;
}

/** Creates the video service, from upload or publisher to the player's requests. */
export function createStream(
  {
    store,
    secrets,
    settings,
    roles,
    metrics,
    serverUrl,
    base = "",
    folder,
    tls,
    own,
    exposed = false,
    defaultAccount,
    warm = (["encode", "live", "playback"] as const).some((role) => roles.has(role)),
  }: StreamDeps,
  basics: Basics,
): Stream {
  const { db, objects, events, jobs, sweeps = localSweeps } = store;
  const { clock, ids, log, lifecycle, tracing } = basics;
  const { allow_private: allowPrivate, delivery_domain: domain } = settings.stream;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  createScratch(folder)
    .sweep()
    .catch((err: unknown) => log.warn({ err, folder }, "stream: failed to remove scratch files of earlier processes"));
  const fetch = createGuardedFetch({ allowPrivate, ...(own && { own: own.has }) });
  const client = createClientAddress(settings.http.trusted_proxies);
  const address = (request: IncomingMessage) => client.ip(request) ?? "";
  const origin = (request: IncomingMessage) => `${client.scheme(request)}://${request.headers.host ?? "localhost"}`;
  const urls = createStreamUrls({
    deliveryDomain: domain,
    uploadHost: settings.stream.upload_host,
    base: serverUrl,
    prefix: base,
  });

  const webhooks = createWebhooks({
    db,
    jobs,
    sweeps,
    secrets,
    clock,
    ids,
    log,
    urls,
    fetch: traceFetch(fetch, tracing),
    allowPrivate,
    liveExample: liveNotificationExample,
  });
  lifecycle.onStop("webhooks of videos", () => webhooks.close());
  const videos = createVideos({ db, objects, jobs, events, sweeps, clock, ids, log, settings: settings.stream });
  videos.onSettled(webhooks.onVideoSettled);
  const viewedMinutes = createViewedMinutes({ db, clock, log });
  lifecycle.onStop("videos", async () => {
    await videos.close();
    await viewedMinutes.close();
  });

  const keys = createSigningKeys({ db, events, secrets, clock, ids });
  lifecycle.onStop("signing keys", () => keys.close());
  const countryOf = createCountryLookup({ file: settings.stream.country_database });
  const audience = createAudience({ db, sweeps, clock, countryOf, log, days: settings.stream.analytics_days });
  lifecycle.onStop("metrics of viewers", () => audience.close());
  const accessTo = (from: Pick<AccessOptions, "videos" | "live">) =>
    createAccess({
      ...from,
      keys,
      clock,
      countryOf,
      originals: settings.stream.originals,
      tokenHours: settings.stream.token_hours,
    });

  const tools = createMeteredTools({ settings, exposed, ...(metrics && { metrics }) }, basics);
  const watermarks = createWatermarks({ db, objects, sweeps, tools, fetch, clock, ids, log });
  lifecycle.onStop("watermarks", () => watermarks.close());
  const source = createSourcePassthrough({ objects, log, enabled: settings.stream.passthrough });
  const audio = createAudio({
    db,
    objects,
    jobs,
    events,
    sweeps,
    videos,
    tools,
    folder,
    clock,
    ids,
    log,
    settings: settings.stream,
    fetch,
  });
  videos.onDeleted(audio.onVideoDeleted);
  lifecycle.onStop("audio tracks", () => audio.close());
  const captions = createCaptions({
    db,
    objects,
    events,
    jobs,
    sweeps,
    tools,
    videos,
    clock,
    ids,
    log,
    settings: settings.stream,
    folder,
  });
  videos.onDeleted(captions.onVideoDeleted);
  lifecycle.onStop("captions", () => captions.close(), { timeoutMs: 15_000 });
  const chapters = createChapters({ db, events, videos, clock });
  videos.onDeleted(chapters.onVideoDeleted);
  const segments = createSegments({
    tools,
    objects,
    clock,
    log,
    concurrency: settings.stream.urgent_encoders,
    scratch: folder,
    videoExists: async (uid) => (await videos.find(uid)) !== undefined,
    audio: audio.sources,
  });
  lifecycle.onStop("segments", () => segments.close());
  const probe = createProbe({ tools, objects, settings: settings.stream, folder, watermark: watermarks.copyForVideo });
  const processing = createProcessing({
    videos,
    probe,
    segments,
    db,
    jobs,
    objects,
    log,
    source,
    encoders: settings.stream.encoders,
    importEmbeddedTracks: async (video) =>
      void (await Promise.all([audio.importEmbedded(video), captions.importEmbedded(video)])),
  });
  videos.onDeleted(processing.onVideoDeleted);
  // Processing stops before the segments it waits for.
  lifecycle.onStop("processing of videos", () => processing.close(), { timeoutMs: 5000 });

  const live = createLive(
    {
      store,
      secrets,
      settings,
      ingest: roles.has("live"),
      videos,
      webhooks,
      accessTo,
      captions,
      probe,
      tools,
      folder,
      serverUrl,
      base,
      address,
      origin,
      onWatched(connection, seconds) {
        live.addresses.videoOf(connection.input).then(
          (video) => video !== undefined && audience.onConnected({ ...connection, video }, seconds),
          (err: unknown) => log.warn({ err }, "stream: failed to count a viewer of a broadcast"),
        );
      },
      ...(tls && { tls }),
      ...(own && { ownAddresses: own.has }),
    },
    basics,
  );
  const downloads = createDownloads({
    db,
    objects,
    jobs,
    sweeps,
    videos,
    segments,
    source,
    assemble: live.assembly.enqueue,
    clock,
    ids,
    log,
  });
  videos.onDeleted(downloads.onVideoDeleted);
  live.assembly.onDone(downloads.resume);
  lifecycle.onStop("downloads of videos", () => downloads.close());
  const clips = createClips({ videos, objects, clock, log, findWatermark: watermarks.get });
  const tokens = createPlaybackTokens({ videos: live.addresses, keys, clock, tokenHours: settings.stream.token_hours });

  const access = accessTo({ videos, live: live.addresses });
  const player = createPlayer({
    access,
    base,
    address,
    origin,
    publicOrigin: () => publicOriginOf(settings),
    domain,
    isPublished: live.isPublished,
    isRecorded: live.isRecorded,
    chaptersOf: chapters.of,
    log,
  });
  const playback = createPlayback({
    segments,
    captions,
    audio: audio.tracks,
    source,
    rates: createRenditionRates({ objects, log }),
    live: live.playback,
    counters: [
      (route) =>
        viewedMinutes.watch(
          route,
          firstKnownDuration(live.playback.segmentDuration, createUploadSegmentDuration(source)),
          audience.onSegment,
        ),
      live.watch,
    ],
    hotBytes: settings.stream.segment_cache_mb * 1024 * 1024,
  });
  const thumbnails = createThumbnails({ tools, objects, videos, log });
  const delivery = createDelivery({
    access,
    base,
    address,
    origin,
    domain,
    log,
    publicRoutes: live.status,
    routes: [
      ...playback,
      ...live.thumbnails(thumbnails.routes),
      ...chapterRoutes(chapters),
      ...downloads.delivery,
      ...live.delivery,
      ...player.delivery.map(audience.watchPage),
    ],
  });

  const uploads = createUploads({
    db,
    objects,
    jobs,
    events,
    sweeps,
    clock,
    ids,
    log,
    settings: settings.stream,
    videos,
    urls,
    findWatermark: watermarks.get,
    page: player.uploadPage,
    fetch,
  });
  videos.onDeleted(uploads.onVideoDeleted);
  videos.beforeExpiry(uploads.isArriving);
  lifecycle.onStop("uploads", () => uploads.close());

  return {
    services: {
      videos,
      viewed: viewedMinutes,
      audience,
      urls,
      uploads,
      clips,
      keys,
      tokens,
      watermarks,
      captions,
      chapters,
      audio,
      downloads,
      webhooks,
      live: live.services,
      storageMinutes: settings.stream.storage_minutes,
      clock,
    },
    deliver: async (request, response) =>
      (await live.webrtc?.handle(request, response)) === true ||
      (await player.handle(request, response)) ||
      delivery.handle(request, response),
    deliverAssets: player.handle,
    upload: traceUploads(uploads.http, tracing),
    binding: createStreamBinding({
      videos,
      urls,
      uploads,
      tokens,
      downloads,
      captions,
      watermarks,
      ...(defaultAccount !== undefined && { defaultAccount }),
    }),
    changes: [
      ...[VIDEO_CHANGED, CAPTIONS_CHANGED, CHAPTERS_CHANGED].map((event) => ({
        topic: "videos" as const,
        event,
        ownerOf: accountOf(videos.find),
      })),
      ...live.changes.map((event) => ({ topic: "live" as const, event, ownerOf: accountOf(live.findInput) })),
    ],
    contents: async (account) => ({
      video: (await videos.storageUsage(account)).videos,
      "watermark profile": (await watermarks.list(account)).length,
      "signing key": (await keys.list(account)).length,
      webhook: (await webhooks.list(account)).length,
      "live input": (await live.services.inputs.list(account, { page: 1, perPage: 1 })).total,
    }),
    media: warm ? tools.ready : undefined,
    listen: live.listen,
    start() {
      // Starting a program blocks this thread, so it waits until the server has reported that it is ready.
      if (warm) setImmediate(tools.find);
      watermarks.start();
      if (roles.has("api")) for (const service of [videos, webhooks, uploads]) service.start();
      if (roles.has("api")) live.startInputs();
      live.start();
      if (roles.has("encode"))
        for (const service of [processing, downloads, audio, captions, live.assembly]) service.start();
    },
  };
}

const accountOf = (find: (uid: string) => Promise<{ account: string } | undefined>) => async (uid: string) => {
  const owned = await find(uid);
  return owned && { account: owned.account };
};

/** Origin of video URLs in responses. Default: the request's origin. */
const publicOriginOf = ({ http, stream }: Settings): string | undefined =>
  http.public_url === "" || stream.delivery_domain !== "" ? undefined : new URL(http.public_url).origin;
