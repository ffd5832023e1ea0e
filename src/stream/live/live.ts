import type { IncomingMessage } from "node:http";
import type { Basics } from "../../kernel/index.ts";
import type { NetworkSet } from "../../kernel/networks.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { TlsSource } from "../../kernel/tls-source.ts";
import {
  publishChange,
  type Db,
  type Events,
  type Jobs,
  type ObjectStore,
  type Secrets,
  type Sweeps,
} from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import type { Access, AccessOptions } from "../access/index.ts";
import type { DeliveryRoute, PublicRoute } from "../delivery/index.ts";
import type { MediaTools } from "../media/index.ts";
import type { PlaybackOverride, TextTracks } from "../playback/index.ts";
import type { Probe } from "../probe/index.ts";
import type { VideosModule } from "../videos/index.ts";
import type { SegmentDuration } from "../viewed/index.ts";
import type { Webhooks } from "../webhooks/index.ts";
import { createLiveAddresses, type LiveAddressesModule } from "./addresses/addresses.ts";
import { createOnAirAccess } from "./addresses/on-air.ts";
import { createBroadcastControllers } from "./broadcast/broadcasts.ts";
import { createLeasesTable } from "./broadcast/leases-table.ts";
import { createAdmission } from "./encode/admission.ts";
import { createLiveEncoder } from "./encode/live-encoder.ts";
import { createHub } from "./hub/hub.ts";
import { listenForLive, type LivePorts } from "./ingest/listeners.ts";
import { createPublicStatus } from "./inputs/public-status.ts";
import { createLiveHealthReports, type LiveHealthReports } from "./inputs/health.ts";
import { LIVE_CHANGED } from "./inputs/directory.ts";
import { createLiveInputs, type LiveInputsModule } from "./inputs/live-inputs.ts";
import { OUTPUTS_CHANGED } from "./inputs/outputs.ts";
import type { LiveUrls } from "./inputs/show.ts";
import { createLiveNotifications } from "./notifications/notifications.ts";
import { createLiveOutputsRunner } from "./outputs/live-outputs.ts";
import { createLivePackages, type LivePackagesModule } from "./package/packages.ts";
import { createLivePlayback } from "./package/playback.ts";
import { createLiveThumbnails, type LiveThumbnails } from "./pictures/pictures.ts";
import { type Assembly, createAssembly } from "./record/assembly.ts";
import { createClipFiles } from "./record/clip.ts";
import type { Recordings } from "./record/port.ts";
import { createRecordings } from "./record/recordings.ts";
import { createLiveViewers, type LiveViewers, type ViewerConnection } from "./viewers/viewers.ts";
import { createTranscoder } from "./webrtc/transcoder.ts";
import { createLiveWebrtc, type LiveWebrtc } from "./webrtc/webrtc.ts";

interface LiveDeps {
  store: { db: Db; objects: ObjectStore; events: Events; jobs: Jobs; sweeps?: Sweeps };
  secrets: Secrets;
  settings: Settings;
  /** True if publishers connect to this process. Otherwise it serves what other processes store. */
  ingest: boolean;
  videos: VideosModule;
  webhooks: Pick<Webhooks, "liveEvent">;
  /** Builds access control over another source of videos. */
  accessTo(from: Pick<AccessOptions, "videos">): Access;
  captions: TextTracks;
  probe: Probe;
  tools: MediaTools;
  /** Scratch folder of this process. */
  folder: string;
  /** Returns the server's own URL, as clients reach it. */
  serverUrl(): string;
  /** Path before `/{id}`: "" or "/cdn-cgi/stream". */
  base: string;
  /** IP address of the client, behind trusted proxies. */
  address(request: IncomingMessage): string;
  /** Scheme and host of the URL that the viewer requested. */
  origin(request: IncomingMessage): string;
  /** For RTMPS. If absent, the server does not listen for RTMPS. */
  tls?: Pick<TlsSource, "context">;
  /** Addresses of this machine, blocked for outputs. Default: those of its interfaces. */
  ownAddresses?: NetworkSet;
  /** Called every few seconds for each viewer over WebRTC, SRT and RTMP, with the seconds since the last call. */
  onWatched?(connection: ViewerConnection, seconds: number): void;
}

/** Live input operations for their owner. */
export interface LiveServices extends Pick<LiveInputsModule, "inputs" | "outputs"> {
  now: LiveInputsModule["broadcasts"]["now"];
  viewers: LiveViewers["count"];
  health: LiveHealthReports["of"];
  samples: LiveHealthReports["samples"];
  /** Disconnects the publisher of an input, whichever process it is connected to. */
  disconnect(input: string): void;
  endpoints: LiveUrls["endpoints"];
}

