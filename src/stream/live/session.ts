import type { LiveInput } from "./inputs/port.ts";
import type { LiveTracks, MediaPacket } from "./packets.ts";
import type { LiveProtocol } from "./publish.ts";

/** Sessions published in this process. Implemented by `hub/`. */
export interface LiveSessions {
  of(input: string): LiveSession | undefined;
  all(): LiveSession[];
  /** Called for every new session, with the tracks known. Returns an unsubscribe function. */
  onSession(listener: (session: LiveSession) => void): () => void;
}

/** A connected publisher that has announced its tracks. */
export interface LiveSession {
  /** 32 hex digits, unique per connection. */
  readonly id: string;
  readonly input: LiveInput;
  readonly protocol: LiveProtocol;
  /** Epoch milliseconds of the first packet: time zero of the run. */
  readonly started: number;
  tracks(): LiveTracks;
  health(): LiveHealth;
  /**
   * Delivers everything since the last key frame, then new packets, in arrival order. Returns an unsubscribe function.
   */
  subscribe(subscriber: LiveSubscriber): () => void;
  /** Asks the publisher for a key frame if the protocol supports it; at most every half second. */
  requestKeyFrame(): void;
  /**
   * Aborted when the publisher disconnects. The reason is a UserError: livePublisherDone if it ended the stream
   * properly, livePublisherLost if the connection broke, otherwise the server's reason for ending it.
   */
  readonly signal: AbortSignal;
}

/** Called synchronously; must not throw. */
export interface LiveSubscriber {
  /**
   * Called first, and on every change: after such a discontinuity, times start at zero again and the first packet is a
   * key frame.
   */
  tracks(tracks: LiveTracks, run: { id: string; started: number }): void;
  packet(packet: MediaPacket): void;
  /** Called last, when the publisher has disconnected. */
  end(): void;
  /**
   * Returns the number of octets delivered but not yet sent: above `LAG_LIMIT`, packets are skipped up to the next key
   * frame. Absent: always ready.
   */
  lag?(): number;
}

/** 8 MiB: a few seconds at the maximum bitrate. */
export const LAG_LIMIT = 8 * 1024 * 1024;

/** Measurements over the last ten seconds. */
export interface LiveHealth {
  /** Bits per second. */
  videoBitrate: number;
  audioBitrate: number;
  frameRate: number;
  /** Seconds between the last two key frames, and the longest interval in the session. */
  keyFrameInterval: number;
  longestKeyFrameInterval: number;
  /** Packets dropped by the server (invalid times, unknown track), and packets lost by the network. */
  dropped: number;
  lost: number;
  /** The video has B-frames, which rule out low latency. */
  bFrames: boolean;
  /** Current problems, as API codes: "ERR_GOP_OUT_OF_RANGE". */
  problems: string[];
  /** Decisions as sentences: the renditions that are not encoded, and why. Absent: no notes. */
  notes?: string[];
}
