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
  let open: (RtpFrame & { octets: number }) | undefined;
  let lostBefore = 0;

  function close(whole: boolean, out: RtpFrame[]): void {
    if (open === undefined) return;
    const { timestamp, payloads, missing } = open;
    out.push({ timestamp, payloads, missing, whole: open.whole && whole });
    open = undefined;
  }

  return {
    push({ timestamp, marker, payload, missing: missingHere }) {
      const out: RtpFrame[] = [];
      const missing = lostBefore + missingHere;
      lostBefore = 0;
      // Padding for bandwidth probing, which is not part of a frame.
      if (payload.length === 0 && !marker && (open === undefined || open.timestamp !== timestamp)) {
        lostBefore = missing;
        return out;
      }
      // Either the last packet was lost, or the encoder sets no markers.
      if (open !== undefined && open.timestamp !== timestamp) close(missing === 0, out);
      if (open === undefined) open = { timestamp, payloads: [], missing, whole: true, octets: 0 };
      else if (missing > 0) {
        open.missing += missing;
        open.whole = false;
      }
      open.octets += payload.length;
      if (open.octets > MAX_OCTETS) {
        open.whole = false;
        open.payloads = [];
        open.octets = 0;
      }
      if (payload.length > 0) open.payloads.push(payload);
      if (marker) close(true, out);
      return out;
    },
  };
}