/** Broadcasts, from their publishers to viewers and recordings. */
interface Live {
  services: LiveServices;
  /** Resolves the uid of an input to a video. */
  addresses: LiveAddressesModule;
  /** Takes precedence over the playback of uploaded videos. */
  playback: PlaybackOverride & { segmentDuration: SegmentDuration };
  /** Wraps the thumbnail routes: thumbnails of broadcasts are rendered from the broadcast. */
  thumbnails: LiveThumbnails["wrap"];
  /** Counts the clients that play a broadcast over HLS or DASH. */
  watch: LiveViewers["watch"];
  /** Route of `clip.mp4`. */
  delivery: DeliveryRoute[];
  /** `lifecycle` and `views`. */
  status: PublicRoute[];
  /** WHIP and WHEP. Undefined if publishers do not connect to this process. */
  webrtc: LiveWebrtc | undefined;
  /** Topics of `store/events` that carry the uid of a changed input. */
  changes: readonly string[];
  findInput(uid: string): Promise<{ account: string } | undefined>;
  isPublished(input: string): Promise<boolean>;
  isRecorded(input: string): Promise<boolean>;
  /** Merges the segments of a recording into one file; `onDone` reports the end. */
  assembly: Pick<Assembly, "enqueue" | "onDone" | "start">;
  /** Opens the ports for RTMP and SRT. Rejects with UserError liveListenFailed. */
  listen(): Promise<LivePorts>;
  /** Starts the background work that every process serving the API needs. */
  startInputs(): void;
  /** Starts converting broadcasts into videos. Call it after all other components have been composed. */
  start(): void;
}

/** The id of the event is the uid of the input. */
const DISCONNECT_REQUESTED = "stream.live.disconnect";

/** Composes live inputs and ingest. */
export function createLive(deps: LiveDeps, basics: Basics): Live {
  const { store, secrets, settings, videos, webhooks, captions, probe, tools, folder } = deps;
  const { clock, ids, log, lifecycle } = basics;
  const { db, objects, events, jobs, sweeps } = store;

  const inputs = createLiveInputs({
    db,
    events,
    sweeps,
    secrets,
    clock,
    ids,
    log,
    catalog: videos,
    guard: videos.live.setAccessRules,
    settings: settings.stream,
  });
  const { directory, broadcasts } = inputs;
  inputs.onEvent(createLiveNotifications({ webhooks, inputs: directory }));
  inputs.onEvent(async ({ account, input }) => publishChange(events, { topic: "live", account, id: input }));
  const viewers = createLiveViewers({ db, clock, ids, onWatched: deps.onWatched, log });
  lifecycle.onStop("live inputs", async () => {
    await viewers.close();
    await inputs.close();
  });
  const addresses = createLiveAddresses({ inputs: directory, videos, catalog: videos, clock });
  const isRecorded = async (input: string) => (await directory.find(input))?.recording.mode !== "off";

  const recordings = createRecordings({ db, objects, clock, log, segmentSeconds: settings.live.segment_seconds });
  videos.onDeleted(recordings.clean);
  const assembly = createAssembly({ jobs, objects, videos: videos.live, recordings, probe, tools, folder, log });
  lifecycle.onStop("files of recordings", () => assembly.close());

  const packages = createLivePackages({ settings: settings.live });
  lifecycle.onStop("packages of broadcasts", () => packages.close());
  const liveThumbnails = createLiveThumbnails({ tools, packages, recordings, isRecorded, folder, clock });

  const ingest = deps.ingest
    ? createIngest({ ...deps, inputs, viewers, addresses, recordings, assembly, packages }, basics)
    : undefined;
  const health = createLiveHealthReports({
    db,
    clock,
    log,
    viewers: viewers.count,
    onPublished(sessions) {
      for (const { input } of sessions)
        publishChange(events, { topic: "live_metrics", account: input.account, id: input.uid });
    },
    ...(ingest && { sessions: ingest.hub }),
  });
  lifecycle.onStop("health of broadcasts", () => health.close());
  /** Ports that this process listens on, once it is listening. */
  let ports: LivePorts | undefined;

  return {
    services: {
      inputs: inputs.inputs,
      outputs: inputs.outputs,
      now: broadcasts.now,
      viewers: viewers.count,
      health: health.of,
      samples: health.samples,
      disconnect: (input) => events.publish(DISCONNECT_REQUESTED, input),
      endpoints: () => ({
        host: settings.live.public_host || new URL(deps.serverUrl()).hostname,
        ...(ports ?? portsOf(settings.live)),
      }),
    },
    addresses,
    playback: createLivePlayback({
      packages,
      timelineOf: recordings.timeline,
      stored: recordings.stored,
      settings: settings.live,
      captions,
      isRecorded,
      prefersLowLatency: async ({ liveInput }) =>
        liveInput !== undefined && (await directory.find(liveInput))?.preferLowLatency === true,
    }),
    thumbnails: liveThumbnails.wrap,
    watch: viewers.watch,
    delivery: createClipFiles({ recordings }),
    status: createPublicStatus({
      directory,
      videos,
      broadcasts,
      viewers: viewers.count,
      domain: settings.stream.delivery_domain,
    }),
    webrtc: ingest?.webrtc,
    changes: [LIVE_CHANGED, OUTPUTS_CHANGED],
    findInput: directory.find,
    isPublished: async (input) => (await broadcasts.now(input))?.live === true,
    isRecorded,
    assembly,
    async listen() {
      if (ingest === undefined) return {};
      return (ports = await listenForLive(
        { settings: settings.live, hub: ingest.hub, directory, viewers, ...(deps.tls && { tls: deps.tls }), log },
        lifecycle,
      ));
    },
    startInputs: inputs.start,
    start() {
      ingest?.start();
      health.start();
    },
  };
}

