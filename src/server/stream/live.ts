import type { IncomingMessage } from "node:http";
import { availableParallelism } from "node:os";
import type { NetworkSet } from "../../kernel/networks.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { TlsSource } from "../../kernel/tls-source.ts";
import {
  createAdmission,
  createBridges,
  createBroadcasts,
  createClipFiles,
  createHub,
  createLeasesTable,
  createLiveHealthNotes,
  createLiveOutputsRunner,
  createLivePackages,
  createLivePictures,
  createLivePlayback,
  createLiveWebrtc,
  createOnAirAccess,
  createRunMaker,
  type Access,
  type Assembly,
  type DeliveryRoute,
  type LiveHealthNotes,
  type LivePictures,
  type LivePlayback,
  type LiveWebrtc,
  type MediaTools,
  type Recordings,
  type TextTracks,
  type VideosRoom,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";
import { listenForLive, type LivePorts } from "./live-listeners.ts";
import type { ComposedLiveInputs } from "./live-inputs.ts";

export interface ComposeLiveParts {
  store: Pick<Store, "db">;
  settings: Settings;
  /** Addresses of this machine, blocked for outputs. Default: those of its interfaces. */
  own?: NetworkSet;
  /** Whether publishers come to this process. Else it plays what others keep. */
  here: boolean;
  videos: VideosRoom;
  live: ComposedLiveInputs;
  recordings: Recordings;
  assembly: Assembly;
  captions: TextTracks;
  tools: MediaTools;
  /** Of this process alone. */
  folder: string;
  /** Before `/{id}`: "" or "/cdn-cgi/stream". */
  base?: string;
  /** For RTMPS; absent: it is not listened for. */
  tls?: Pick<TlsSource, "context">;
  /** To broadcasts as they are now. */
  onAir: Access;
  /** Made later. */
  address(request: IncomingMessage): string;
  origin(request: IncomingMessage): string;
}

export interface ComposedLive {
  playback: LivePlayback;
  pictures: LivePictures;
  /** Absent where no publishers come. */
  webrtc: LiveWebrtc | undefined;
  /** How well broadcasts come in, here or elsewhere. */
  health: LiveHealthNotes;
  /** `clip.mp4`. */
  delivery: DeliveryRoute[];
  /** For publishers and players of RTMP and SRT. Rejects UserError liveListenFailed. */
  listen(): Promise<LivePorts>;
  /** Broadcasts become videos from now on. Once everything else stands. */
  start(): void;
}

/** Broadcasts from their publishers to whoever sees them, now and later. */
export function composeLive(parts: ComposeLiveParts, basics: Basics): ComposedLive {
  const { store, settings, here, live, recordings, captions, tools, folder } = parts;
  const { clock, log, lifecycle } = basics;
  const packages = createLivePackages({ settings: settings.live });
  lifecycle.onStop("packages of broadcasts", () => packages.close());
  const stored = recordings.stored;
  // A running broadcast is served from this process; after its end the recording is used, which may have fewer segments.
  async function timelineOf(video: string) {
    const packaged = packages.of(video)?.timeline();
    return packaged === undefined || packaged.ended ? ((await recordings.timeline(video)) ?? packaged) : packaged;
  }
  const isRecorded = async (input: string) => (await live.directory.find(input))?.recording.mode !== "off";
  const playback = createLivePlayback({
    packages,
    timelineOf: recordings.timeline,
    stored,
    settings: settings.live,
    captions,
    isRecorded,
    prefersLowLatency: async ({ liveInput }) =>
      liveInput !== undefined && (await live.directory.find(liveInput))?.preferLowLatency === true,
  });
  const pictures = createLivePictures({ tools, timelineOf, stored, isRecorded, folder, clock });
  const onAir = here ? composeOnAir({ ...parts, packages }, basics) : undefined;
  const health = createLiveHealthNotes({ db: store.db, clock, log, ...(onAir && { sessions: onAir.hub }) });
  lifecycle.onStop("health of broadcasts", () => health.close());
  return {
    playback,
    pictures,
    health,
    webrtc: onAir?.webrtc,
    delivery: createClipFiles({ recordings }),
    listen: async () =>
      onAir === undefined
        ? {}
        : listenForLive(
            {
              settings: settings.live,
              hub: onAir.hub,
              directory: live.directory,
              viewers: live.viewers,
              ...(parts.tls && { tls: parts.tls }),
              log,
            },
            lifecycle,
          ),
    start() {
      onAir?.start();
      health.start();
    },
  };
}

type OnAirParts = ComposeLiveParts & { packages: ReturnType<typeof createLivePackages> };

/** In the process that publishers come to. */
function composeOnAir(
  {
    store,
    settings,
    videos,
    live,
    recordings,
    assembly,
    tools,
    folder,
    packages,
    own,
    base = "",
    onAir,
    address,
    origin,
  }: OnAirParts,
  { clock, ids, log, lifecycle }: Basics,
) {
  const { directory, status, outputs, viewers } = live;
  const hub = createHub({ inputs: directory, status, clock, log, most: settings.live.connections });
  const admission = createAdmission({ encoders: settings.live.encoders || Math.max(1, availableParallelism() - 1) });
  const runs = createRunMaker({ tools, settings: settings.live, admission, clock, log, note: hub.note });
  const broadcasts = createBroadcasts({
    leases: createLeasesTable(store.db),
    sessions: hub,
    endSession: (session, reason) => hub.end(session.input.uid, reason),
    inputs: directory,
    status,
    videos: videos.live,
    recordings,
    packages,
    runs,
    assemble: assembly.enqueue,
    clock,
    ids,
    log,
    reconnectSeconds: settings.live.reconnect_seconds,
    alone: settings.database.url === "",
  });
  const runner = createLiveOutputsRunner({
    outputs,
    sessions: hub,
    tools,
    clock,
    log,
    folder,
    addresses: { allowPrivate: settings.stream.allow_private, ...(own && { own }) },
  });
  const webrtc = createLiveWebrtc({
    publishing: hub,
    sessions: hub,
    bridges: createBridges({ tools, log }),
    settings: settings.live,
    base,
    address,
    origin,
    log,
    access: createOnAirAccess({ access: onAir, domain: settings.stream.delivery_domain }),
    onViewer: (input, { session }) => viewers.join(input, session),
    onInputChange: (listener) => directory.onChange(listener),
  });
  // Publishers first, so that everything behind them comes to an orderly end; then what was made of what they sent.
  lifecycle.onStop("broadcasts", () => broadcasts.close());
  lifecycle.onStop("outputs of broadcasts", () => runner.close());
  lifecycle.onStop("publishers", async () => {
    hub.close();
    await webrtc.close();
  });
  return { hub, webrtc, start: broadcasts.start };
}
