import { mkdirSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Route } from "../api/index.ts";
import { createGuardedFetch } from "../kernel/guarded-fetch.ts";
import type { OwnAddresses } from "../kernel/own-addresses.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { Settings } from "../kernel/settings.ts";
import type { TlsSource } from "../kernel/tls-source.ts";
import type { Secrets } from "../store/index.ts";
import {
  createProbe,
  createRenditionRates,
  createScratch,
  createStreamBinding,
  createStreamUrls,
  createUploadedLength,
  type Assembly,
  type MediaCapabilities,
  type Uploads,
} from "../stream/index.ts";
import type { StreamPort } from "../workers/index.ts";
import type { Basics, Store } from "./compose.ts";
import type { Role } from "./roles.ts";
import { composeAccess } from "./stream/access.ts";
import { composeAudio } from "./stream/audio.ts";
import { composeCaptions } from "./stream/captions.ts";
import { composeClips } from "./stream/clips.ts";
import { composeDelivery } from "./stream/delivery.ts";
import { composeDownloads } from "./stream/downloads.ts";
import { composeEncode } from "./stream/encode.ts";
import { composeLive, type ComposedLive } from "./stream/live.ts";
import { composeLiveInputs } from "./stream/live-inputs.ts";
import type { LivePorts } from "./stream/live-listeners.ts";
import { composeMedia } from "./stream/media.ts";
import { composePassthrough } from "./stream/passthrough.ts";
import { composePlayer } from "./stream/player.ts";
import { composeProcessing } from "./stream/processing.ts";
import { composeRecordings } from "./stream/recordings.ts";
import { composeThumbnails } from "./stream/thumbnails.ts";
import { composeUploads } from "./stream/uploads.ts";
import { composeVideos } from "./stream/videos.ts";
import { composeWatermarks } from "./stream/watermarks.ts";
import { composeWebhooks } from "./stream/webhooks.ts";

export interface StreamParts {
  store: Store;
  secrets: Secrets;
  settings: Settings;
  roles: ReadonlySet<Role>;
  metrics?: Metrics;
  /** As clients reach this server, without a slash at the end. */
  base: () => string;
  /** Before everything that is delivered: "/cdn-cgi/stream" in `reelpost dev`. */
  prefix?: string;
  /** Of this process alone, on a disk as large as uploads are: what is being made. */
  folder: string;
  /** Addresses of this machine, blocked for fetches and live outputs. Default: those of its interfaces. */
  own?: OwnAddresses;
  /** For RTMPS; absent: it is not listened for. */
  tls?: Pick<TlsSource, "context">;
  /** Whether to look for ffmpeg at once, and say when it is not there. Default: where this process needs it. */
  warm?: boolean;
  /** True if other machines can reach this server. Default false. */
  exposed?: boolean;
  /** Whose videos workers without an account see. */
  defaultAccount?: string;
}

