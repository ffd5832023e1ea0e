import { isIPv4, isIPv6 } from "node:net";
import { flvHeader, writeTag } from "../../../protocol/flv/index.ts";
import { MESSAGE, writeAmf0 } from "../../../protocol/rtmp/index.ts";
import { createFlvSender } from "../flv/send.ts";
import { MediaRunError, type MediaTools } from "../../media/index.ts";
import { OutputError } from "./output-error.ts";
import { checkTracks, type PushOptions } from "./push.ts";
import { type SrtSecrets, writeSrtSecrets } from "./srt-secrets.ts";
import type { SrtTarget } from "./target.ts";

interface SrtPushOptions extends PushOptions {
  target: SrtTarget;
  tools: Pick<MediaTools, "live">;
  /** Folder for a temporary file while sending. */
  folder: string;
}

/** Milliseconds without data accepted by the peer, after which the connection is closed. */
const IDLE_MS = 30_000;
/** Time for the last packets to be sent. */
const FINISH_TIMEOUT_MS = 5000;

/**
 * Sends a broadcast to another server over SRT, as MPEG-TS remuxed by ffmpeg without transcoding. Resolves when it ends
 * or is aborted; rejects with OutputError.
 */
export async function pushSrt(options: SrtPushOptions): Promise<void> {
  const secrets = await writeSrtSecrets(options.target, options.folder);
  try {
    while (!options.signal.aborted && !options.session.signal.aborted && (await pushRun(options, secrets))) continue;
  } finally {
    await secrets.remove();
  }
}

/**
 * Resolves with true if the tracks have changed and the rest requires another ffmpeg process: ffmpeg reads tracks only
 * at its start.
 */
async function pushRun(
  { target, tools, addresses, session, onConnected, signal }: SrtPushOptions,
  { path }: SrtSecrets,
): Promise<boolean> {
  const { video, audio } = session.tracks();
  if (video !== undefined && video.codec !== "h264")
    throw new OutputError(`SRT outputs require H.264, but the video of this broadcast is ${video.codec.toUpperCase()}`);
  let isConnected = false;
  let hasBegun = false;
  let needsRestart = false;
  // Only one address is tried: IPv4 if available, which works on more networks. Progress is reported once the output is
  // open.
  const media = tools.live({
    args: argsOf(target, addresses.find(isIPv4) ?? addresses[0]!, path),
    ...(path !== undefined && { reads: [path] }),
    network: true,
    idleMs: IDLE_MS,
    urgency: "urgent",
    signal,
    outputs: [
      () => {
        if (!isConnected) onConnected();
        isConnected = true;
      },
    ],
  });
  let failure: unknown;
  const fail = (err: unknown) => {
    failure ??= err;
    media.kill();
  };
  const write = (tag: Parameters<typeof writeTag>[0]) => void media.stdin.write(writeTag(tag));
  const sender = createFlvSender({
    send: ({ head, data, ...tag }) => write({ ...tag, data: Buffer.concat([head, data]) }),
    metadata: (streamMetadata) => write({ type: MESSAGE.data, time: 0, data: writeAmf0("onMetaData", streamMetadata) }),
  });
  let finishTimer: NodeJS.Timeout | undefined;
  function finish() {
    media.stdin.end();
    finishTimer ??= setTimeout(media.kill, FINISH_TIMEOUT_MS).unref();
  }
  media.stdin.write(flvHeader({ video: video !== undefined, audio: audio !== undefined }));
  const unsubscribe = session.subscribe({
    tracks(tracks, run) {
      if (hasBegun) needsRestart = true;
      if (needsRestart) return finish();
      hasBegun = true;
      try {
        checkTracks(tracks);
        sender.tracks(tracks, run);
      } catch (err) {
        fail(err);
      }
    },
    packet: (packet) => void (needsRestart || sender.packet(packet)),
    end: finish,
    lag: () => media.stdin.writableLength,
  });
  try {
    await media.done;
    if (!needsRestart && !session.signal.aborted) throw new OutputError(`${target.host} ended the stream`);
    return needsRestart && !session.signal.aborted;
  } catch (err) {
    if (failure !== undefined) throw failure;
    if (signal.aborted || session.signal.aborted) return false;
    if (needsRestart) return true;
    throw err instanceof OutputError ? err : new OutputError(reasonOf(err, target.host, isConnected), { cause: err });
  } finally {
    clearTimeout(finishTimer);
    unsubscribe();
  }
}

/** ffmpeg messages contain the URL with all its secrets. */
function reasonOf(err: unknown, host: string, isConnected: boolean): string {
  if (!(err instanceof MediaRunError)) return err instanceof Error ? err.message : String(err);
  if (err.reason === "timeout") return `${host} accepted no data for ${IDLE_MS / 1000} s`;
  if (err.reason !== "failed") return `ffmpeg could not send it (${err.reason})`;
  return isConnected
    ? `the connection to ${host} was lost`
    : `${host} did not respond, or rejected the stream ID or passphrase`;
}

function argsOf({ port, latencyMs }: SrtTarget, address: string, secrets: string | undefined): string[] {
  return [
    "-progress",
    "pipe:3",
    "-stats_period",
    "1",
    // The first tags contain everything required: longer probing would only add delay.
    "-fpsprobesize",
    "0",
    "-analyzeduration",
    "500000",
    "-f",
    "flv",
    "-i",
    "pipe:0",
    "-map",
    "0:v?",
    "-map",
    "0:a?",
    "-c",
    "copy",
    "-f",
    "mpegts",
    "-flush_packets",
    "1",
    "-mode",
    "caller",
    "-transtype",
    "live",
    "-connect_timeout",
    "5000",
    ...(secrets === undefined ? [] : ["-fpre", secrets]),
    // This option is in microseconds.
    ...(latencyMs === undefined ? [] : ["-latency", String(latencyMs * 1000)]),
    `srt://${isIPv6(address) ? `[${address}]` : address}:${port}`,
  ];
}
