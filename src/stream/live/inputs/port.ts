/** Where a broadcast comes in: made once through the API, published to again and again. Times are epoch milliseconds. */
export interface LiveInput {
  /** 32 hex digits. */
  uid: string;
  account: string;
  meta: Record<string, string>;
  enabled: boolean;
  preferLowLatency: boolean;
  defaultCreator: string | null;
  /** Of recordings that are made from now on; null: they are kept. */
  deleteRecordingAfterDays: number | null;
  recording: LiveRecording;
  created: number;
  modified: number;
  keysRotatedAt: number | null;
}

export interface LiveRecording {
  /** "off": nothing is kept, and there is no HLS and no DASH. */
  mode: "off" | "automatic";
  /** How long a gap may be before another video begins; 0: as the settings have it (`live.reconnect_seconds`). */
  timeoutSeconds: number;
  requireSignedURLs: boolean;
  allowedOrigins: string[];
  hideLiveViewerCount: boolean;
}

/** The contract's words. Null before the first broadcast. */
export type LiveState =
  | "connected"
  | "reconnected"
  | "reconnecting"
  | "client_disconnect"
  | "ttl_exceeded"
  | "failed_to_connect"
  | "failed_to_reconnect"
  | "new_configuration_accepted";

/** Codes of the contract for what is wrong with a broadcast. */
export type LiveErrorCode =
  | "ERR_STORAGE_QUOTA_EXHAUSTED"
  | "ERR_GOP_OUT_OF_RANGE"
  | "ERR_UNSUPPORTED_VIDEO_CODEC"
  | "ERR_UNSUPPORTED_AUDIO_CODEC";

/** What the rest of live video asks of inputs. Answered from memory as a rule; a change is heard in every process (event `stream.live` with the uid). */
export interface LiveInputDirectory {
  find(uid: string): Promise<LiveInput | undefined>;
  /** By the key that is given to publishers, or the one that is given to players; both are revoked by a rotation. In constant time, by hash. */
  byPublishKey(key: string): Promise<LiveInput | undefined>;
  byPlaybackKey(key: string): Promise<LiveInput | undefined>;
  /** What an SRT session with this stream id is encrypted with, and what it may do. */
  bySrtStreamId(
    streamId: string,
  ): Promise<{ input: LiveInput; passphrase: string; direction: "publish" | "play" } | undefined>;
  /** Told of every change of an input: of settings, keys, and its end (`find` gives undefined then). An empty uid: any of them may have changed. */
  onChange(listener: (uid: string) => void): () => void;
}

/** What is told of an input as it goes: kept with a history, shown by the API, sent as notifications. */
export interface LiveStatusLog {
  note(uid: string, state: LiveState, about?: { protocol?: string; session?: string; reason?: string }): Promise<void>;
  /** Once for each code and session. */
  errored(
    uid: string,
    code: LiveErrorCode,
    about: { message: string; videoCodec?: string; audioCodec?: string; session?: string },
  ): Promise<void>;
}

/** Somewhere else that a broadcast of an input is sent on to. */
export interface LiveOutput {
  /** 32 hex digits. */
  uid: string;
  /** Uid of the input. */
  input: string;
  /** rtmp:, rtmps: or srt:. May hold secrets of its own: never logged. */
  url: string;
  /** RTMP: what follows the address. SRT: the passphrase; empty: none. */
  streamKey: string;
  enabled: boolean;
  created: number;
  status: LiveOutputStatus | null;
}

/** What became of it when it was last tried; null before. */
export interface LiveOutputStatus {
  state: "connecting" | "connected" | "error" | "ended";
  /** For a person, without addresses' secrets; of `error`. */
  reason?: string;
  at: number;
}

/** What whoever runs the outputs asks: the rest of them is the API's business. */
export interface LiveOutputs {
  /** All of an input, the disabled ones too, the oldest first. */
  list(input: string): Promise<LiveOutput[]>;
  /** Kept as it was told last. Of one that is gone by now nothing is kept. */
  note(output: string, status: Omit<LiveOutputStatus, "at">): Promise<void>;
  /** Told of the input whose outputs changed: one more or less, or switched on or off. An empty uid: any of them may have. */
  onChange(listener: (input: string) => void): () => void;
}
