import type { VideoMeta } from "../../videos/index.ts";
/** Ingest point of broadcasts: created once through the API, published to repeatedly. Times are epoch milliseconds. */
export interface LiveInput {
  /** 32 hex digits. */
  uid: string;
  account: string;
  meta: VideoMeta;
  enabled: boolean;
  preferLowLatency: boolean;
  defaultCreator: string | null;
  /** Applies to new recordings; null: they are kept. */
  deleteRecordingAfterDays: number | null;
  recording: LiveRecording;
  created: number;
  modified: number;
  keysRotatedAt: number | null;
}

export interface LiveRecording {
  /** "off": the broadcast is neither stored nor available over HLS or DASH. */
  mode: "off" | "automatic";
  /** Maximum gap before another video begins; 0: the configured default (`live.reconnect_seconds`). */
  timeoutSeconds: number;
  requireSignedURLs: boolean;
  allowedOrigins: string[];
  hideLiveViewerCount: boolean;
}

/** API values. Null before the first broadcast. */
export type LiveState =
  | "connected"
  | "reconnected"
  | "reconnecting"
  | "client_disconnect"
  | "ttl_exceeded"
  | "failed_to_connect"
  | "failed_to_reconnect"
  | "new_configuration_accepted";

/** API error codes of broadcasts. */
export type LiveErrorCode =
  | "ERR_STORAGE_QUOTA_EXHAUSTED"
  | "ERR_GOP_OUT_OF_RANGE"
  | "ERR_UNSUPPORTED_VIDEO_CODEC"
  | "ERR_UNSUPPORTED_AUDIO_CODEC";

/**
 * Input lookups for the rest of live video. Usually served from memory; changes reach every process (event
 * `stream.live` with the uid).
 */
export interface LiveInputDirectory {
  find(uid: string): Promise<LiveInput | undefined>;
  /**
   * Looks up an input by the key for publishers or the key for players; a rotation revokes both. Constant time, by
   * hash.
   */
  byPublishKey(key: string): Promise<LiveInput | undefined>;
  byPlaybackKey(key: string): Promise<LiveInput | undefined>;
  /** Passphrase and permissions of an SRT session with this stream id. */
  bySrtStreamId(
    streamId: string,
  ): Promise<{ input: LiveInput; passphrase: string; direction: "publish" | "play" } | undefined>;
  /**
   * Called on every change to an input: settings, keys, and deletion (`find` then returns undefined). An empty uid: any
   * input may have changed.
   */
  onChange(listener: (uid: string) => void): () => void;
}

/** States of inputs: recorded in a history, shown by the API, sent as notifications. */
export interface LiveStatusLog {
  recordState(
    uid: string,
    state: LiveState,
    details?: { protocol?: string; session?: string; reason?: string },
  ): Promise<void>;
  /** Recorded once per code per session. */
  recordError(
    uid: string,
    code: LiveErrorCode,
    details: { message: string; videoCodec?: string; audioCodec?: string; session?: string },
  ): Promise<void>;
}

/** A remote server to which broadcasts of an input are restreamed. */
export interface LiveOutput {
  /** 32 hex digits. */
  uid: string;
  /** Uid of the input. */
  input: string;
  /** rtmp:, rtmps: or srt:. May contain secrets: never log it. */
  url: string;
  /** RTMP: last segment of the URL. SRT: the passphrase; empty: none. */
  streamKey: string;
  enabled: boolean;
  created: number;
  status: LiveOutputStatus | null;
}

/** Result of the last attempt; null before the first. */
export interface LiveOutputStatus {
  state: "connecting" | "connected" | "error" | "ended";
  /** Human-readable reason for `error`, without secrets from the URL. */
  reason?: string;
  at: number;
}

/** Used by the process that sends the outputs; the API has more methods. */
export interface LiveOutputs {
  /** Resolves with all outputs of an input, including disabled ones, oldest first. */
  list(input: string): Promise<LiveOutput[]>;
  /** Stores the latest status. Ignored if the output has been deleted. */
  recordStatus(output: string, status: Omit<LiveOutputStatus, "at">): Promise<void>;
  /**
   * Called with the input whose outputs have changed: added, removed, enabled or disabled. An empty uid: the outputs of
   * any input may have changed.
   */
  onChange(listener: (input: string) => void): () => void;
}
