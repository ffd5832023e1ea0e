import type { LiveInput } from "./inputs/port.ts";
import type { LiveTracks, MediaPacket } from "./packets.ts";
import type { LiveProtocol } from "./publish.ts";

/** What is being published in this process. Implemented by `hub/`. */
export interface LiveSessions {
  of(input: string): LiveSession | undefined;
  all(): LiveSession[];
  /** Called for every session that begins, with the tracks known. Returns the end of it. */
  onSession(listener: (session: LiveSession) => void): () => void;
}

/** A publisher that is connected and has said what it sends. */
export interface LiveSession {
  /** 32 hex digits, of this connection. */
  readonly id: string;
  readonly input: LiveInput;
  readonly protocol: LiveProtocol;
  /** Epoch milliseconds of the first packet: second zero of the run. */
  readonly started: number;
  tracks(): LiveTracks;
  health(): LiveHealth;
  /** Everything from the last key frame on, and then as it comes, in the order in which it came. Returns the end of it. */
  subscribe(subscriber: LiveSubscriber): () => void;
  /** Asks the publisher for a key frame, where the protocol can; at most every half second. */
  wantKeyFrame(): void;
  /** Aborted when the publisher is gone. The reason is a UserError: livePublisherDone where it said so, livePublisherLost where the connection broke, else why the server ended it. */
  readonly signal: AbortSignal;
}

/** Called synchronously; must not throw. */
export interface LiveSubscriber {
  /** First of all, and whenever something changed: what follows is another run, whose times begin at zero again and whose first packet is a key frame. */
  tracks(tracks: LiveTracks, run: { id: string; started: number }): void;
  packet(packet: MediaPacket): void;
  /** The publisher is gone. Nothing follows. */
  end(): void;
  /** Octets that were handed over and are not gone yet: over `LAG_LIMIT` packets are left out up to the next key frame. Absent: it is always ready. */
  lag?(): number;
}

/** 8 MiB: some seconds of the highest bitrate that is allowed. */
export const LAG_LIMIT = 8 * 1024 * 1024;

/** Of the last ten seconds. */
export interface LiveHealth {
  /** Bits per second. */
  videoBitrate: number;
  audioBitrate: number;
  frameRate: number;
  /** Seconds between the last two key frames; and the longest of the session. */
  keyFrameInterval: number;
  longestKeyFrameInterval: number;
  /** Packets that were dropped here (bad times, unknown track) and lost on the way. */
  dropped: number;
  lost: number;
  /** Pictures that are shown later than decoded: such a broadcast has no low latency. */
  bFrames: boolean;
  /** What is wrong with it now, in the words of the contract: "ERR_GOP_OUT_OF_RANGE". */
  problems: string[];
  /** What was decided for it, in sentences: renditions that are not made, and why. Absent: nothing to tell. */
  notes?: string[];
}
