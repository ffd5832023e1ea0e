import type { OrderedPart } from "./ordering.ts";

/** The packets of one picture. */
export interface RtpFrame {
  timestamp: number;
  payloads: Buffer[];
  /** Packets that are missing in it or before it. */
  missing: number;
  /** Nothing is missing between its packets, and it ends where it should. Its first ones may be missing where `missing` is over 0. */
  whole: boolean;
}

export interface Framing {
  push(part: OrderedPart): RtpFrame[];
}

/** Of one picture: no encoder makes larger ones, and a sender must not fill the memory. */
const MOST_OCTETS = 16 * 1024 * 1024;

/** Puts together what has the same timestamp, up to the one with the marker bit: so do H.264 (RFC 6184, 5.1), VP8 (RFC 7741, 4.1) and VP9 (RFC 9628, 4.1). */
export function createFraming(): Framing {
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
      // Padding, to find out what the network carries: it belongs to no picture.
      if (payload.length === 0 && !marker && (open === undefined || open.timestamp !== timestamp)) {
        lostBefore = missing;
        return out;
      }
      // An end that was lost, or an encoder that sets no markers.
      if (open !== undefined && open.timestamp !== timestamp) close(missing === 0, out);
      if (open === undefined) open = { timestamp, payloads: [], missing, whole: true, octets: 0 };
      else if (missing > 0) {
        open.missing += missing;
        open.whole = false;
      }
      open.octets += payload.length;
      if (open.octets > MOST_OCTETS) {
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
