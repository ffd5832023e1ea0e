/** H.264 in RTP (RFC 6184), packetization modes 0 and 1. */
const STAP_A = 24;
const FU_A = 28;
const START = 0x80;
const END = 0x40;
const IMPORTANCE_MASK = 0x60;
const TYPE_MASK = 0x1f;

/**
 * Packs the NAL units of a frame into payloads of at most `maxOctets` octets: consecutive small NAL units such as
 * parameter sets share a payload (5.7.1), large ones are fragmented (5.8).
 */
export function packH264(nals: readonly Buffer[], maxOctets: number): Buffer[] {
  const payloads: Buffer[] = [];
  let pendingNals: Buffer[] = [];
  let octets = 1;
  const flush = () => {
    if (pendingNals.length > 0)
      payloads.push(pendingNals.length === 1 ? pendingNals[0]! : aggregate(pendingNals, octets));
    pendingNals = [];
    octets = 1;
  };
  for (const nal of nals) {
    if (nal.length === 0) continue;
    if (octets + 2 + nal.length > maxOctets) flush();
    if (nal.length > maxOctets) payloads.push(...fragmentNal(nal, maxOctets));
    else {
      pendingNals.push(nal);
      octets += 2 + nal.length;
    }
  }
  flush();
  return payloads;
}

function aggregate(nals: readonly Buffer[], octets: number): Buffer {
  const payload = Buffer.allocUnsafe(octets);
  payload[0] = STAP_A | Math.max(...nals.map((nal) => nal[0]! & IMPORTANCE_MASK));
  let at = 1;
  for (const nal of nals) {
    at = payload.writeUInt16BE(nal.length, at);
    at += nal.copy(payload, at);
  }
  return payload;
}

function* fragmentNal(nal: Buffer, maxOctets: number): Generator<Buffer> {
  const head = nal[0]!;
  // Creates fragments of about equal size: a tiny last fragment would cost a whole packet.
  const count = Math.ceil((nal.length - 1) / (maxOctets - 2));
  const size = Math.ceil((nal.length - 1) / count);
  for (let at = 1; at < nal.length; at += size) {
    const end = Math.min(at + size, nal.length);
    const payload = Buffer.allocUnsafe(2 + end - at);
    payload[0] = (head & ~TYPE_MASK) | FU_A;
    payload[1] = (head & TYPE_MASK) | (at === 1 ? START : 0) | (end === nal.length ? END : 0);
    nal.copy(payload, 2, at, end);
    yield payload;
  }
}

/**
 * Returns the NAL units of a frame, and whether all of them are complete: if a fragment is missing, its NAL unit is
 * dropped.
 */
export function unpackH264(payloads: readonly Buffer[]): { nals: Buffer[]; whole: boolean } {
  const nals: Buffer[] = [];
  let pieces: Buffer[] | undefined;
  let isWhole = true;
  for (const payload of payloads) {
    const type = payload.length === 0 ? 0 : payload[0]! & TYPE_MASK;
    if (type !== FU_A && pieces !== undefined) {
      isWhole = false;
      pieces = undefined;
    }
    if (type === STAP_A) isWhole = splitAggregate(payload, nals) && isWhole;
    else if (type === FU_A && payload.length > 2) {
      const flags = payload[1]!;
      if ((flags & START) !== 0) {
        if (pieces !== undefined) isWhole = false;
        pieces = [Buffer.from([(payload[0]! & ~TYPE_MASK) | (flags & TYPE_MASK)])];
      }
      if (pieces === undefined) isWhole = false;
      pieces?.push(payload.subarray(2));
      if (pieces !== undefined && (flags & END) !== 0) {
        nals.push(Buffer.concat(pieces));
        pieces = undefined;
      }
    } else if (type >= 1 && type < STAP_A) nals.push(payload);
    // Interleaved modes are never negotiated.
    else isWhole = false;
  }
  return { nals, whole: isWhole && pieces === undefined && nals.length > 0 };
}

function splitAggregate(payload: Buffer, nals: Buffer[]): boolean {
  let at = 1;
  while (at + 2 <= payload.length) {
    const length = payload.readUInt16BE(at);
    at += 2;
    if (length === 0 || at + length > payload.length) return false;
    nals.push(payload.subarray(at, at + length));
    at += length;
  }
  return at === payload.length;
}
