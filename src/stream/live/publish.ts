import type { UserError } from "../../kernel/index.ts";
import type { LiveInput } from "./inputs/port.ts";
import type { LiveTracks, MediaPacket } from "./packets.ts";

export type LiveProtocol = "rtmp" | "rtmps" | "srt" | "webrtc";

/** The one port behind every way in: RTMP, SRT and WHIP ask it who may publish, and give it what comes. Implemented by `hub/`. */
export interface Publishing {
  /**
   * Rejects UserError: liveKeyUnknown, liveInputDisabled, liveInputBusy (somebody publishes on it, and was heard in the last five seconds; who has
   * been silent for longer is replaced), liveTooMany.
   */
  publish(claim: PublishClaim): Promise<Publication>;
}

/** For protocols that refuse publishers before calling `publish`. Implemented by `hub/`. */
export interface RefusedPublishers {
  /** Records in the history of an input that the protocol refused a publisher. Rate-limited; never during a broadcast. */
  refused(input: LiveInput, protocol: LiveProtocol, reason: UserError): void;
}

export interface PublishClaim {
  protocol: LiveProtocol;
  /** As the client gave it: stream key, SRT passphrase's stream id, or secret of the WHIP address. Never logged. */
  credential: string;
  /** Of SRT, whose stream ids are no secret and stay the same: what its connection is encrypted with. Never logged. */
  passphrase?: string;
  /** IP address of the client, for the log. */
  address: string;
  /** What it says it is: "FMLE/3.0 (compatible; obs)". */
  agent?: string;
}

/** One publisher's connection. */
export interface Publication {
  /** Uid of the input. */
  readonly input: string;
  /**
   * What is published, before the first packet; and again whenever a codec, its configuration or the size changes: what comes after that is another run.
   * Throws UserError liveCodecUnsupported for what cannot be taken: tell it to the client and end.
   */
  configure(tracks: LiveTracks): void;
  /** For codecs that `LiveTracks` has no word for: tells the status of the input, and returns liveCodecUnsupported for the client. `codec` as people write it: "Sorenson H.263". */
  unsupported(kind: "video" | "audio", codec: string): UserError;
  /** Never blocks and never throws. Packets before `configure`, and of tracks that were not named, are dropped and counted. */
  write(packet: MediaPacket): void;
  /** Packets that the network lost on the way here, for the health of the input. */
  lost(packets: number): void;
  /** Whoever receives it asks for a key frame now: WHIP sends a PLI, the others have no way to say it. */
  onKeyFrameWanted(listener: () => void): void;
  /** Aborted when the server ends it; the reason is a UserError: key revoked, input disabled or deleted, replaced, storage full, bad group of pictures. */
  readonly signal: AbortSignal;
  /** `clean`: the publisher said that it is over; else the connection broke. Once; later calls do nothing. */
  end(clean: boolean): void;
}
