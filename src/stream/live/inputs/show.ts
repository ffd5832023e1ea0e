import type { StreamUrls, VideoMeta } from "../../videos/index.ts";
import { srtPlaybackId, srtPublishId } from "./keys.ts";
import type { LiveInput, LiveOutput, LiveRecording, LiveState } from "./port.ts";
import type { LiveHistoryEntry, OwnedLiveInput } from "./types.ts";

/** The endpoints for RTMP and SRT publishers and players. Known once the server listens; absent ports are not shown. */
interface LiveEndpoints {
  host: string;
  rtmpPort?: number;
  rtmpsPort?: number;
  srtPort?: number;
}

export interface LiveUrls {
  urls: Pick<StreamUrls, "origin" | "of">;
  endpoints(): LiveEndpoints;
}

interface ShownRtmp {
  url: string;
  streamKey: string;
}

interface ShownSrt {
  url: string;
  streamId: string;
  passphrase: string;
}

/** A live input as shown in lists: without publishing credentials. */
interface ListedLiveInput {
  uid: string;
  created: string;
  modified: string;
  meta: VideoMeta;
  enabled: boolean;
  deleteRecordingAfterDays?: number;
}

/** A live input as the API shows it to its owner. */
interface ShownLiveInput extends ListedLiveInput {
  rtmps?: ShownRtmp;
  rtmpsPlayback?: ShownRtmp;
  /** Reelpost extension: unencrypted RTMP, for clients that cannot verify the certificate. */
  rtmp?: ShownRtmp;
  rtmpPlayback?: ShownRtmp;
  srt?: ShownSrt;
  srtPlayback?: ShownSrt;
  webRTC: { url: string };
  webRTCPlayback: { url: string };
  playback: { hls: string; dash: string };
  status: LiveState | null;
  recording: LiveRecording;
  preferLowLatency: boolean;
  defaultCreator?: string;
  keysRotatedAt?: string;
}

/** RFC 3339, UTC. */
const toIso = (time: number): string => new Date(time).toISOString();

export const listLiveInput = ({
  uid,
  created,
  modified,
  meta,
  enabled,
  deleteRecordingAfterDays: days,
}: LiveInput): ListedLiveInput => ({
  uid,
  created: toIso(created),
  modified: toIso(modified),
  meta,
  enabled,
  ...(days !== null && { deleteRecordingAfterDays: days }),
});

export function showLiveInput({ input, keys, status }: OwnedLiveInput, { urls, endpoints }: LiveUrls): ShownLiveInput {
  const { uid, recording, preferLowLatency, defaultCreator, keysRotatedAt } = input;
  const { host, rtmpPort, rtmpsPort, srtPort } = endpoints();
  const [origin, { hls, dash }] = [urls.origin(input.account), urls.of(input)];
  const toShownRtmp = (scheme: string, port: number, streamKey: string): ShownRtmp => ({
    url: `${scheme}://${host}:${port}/live/`,
    streamKey,
  });
  const toShownSrt = (port: number, streamId: string, passphrase: string): ShownSrt => ({
    url: `srt://${host}:${port}`,
    streamId,
    passphrase,
  });
  return {
    ...listLiveInput(input),
    ...(rtmpsPort !== undefined && {
      rtmps: toShownRtmp("rtmps", rtmpsPort, keys.publish),
      rtmpsPlayback: toShownRtmp("rtmps", rtmpsPort, keys.playback),
    }),
    ...(rtmpPort !== undefined && {
      rtmp: toShownRtmp("rtmp", rtmpPort, keys.publish),
      rtmpPlayback: toShownRtmp("rtmp", rtmpPort, keys.playback),
    }),
    ...(srtPort !== undefined && {
      srt: toShownSrt(srtPort, srtPublishId(uid), keys.publish),
      srtPlayback: toShownSrt(srtPort, srtPlaybackId(uid), keys.playback),
    }),
    webRTC: { url: `${origin}/${keys.publish}/webRTC/publish` },
    webRTCPlayback: { url: `${origin}/${uid}/webRTC/play` },
    playback: { hls, dash },
    status,
    recording,
    preferLowLatency,
    ...(defaultCreator !== null && { defaultCreator }),
    ...(keysRotatedAt !== null && { keysRotatedAt: toIso(keysRotatedAt) }),
  };
}

/** An output as the API shows it to its owner, with its status. */
interface ShownLiveOutput {
  uid: string;
  url: string;
  streamKey: string;
  enabled: boolean;
  status: { state: "connecting" | "connected" | "error" | "ended"; reason?: string; at: string } | null;
}

export const showLiveOutput = ({ uid, url, streamKey, enabled, status }: LiveOutput): ShownLiveOutput => ({
  uid,
  url,
  streamKey,
  enabled,
  status: status === null ? null : { ...status, at: toIso(status.at) },
});

type ShownLiveHistory = Omit<LiveHistoryEntry, "at"> & { at: string };

export const showLiveHistory = (entry: LiveHistoryEntry): ShownLiveHistory => ({ ...entry, at: toIso(entry.at) });
