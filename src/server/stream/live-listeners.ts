import type { Lifecycle, Log } from "../../kernel/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { TlsSource } from "../../kernel/tls-source.ts";
import {
  startRtmpServer,
  startSrtServer,
  type Hub,
  type LiveInputDirectory,
  type LiveViewers,
} from "../../stream/index.ts";

export interface LiveListenersParts {
  settings: Settings["live"];
  hub: Hub;
  directory: LiveInputDirectory;
  /** Who plays is counted. */
  viewers: Pick<LiveViewers, "join">;
  /** Absent: no RTMPS. */
  tls?: Pick<TlsSource, "context">;
  log: Log;
}

/** What is listened on. */
export interface LivePorts {
  rtmpPort?: number;
  rtmpsPort?: number;
  srtPort?: number;
}

/** Opens the ports for publishers and players that are no browsers. Rejects UserError liveListenFailed. */
export async function listenForLive(
  { settings, hub, directory, viewers, tls, log }: LiveListenersParts,
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
