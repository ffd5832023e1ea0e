import type { Lifecycle, Log } from "../../../kernel/index.ts";
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
  /** For RTMPS. Absent: the server does not listen for RTMPS. */
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
  const common = { host, connections, publishing: hub, sessions: hub, inputs: directory, viewers, log };
  const rtmp = await startRtmpServer({
    ...common,
    ...(settings.rtmp && { port: settings.rtmp_port }),
    ...(tls && { secure: { port: settings.rtmps_port, tls } }),
  });
  lifecycle.onStop("RTMP", () => rtmp.close());
  const srt = await startSrtServer({ ...common, port: settings.srt_port });
  lifecycle.onStop("SRT", () => srt.close());
  return {
    ...(rtmp.port !== undefined && { rtmpPort: rtmp.port }),
    ...(rtmp.securePort !== undefined && { rtmpsPort: rtmp.securePort }),
    srtPort: srt.port,
  };
}
