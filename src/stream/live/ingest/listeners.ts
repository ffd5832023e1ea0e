import type { Lifecycle, Log } from "../../../kernel/index.ts";
import { networkSet } from "../../../kernel/networks.ts";
import type { Settings } from "../../../kernel/settings.ts";
import type { TlsSource } from "../../../kernel/tls-source.ts";
import type { Hub } from "../hub/hub.ts";
import type { LiveInputDirectory } from "../inputs/port.ts";
import type { LiveViewers } from "../viewers/viewers.ts";
import { startRtmpServer } from "./rtmp/server.ts";
import { startSrtServer } from "./srt/server.ts";

interface LiveListenersDeps {
  settings: Settings["live"];
  hub: Hub;
  directory: LiveInputDirectory;
  /** Counts players. */
  viewers: Pick<LiveViewers, "join">;
  /** For RTMPS. If absent, the server does not listen for RTMPS. */
  tls?: Pick<TlsSource, "context">;
  log: Log;
}

/** Ports that this process listens on. */
export interface LivePorts {
  rtmpPort?: number;
  rtmpsPort?: number;
  srtPort?: number;
}

/** Opens the RTMP and SRT ports for publishers and players. Rejects with UserError liveListenFailed. */
export async function listenForLive(
  { settings, hub, directory, viewers, tls, log }: LiveListenersDeps,
  lifecycle: Pick<Lifecycle, "onStop">,
): Promise<LivePorts> {
  const { host, connections } = settings;
  const commonOptions = { host, connections, publishing: hub, sessions: hub, inputs: directory, viewers, log };
  const rtmpServer = await startRtmpServer({
    ...commonOptions,
    isProxy: networkSet(
      settings.proxies,
      (range) => new TypeError(`live.proxies: ${range} is neither an address nor a range`),
    ),
    ...(settings.rtmp && { port: settings.rtmp_port }),
    ...(tls && { secure: { port: settings.rtmps_port, tls } }),
  });
  lifecycle.onStop("RTMP", () => rtmpServer.close());
  const srtServer = await startSrtServer({ ...commonOptions, port: settings.srt_port });
  lifecycle.onStop("SRT", () => srtServer.close());
  return {
    ...(rtmpServer.port !== undefined && { rtmpPort: rtmpServer.port }),
    ...(rtmpServer.securePort !== undefined && { rtmpsPort: rtmpServer.securePort }),
    srtPort: srtServer.port,
  };
}
