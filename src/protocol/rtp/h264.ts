/** H.264 in RTP (RFC 6184), packetization modes 0 and 1. */
const STAP_A = 24;
const FU_A = 28;
const START = 0x80;
const END = 0x40;
const IMPORTANCE = 0x60;
const TYPE = 0x1f;

/**
 * Packs the NAL units of a frame into payloads of at most `most` octets: consecutive small NAL units such as parameter
 * sets share a payload (5.7.1), large ones are fragmented (5.8).
 */
export function packH264(nals: readonly Buffer[], most: number): Buffer[] {
  const payloads: Buffer[] = [];
  let together: Buffer[] = [];
  let octets = 1;
  const flush = () => {
    if (together.length > 0) payloads.push(together.length === 1 ? together[0]! : aggregate(together, octets));
    together = [];
    octets = 1;
  };
  for (const nal of nals) {
    if (nal.length === 0) continue;
    if (octets + 2 + nal.length > most) flush();
    if (nal.length > most) payloads.push(...fragments(nal, most));
    else {
      together.push(nal);
      octets += 2 + nal.length;
    }
  }
  flush();
  return payloads;
}

function aggregate(nals: readonly Buffer[], octets: number): Buffer {
  const payload = Buffer.allocUnsafe(octets);
  payload[0] = STAP_A | Math.max(...nals.map((nal) => nal[0]! & IMPORTANCE));
  let at = 1;
  for (const nal of nals) {
    at = payload.writeUInt16BE(nal.length, at);
    at += nal.copy(payload, at);
  }
  return payload;
}

function* fragments(nal: Buffer, most: number): Generator<Buffer> {
  const head = nal[0]!;
  // Creates fragments of about equal size: a tiny last fragment would cost a whole packet.
  const count = Math.ceil((nal.length - 1) / (most - 2));
  const size = Math.ceil((nal.length - 1) / count);
  for (let at = 1; at < nal.length; at += size) {
    const end = Math.min(at + size, nal.length);
    const payload = Buffer.allocUnsafe(2 + end - at);
    payload[0] = (head & ~TYPE) | FU_A;
    payload[1] = (head & TYPE) | (at === 1 ? START : 0) | (end === nal.length ? END : 0);
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
  let whole = true;
  for (const payload of payloads) {
    const type = payload.length === 0 ? 0 : payload[0]! & TYPE;
    if (type !== FU_A && pieces !== undefined) {
      whole = false;
      pieces = undefined;
    }
    if (type === STAP_A) whole = separate(payload, nals) && whole;
    else if (type === FU_A && payload.length > 2) {
      const flags = payload[1]!;
      if ((flags & START) !== 0) {
        if (pieces !== undefined) whole = false;
        pieces = [Buffer.from([(payload[0]! & ~TYPE) | (flags & TYPE)])];
      }
      if (pieces === undefined) whole = false;
      pieces?.push(payload.subarray(2));
      if (pieces !== undefined && (flags & END) !== 0) {
        nals.push(Buffer.concat(pieces));
        pieces = undefined;
      }
    } else if (type >= 1 && type < STAP_A) nals.push(payload);
    // Interleaved modes are never negotiated.
    else whole = false;
  }
  return { nals, whole: whole && pieces === undefined && nals.length > 0 };
}

function separate(payload: Buffer, nals: Buffer[]): boolean {
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
