import { H264Error, joinLengthPrefixed, NAL, nalType, readSps, writeAvcConfig } from "../../../protocol/h264/index.ts";
import {
  createFrameAssembler,
  createReorderBuffer,
  readVp8KeyFrameSize,
  type RtpFrame,
  type RtpPacketFields,
  unpackH264,
  unpackVp8,
} from "../../../protocol/rtp/index.ts";
import type { LiveVideoTrack } from "../packets.ts";

export interface VideoFrame {
  /** RTP timestamp, 32 bits. */
  timestamp: number;
  key: boolean;
  data: Buffer;
}

interface FrameListener {
  /** Called before the key frame that the track belongs to. */
  track(track: LiveVideoTrack): void;
  frame(videoFrame: VideoFrame): void;
  /** Called with the number of packets that did not arrive in time. */
  lost(packets: number): void;
  /** Called when no frame can be shown until the next key frame. */
  keyFrameNeeded(): void;
}

export interface VideoDepacketizer {
  /** `now`: milliseconds. */
  push(packetFields: RtpPacketFields, now: number): void;
  /** Returns the packets to request again. */
  missing(): number[];
}

/** How long to wait for a lost packet after requesting it. */
const WAIT_MS = 500;
const MAX_REORDER_PACKETS = 1024;

interface Codec {
  /** Undefined if the packet is unusable. */
  read(payloads: readonly Buffer[]): { data: Buffer; key: boolean; track?: LiveVideoTrack } | undefined;
}

/**
 * Assembles whole frames from the packets of one track, starting with a key frame: after a loss, frames are dropped up
 * to the next key frame.
 */
export function createVideoDepacketizer(codec: "h264" | "vp8", listener: FrameListener): VideoDepacketizer {
  const ordering = createReorderBuffer({ waitMs: WAIT_MS, maxPackets: MAX_REORDER_PACKETS });
  const frameAssembler = createFrameAssembler();
  const reader = codec === "h264" ? createH264Codec() : createVp8Codec();
  let track: LiveVideoTrack | undefined;
  let isBroken = true;

  function handleFrame(frame: RtpFrame): void {
    if (frame.missing > 0) {
      listener.lost(frame.missing);
      isBroken = true;
    }
    const read = frame.whole ? reader.read(frame.payloads) : undefined;
    if (read === undefined) isBroken = true;
    // The first slices may be missing: parameter sets prove that this packet is the start of the frame.
    else if (read.key && (read.track !== undefined || (track !== undefined && frame.missing === 0))) isBroken = false;
    if (isBroken || read === undefined) return listener.keyFrameNeeded();
    if (read.track !== undefined && !isSame(read.track, track)) {
      track = read.track;
      listener.track(track);
    }
    listener.frame({ timestamp: frame.timestamp, key: read.key, data: read.data });
  }

  return {
    push(packetFields, now) {
      for (const ordered of ordering.push(packetFields, now))
        for (const frame of frameAssembler.push(ordered)) handleFrame(frame);
    },
    missing: () => ordering.missing(),
  };
}

const isSame = (a: LiveVideoTrack, b: LiveVideoTrack | undefined) =>
  b !== undefined && a.width === b.width && a.height === b.height && a.config.equals(b.config);

/**
 * NAL units removed from packets: the configuration contains the parameter sets, and the others have no meaning in a
 * packet.
 */
const EXCLUDED_TYPES: readonly number[] = [NAL.sps, NAL.pps, NAL.delimiter, NAL.filler];

function createH264Codec(): Codec {
  return {
    read(payloads) {
      const { nals, whole } = unpackH264(payloads);
      if (!whole) return undefined;
      const pictures = nals.filter((nal) => !EXCLUDED_TYPES.includes(nalType(nal)));
      if (pictures.length === 0) return undefined;
      const key = nals.some((nal) => nalType(nal) === NAL.idr);
      const nalsOfType = (type: number) => nals.filter((nal) => nalType(nal) === type);
      const [sps, pps] = [nalsOfType(NAL.sps), nalsOfType(NAL.pps)];
      const data = joinLengthPrefixed(pictures);
      if (!key || sps.length === 0 || pps.length === 0) return { data, key };
      try {
        const { width, height } = readSps(sps[0]!);
        return { data, key, track: { codec: "h264", config: writeAvcConfig(sps, pps), width, height } };
      } catch (err) {
        if (err instanceof H264Error) return undefined;
        throw err;
      }
    },
  };
}

function createVp8Codec(): Codec {
  return {
    read(payloads) {
      const { frame, whole } = unpackVp8(payloads);
      if (!whole) return undefined;
      const size = readVp8KeyFrameSize(frame);
      return {
        data: frame,
        key: size !== undefined,
        ...(size !== undefined && { track: { codec: "vp8", config: Buffer.alloc(0), ...size } }),
      };
    },
  };
}
