/** Reads the bits of a parameter set (ITU-T H.264, 7.2 and 9.1). Throws H264Error when reading beyond its end. */
export interface BitReader {
  /** Reads up to 32 bits, most significant bit first. */
  bits(count: number): number;
  flag(): boolean;
  /** Reads Exp-Golomb codes: ue(v) and se(v). */
  ue(): number;
  se(): number;
}

/** The H.264 data violates the standard; the error message gives the reason. */
export class H264Error extends Error {
  override readonly name: string = "H264Error";
}

export function createBitReader(bytes: Buffer): BitReader {
  let at = 0;

  function bits(count: number): number {
    if (at + count > bytes.length * 8) throw new H264Error("truncated parameter set");
    let value = 0;
    for (let i = 0; i < count; i++, at++) value = value * 2 + ((bytes[at >> 3]! >> (7 - (at & 7))) & 1);
    return value;
  }

  function ue(): number {
    let zeros = 0;
    while (bits(1) === 0) if (++zeros > 31) throw new H264Error("a number in a parameter set has more than 32 bits");
    return 2 ** zeros - 1 + bits(zeros);
  }

  return {
    bits,
    ue,
    flag: () => bits(1) === 1,
    se() {
      const code = ue();
      return code % 2 === 1 ? (code + 1) / 2 : -code / 2;
    },
  };
}

/** Removes the emulation prevention octets of a NAL unit (7.3.1). */
export function removeEmulationPrevention(nal: Buffer): Buffer {
  if (nal.indexOf(EMULATION_PREFIX) === -1) return nal;
  const out = Buffer.allocUnsafe(nal.length);
  let to = 0;
  for (let from = 0, zeros = 0; from < nal.length; from++) {
    const octet = nal[from]!;
    if (zeros >= 2 && octet === 3) {
      zeros = 0;
      continue;
    }
    zeros = octet === 0 ? zeros + 1 : 0;
    out[to++] = octet;
  }
  return out.subarray(0, to);
}

const EMULATION_PREFIX = Buffer.from([0, 0, 3]);
