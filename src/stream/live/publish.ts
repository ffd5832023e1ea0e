import type { UserError } from "../../kernel/index.ts";
import type { LiveInput } from "./inputs/port.ts";
import type { LiveTracks, MediaPacket } from "./packets.ts";

export type LiveProtocol = "rtmp" | "rtmps" | "srt" | "webrtc";

/**
 * Common port of all ingest protocols: RTMP, SRT and WHIP use it to authenticate publishers and deliver their packets.
 * Implemented by `hub/`.
 */
export interface Publishing {
  /**
   * Rejects with UserError: liveKeyUnknown, liveInputDisabled, liveInputBusy (the input has a publisher that was active
   * in the last five seconds; one that has been silent for longer is replaced), liveTooMany.
   */
  publish(claim: PublishClaim): Promise<Publication>;
}

/** For protocols that reject publishers before calling `publish`. Implemented by `hub/`. */
export interface RejectedPublishers {
  /**
   * Records in the history of an input that the protocol has rejected a publisher. Rate-limited; never during a
   * broadcast.
   */
  recordRejection(input: LiveInput, protocol: LiveProtocol, reason: UserError): void;
}

export interface PublishClaim {
  protocol: LiveProtocol;
  /** As sent by the client: stream key, SRT stream id, or secret of the WHIP URL. Never logged. */
  credential: string;
  /**
   * SRT only, since its stream ids are neither secret nor rotated: the encryption passphrase of the connection. Never
   * logged.
   */
  passphrase?: string;
  /** IP address of the client, for the log. */
  address: string;
  /** Client software as reported by the client: "FMLE/3.0 (compatible; obs)". */
  agent?: string;
}

/** One publisher's connection. */
export interface Publication {
  /** Uid of the input. */
  readonly input: string;
  /**
   * Announces the tracks before the first packet, and again whenever a codec, its configuration or the frame size
   * changes: a discontinuity follows. Throws UserError liveCodecUnsupported: report it to the client and end the
   * publication.
   */
  configure(tracks: LiveTracks): void;
  /**
   * For codecs that `LiveTracks` cannot express: updates the status of the input, and returns liveCodecUnsupported for
   * the client. `codec`: human-readable name, "Sorenson H.263".
   */
  unsupported(kind: "video" | "audio", codec: string): UserError;
  /** Never blocks and never throws. Packets before `configure`, and of unannounced tracks, are dropped and counted. */
  write(packet: MediaPacket): void;
  /** Reports packets lost by the network, for the health of the input. */
  lost(packets: number): void;
  /** Called when a key frame is needed immediately: WHIP sends a PLI; other protocols cannot request one. */
  onKeyFrameRequested(listener: () => void): void;
  /**
   * Aborted when the server ends the publication; the reason is a UserError: key revoked, input disabled or deleted,
   * replaced, storage full, invalid GOP.
   */
  readonly signal: AbortSignal;
  /** `clean`: the publisher ended the stream properly; otherwise the connection broke. Later calls do nothing. */
  end(clean: boolean): void;
}
