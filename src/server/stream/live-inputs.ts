import {
  streamLiveInputsRoutes,
  streamLiveOutputsRoutes,
  type Route,
  type StreamLiveInputsDeps,
} from "../../api/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Secrets } from "../../store/index.ts";
import {
  createLiveAddresses,
  createLiveFacts,
  createLiveInputs,
  createLiveNotifications,
  createLiveViewers,
  type LiveAddressesRoom,
  type LiveEndpoints,
  type LiveFacts,
  type LiveInputsRoom,
  type LiveViewers,
  type StreamUrls,
  type VideosRoom,
  type Webhooks,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeLiveInputsParts {
  store: Pick<Store, "db" | "events">;
  secrets: Secrets;
  settings: Settings;
  urls: StreamUrls;
  videos: VideosRoom;
  webhooks: Pick<Webhooks, "liveEvent">;
  /** As clients reach this server. */
  base: () => string;
  /** Before `/{id}`: "" or "/cdn-cgi/stream". */
  prefix?: string;
  /** Ports that are listened on here, once they are known. Undefined: those of the settings. */
  ports: () => Omit<LiveEndpoints, "host"> | undefined;
  health: StreamLiveInputsDeps["health"];
}

export interface ComposedLiveInputs extends Pick<
  LiveInputsRoom,
  "inputs" | "outputs" | "directory" | "status" | "broadcasts"
> {
  routes: Route[];
  /** What is behind the uid of an input. */
  addresses: LiveAddressesRoom;
  viewers: LiveViewers;
  /** `/{id}/lifecycle` and `/{id}/views`: before everything else that is delivered. */
  facts: LiveFacts;
  /** Tells what a crash has left untold, from now on. In one or more of the processes that share a database. */
  start(): void;
}

const EVERY_MS = 60_000;

/** Live inputs, their outputs and what is told of them. */
export function composeLiveInputs(
  {
    store: { db, events },
    secrets,
    settings,
    urls,
    videos,
    webhooks,
    base,
    prefix = "",
    ports,
    health,
  }: ComposeLiveInputsParts,
  { clock, ids, log, lifecycle }: Basics,
): ComposedLiveInputs {
  const { inputs, outputs, directory, status, broadcasts, recover, close } = createLiveInputs({
    db,
    events,
    secrets,
    clock,
    ids,
    log,
    catalog: videos,
    guard: videos.live.guard,
    settings: settings.stream,
    onEvent: (event) => createLiveNotifications({ webhooks, inputs: directory })(event),
  });
  const viewers = createLiveViewers({ db, clock, ids, log });
  const addresses = createLiveAddresses({ inputs: directory, videos, catalog: videos, clock });
  const endpoints = (): LiveEndpoints => ({
    host: settings.live.public_host || new URL(base()).hostname,
    ...(ports() ?? settled(settings)),
  });
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;
  lifecycle.onStop("live inputs", async () => {
    clearInterval(timer);
    await round;
    await viewers.close();
    close();
  });
  const again = () =>
    void (round ??= recover()
      .catch((err: unknown) => log.warn({ err }, "what became of live inputs could not be told; it is tried again"))
      .finally(() => (round = undefined)));

  return {
    inputs,
    outputs,
    directory,
    status,
    broadcasts,
    addresses,
    viewers,
    routes: [
      ...streamLiveInputsRoutes({
        inputs,
        outputs,
        videos,
        urls,
        endpoints,
        now: broadcasts.now,
        viewers: viewers.count,
        health,
      }),
      ...streamLiveOutputsRoutes({ outputs }),
    ],
    facts: createLiveFacts({
      directory,
      videos,
      broadcasts,
      viewers: viewers.count,
      base: prefix,
      domain: settings.stream.delivery_domain,
      log,
    }),
    start() {
      again();
      timer = setInterval(again, EVERY_MS).unref();
    },
  };
}

/** A port that is only known once it is listened on is not told by a process that does not listen. */
function settled({
  live: { rtmp, rtmp_port: rtmpPort, rtmps_port: rtmpsPort, srt_port: srtPort },
}: Settings): Omit<LiveEndpoints, "host"> {
  return {
    ...(rtmp && rtmpPort !== 0 && { rtmpPort }),
    ...(rtmpsPort !== 0 && { rtmpsPort }),
    ...(srtPort !== 0 && { srtPort }),
  };
}