export interface ServeStream {
  routes: Route[];
  /** What viewers and players ask for; false: none of its addresses. */
  deliver(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Of that only what pages of ours are made of, below `/embed/`: for processes that show the page of an upload, and deliver nothing. */
  deliverAssets(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Below `/upload/`. */
  upload(request: IncomingMessage, response: ServerResponse): Promise<void>;
  binding: StreamPort;
  /** What is kept for an account, by name, in numbers. */
  held(account: string): Promise<Record<string, number>>;
  /** The confinement of ffmpeg; rejects with UserError if ffmpeg cannot be used. Undefined if this process does not run it. */
  media: (() => Promise<MediaCapabilities>) | undefined;
  /** For publishers and players of broadcasts that are no browsers, where this is the place for them. Rejects UserError where a port cannot be had. */
  listen(): Promise<LivePorts>;
  /** Everything that goes on by itself, as far as it is this process's part. Once all of the server stands. */
  start(): void;
}

/** The whole of Stream: from an upload by any road to what a player asks for. */
export function composeStream(
  {
    store,
    secrets,
    settings,
    roles,
    metrics,
    base,
    prefix = "",
    folder,
    tls,
    own,
    exposed = false,
    defaultAccount,
    warm = ["encode", "live", "playback"].some((role) => roles.has(role as Role)),
  }: StreamParts,
  basics: Basics,
): ServeStream {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  createScratch(folder)
    .sweep()
    .catch((err: unknown) =>
      basics.log.warn({ err, folder }, "what an earlier process was working with could not be removed"),
    );
  const allowPrivate = settings.stream.allow_private;
  const fetch = createGuardedFetch({ allowPrivate, ...(own && { own: own.has }) });
  const urls = createStreamUrls({
    deliveryDomain: settings.stream.delivery_domain,
    uploadHost: settings.stream.upload_host,
    base,
    prefix,
  });
  const late: { uploads?: Uploads; assembly?: Assembly } = {};
  const {
    webhooks,
    routes: webhookRoutes,
    start: startWebhooks,
  } = composeWebhooks({ store, secrets, urls, allowPrivate, fetch }, basics);
  const {
    videos,
    viewed,
    routes: videoRoutes,
    start: startVideos,
  } = composeVideos(
    { store, settings, urls, onSettled: webhooks.settled, isArriving: (uid) => late.uploads!.isArriving(uid) },
    basics,
  );
  const onAir: { live?: ComposedLive; ports?: LivePorts } = {};
  const inputs = composeLiveInputs(
    {
      store,
      secrets,
      settings,
      urls,
      videos,
      webhooks,
      base,
      prefix,
      ports: () => onAir.ports,
      health: async (input) => onAir.live?.health.of(input),
    },
    basics,
  );
  const {
    access,
    onAir: onAirAccess,
    keys,
    tokens,
    routes: accessRoutes,
  } = composeAccess({ store, settings, secrets, videos, live: inputs.addresses }, basics);
  const tools = composeMedia({ settings, warm, exposed, ...(metrics && { metrics }) }, basics);
  const { watermarks, routes: watermarkRoutes } = composeWatermarks({ store, tools, fetch }, basics);
  const source = composePassthrough({ store, settings }, basics);
  const audio = composeAudio({ store, settings, videos, tools, folder, fetch }, basics);
  const captions = composeCaptions({ store, settings, tools, videos, folder }, basics);
  videos.whenDeleted(captions.captions.forgetVideo);
  const segments = composeEncode({ store, settings, tools, videos, audio: audio.audio.sources, folder }, basics);
  const probe = createProbe({
    tools,
    objects: store.objects,
    settings: settings.stream,
    folder,
    watermark: watermarks.burned,
  });
  const processing = composeProcessing(
    {
      store,
      settings,
      videos,
      probe,
      segments,
      source,
      adoptTracks: async (video) =>
        void (await Promise.all([audio.audio.adopt(video), captions.captions.adopt(video)])),
    },
    basics,
  );
  const downloads = composeDownloads(
    { store, videos, urls, segments, source, assemble: async (uid) => late.assembly!.enqueue(uid) },
    basics,
  );
  const clips = composeClips({ store, videos, urls, findWatermark: watermarks.get }, basics);
  const thumbnails = composeThumbnails({ store, videos, tools }, basics);

  const { recordings, assembly } = composeRecordings(
    { store, settings, videos, probe, tools, folder, onAssembled: downloads.downloads.resume },
    basics,
  );
  late.assembly = assembly;

  const viewing: { delivery?: ReturnType<typeof composeDelivery> } = {};
  const address = (request: IncomingMessage) => viewing.delivery!.address(request);
  const origin = (request: IncomingMessage) => viewing.delivery!.origin(request);
  const live = (onAir.live = composeLive(
    {
      store,
      settings,
      here: roles.has("live"),
      videos,
      live: inputs,
      recordings,
      assembly,
      captions: captions.captions,
      tools,
      folder,
      base: prefix,
      onAir: onAirAccess,
      address,
      origin,
      ...(tls && { tls }),
      ...(own && { own: own.has }),
    },
    basics,
  ));
  const isPublished = async (input: string) => (await inputs.broadcasts.now(input))?.live === true;
  const isRecorded = async (input: string) => (await inputs.directory.find(input))?.recording.mode !== "off";
  const player = composePlayer(
    {
      access,
      base: prefix,
      address,
      origin,
      publicOrigin: () => publicOriginOf(settings),
      domain: settings.stream.delivery_domain,
      isPublished,
      isRecorded,
    },
    basics,
  );
  const uploaded = createUploadedLength(source);
  const delivery = (viewing.delivery = composeDelivery(
    {
      settings,
      access,
      base: prefix,
      segments,
      captions: captions.captions,
      audio: audio.audio.tracks,
      source,
      rates: createRenditionRates({ objects: store.objects, log: basics.log }),
      around: (routes) =>
        live.playback
          .before(routes)
          .map((route) =>
            inputs.viewers.watch(
              viewed.watch(route, async (piece) => (await live.playback.length(piece)) ?? uploaded(piece)),
            ),
          ),
      routes: [...live.pictures.over(thumbnails.delivery), ...downloads.delivery, ...live.delivery, ...player.delivery],
    },
    basics,
  ));
  const uploads = composeUploads(
    { store, settings, videos, urls, findWatermark: watermarks.get, page: player.uploadPage, fetch },
    basics,
  );
  late.uploads = uploads.uploads;

  return {
    routes: [
      ...videoRoutes,
      ...uploads.routes,
      ...clips.routes,
      ...accessRoutes,
      ...watermarkRoutes,
      ...captions.routes,
      ...audio.routes,
      ...downloads.routes,
      ...webhookRoutes,
      ...inputs.routes,
    ],
    deliver: async (request, response) =>
      (await inputs.facts.handle(request, response)) ||
      (await live.webrtc?.handle(request, response)) === true ||
      (await player.handle(request, response)) ||
      delivery.handle(request, response),
    deliverAssets: player.handle,
    upload: uploads.uploads.http,
    binding: createStreamBinding({
      videos,
      urls,
      uploads: uploads.uploads,
      tokens,
      downloads: downloads.downloads,
      captions: captions.captions,
      watermarks,
      ...(defaultAccount !== undefined && { defaultAccount }),
    }),
    held: async (account) => ({
      video: (await videos.storageUsage(account)).videos,
      "watermark profile": (await watermarks.list(account)).length,
      "signing key": (await keys.list(account)).length,
      webhook: (await webhooks.list(account)).length,
      "live input": (await inputs.inputs.list(account, { page: 1, perPage: 1 })).total,
    }),
    media: warm ? tools.ready : undefined,
    listen: async () => (onAir.ports = await live.listen()),
    start() {
      if (roles.has("api")) for (const start of [startVideos, startWebhooks, uploads.start, inputs.start]) start();
      live.start();
      if (!roles.has("encode")) return;
      processing.start();
      for (const part of [downloads, audio, captions.captions, assembly]) part.start();
    },
  };
}

/** Undefined: video URLs use the host of the request. */
const publicOriginOf = ({ http, stream }: Settings): string | undefined =>
  http.public_url === "" || stream.delivery_domain !== "" ? undefined : new URL(http.public_url).origin;