interface IngestDeps extends LiveDeps {
  inputs: LiveInputsModule;
  viewers: LiveViewers;
  addresses: LiveAddressesModule;
  recordings: Recordings;
  assembly: Assembly;
  packages: LivePackagesModule;
}

/** Composes the components that process a publisher's stream, in the process it connects to. */
function createIngest(deps: IngestDeps, { clock, ids, log, lifecycle }: Basics) {
  const { store, settings, videos, inputs, viewers, addresses, recordings, assembly, packages, tools, folder } = deps;
  const { directory, status, outputs } = inputs;
  const hub = createHub({ inputs: directory, status, clock, log, maxPublishers: settings.live.connections });
  const broadcasts = createBroadcastControllers({
    leases: createLeasesTable(store.db),
    sessions: hub,
    endSession: (session, reason) => hub.end(session.input.uid, reason),
    inputs: directory,
    status,
    videos: videos.live,
    recordings,
    packages,
    encoder: createLiveEncoder({
      tools,
      settings: settings.live,
      admission: createAdmission({ encoders: settings.live.encoders }),
      clock,
      log,
      setNotes: hub.setNotes,
    }),
    assemble: assembly.enqueue,
    clock,
    ids,
    log,
    reconnectSeconds: settings.live.reconnect_seconds,
    isOnlyProcess: !deps.store.db.isShared,
  });
  const runner = createLiveOutputsRunner({
    outputs,
    sessions: hub,
    tools,
    clock,
    log,
    folder,
    addresses: {
      allowPrivate: settings.stream.allow_private,
      ...(deps.ownAddresses && { ownAddresses: deps.ownAddresses }),
    },
  });
  const webrtc = createLiveWebrtc({
    publishing: hub,
    sessions: hub,
    transcoder: createTranscoder({ tools, log }),
    settings: settings.live,
    base: deps.base,
    address: deps.address,
    origin: deps.origin,
    log,
    access: createOnAirAccess({
      access: deps.accessTo({ videos: { find: addresses.onAir } }),
      domain: settings.stream.delivery_domain,
    }),
    onViewer: (input, { session, ip }) => viewers.join(input, session, { ip, player: "WebRTC" }),
    onInputChange: directory.onChange,
  });
  const stopListening = store.events.subscribe(DISCONNECT_REQUESTED, (uid) =>
    hub.end(uid, streamErrors.liveDisconnected()),
  );
  lifecycle.onStop("requests to disconnect publishers", stopListening);
  // Stop handlers run in reverse order of registration: publishers disconnect before their broadcasts end.
  lifecycle.onStop("broadcasts", () => broadcasts.close());
  lifecycle.onStop("outputs of broadcasts", () => runner.close());
  lifecycle.onStop("publishers", async () => {
    hub.close();
    await webrtc.close();
  });
  return { hub, webrtc, start: broadcasts.start };
}

/** Ports from the settings. A process that does not listen cannot know a port chosen by the system (0). */
function portsOf({ rtmp, rtmp_port: rtmpPort, rtmps_port: rtmpsPort, srt_port: srtPort }: Settings["live"]): LivePorts {
  return {
    ...(rtmp && rtmpPort !== 0 && { rtmpPort }),
    ...(rtmpsPort !== 0 && { rtmpsPort }),
    ...(srtPort !== 0 && { srtPort }),
  };
}
