import type { OrderedPacket } from "./ordering.ts";

/** The packets of one frame. */
export interface RtpFrame {
  timestamp: number;
  payloads: Buffer[];
  /** Number of packets missing within or before the frame. */
  missing: number;
  /**
   * True if no packet is missing between the frame's first and last one, and it ends properly. Its beginning may be
   * missing if `missing` is above 0.
   */
  whole: boolean;
}

interface FrameAssembler {
  push(part: OrderedPacket): RtpFrame[];
}

/** Maximum frame size: no encoder exceeds it, and the limit prevents a sender from exhausting memory. */
const MAX_OCTETS = 16 * 1024 * 1024;

/**
 * Groups packets with the same timestamp, up to the one with the marker bit, as in H.264 (RFC 6184, 5.1), VP8 (RFC
 * 7741, 4.1) and VP9 (RFC 9628, 4.1).
 */
export function createFrameAssembler(): FrameAssembler {
  let openFrame: (RtpFrame & { octets: number }) | undefined;
  let lostBefore = 0;

  function closeFrame(isWhole: boolean, out: RtpFrame[]): void {
    if (openFrame === undefined) return;
    const { timestamp, payloads, missing } = openFrame;
    out.push({ timestamp, payloads, missing, whole: openFrame.whole && isWhole });
    openFrame = undefined;
  }

  return {
    push({ timestamp, marker, payload, missing: partMissing }) {
      const out: RtpFrame[] = [];
      const missing = lostBefore + partMissing;
      lostBefore = 0;
      // Padding for bandwidth probing, which is not part of a frame.
      if (payload.length === 0 && !marker && (openFrame === undefined || openFrame.timestamp !== timestamp)) {
        lostBefore = missing;
        return out;
      }
      // Either the last packet was lost, or the encoder sets no markers.
      if (openFrame !== undefined && openFrame.timestamp !== timestamp) closeFrame(missing === 0, out);
      if (openFrame === undefined) openFrame = { timestamp, payloads: [], missing, whole: true, octets: 0 };
      else if (missing > 0) {
        openFrame.missing += missing;
        openFrame.whole = false;
      }
      openFrame.octets += payload.length;
      if (openFrame.octets > MAX_OCTETS) {
        openFrame.whole = false;
        openFrame.payloads = [];
        openFrame.octets = 0;
      }
      if (payload.length > 0) openFrame.payloads.push(payload);
      if (marker) closeFrame(true, out);
      return out;
    },
  };
}
