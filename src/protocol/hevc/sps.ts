import { createBitReader, H264Error, removeEmulationPrevention } from "../h264/bits.ts";
import { HEVC_NAL, hevcNalType } from "./nal.ts";

/** Frame properties read from a sequence parameter set (ITU-T H.265, 7.3.2.2.1). */
interface HevcSps {
  /** The twelve raw octets for profile, tier and level (7.3.3). */
  profileTierLevel: Buffer;
  temporalLayers: number;
  temporalIdNested: boolean;
  chroma: number;
  /** Bit depths of luma and chroma samples. */
  lumaBits: number;
  chromaBits: number;
  /** In pixels, after cropping. */
  width: number;
  height: number;
}

const MAX_DIMENSION = 16_384;
/** Octets before the general fields: the NAL unit header, and one octet with the VPS id and the layer count. */
const HEADER_BYTES = 3;

/** Reads a sequence parameter set; `nal` includes its header. Throws H264Error. */
export function readHevcSps(nal: Buffer): HevcSps {
  if (nal.length < 2 || hevcNalType(nal) !== HEVC_NAL.sps) throw new H264Error("not an HEVC sequence parameter set");
  const unescaped = removeEmulationPrevention(nal);
  const bits = createBitReader(unescaped.subarray(2));
  bits.bits(4);
  const sublayers = bits.bits(3);
  const temporalIdNested = bits.flag();
  for (let i = 0; i < 12; i++) bits.bits(8);
  skipSublayers(bits, sublayers);
  bits.ue();
  const chroma = bits.ue();
  if (chroma > 3) throw new H264Error(`invalid chroma_format_idc: ${chroma}`);
  if (chroma === 3) bits.flag();
  const [codedWidth, codedHeight] = [bits.ue(), bits.ue()];
  const [left, right, top, bottom] = bits.flag() ? [bits.ue(), bits.ue(), bits.ue(), bits.ue()] : [0, 0, 0, 0];
  // 7.4.3.2.1: cropping is specified in chroma samples.
  const width = codedWidth - (left + right) * (chroma === 1 || chroma === 2 ? 2 : 1);
  const height = codedHeight - (top + bottom) * (chroma === 1 ? 2 : 1);
  if (width < 1 || height < 1 || width > MAX_DIMENSION || height > MAX_DIMENSION)
    throw new H264Error(`unsupported frame size: ${width}x${height}`);
  const [lumaBits, chromaBits] = [bits.ue() + 8, bits.ue() + 8];
  if (lumaBits > 16 || chromaBits > 16)
    throw new H264Error(`unsupported bit depth: luma ${lumaBits}, chroma ${chromaBits}`);
  return {
    profileTierLevel: Buffer.from(unescaped.subarray(HEADER_BYTES, HEADER_BYTES + 12)),
    temporalLayers: sublayers + 1,
    temporalIdNested,
    chroma,
    lumaBits,
    chromaBits,
    width,
    height,
  };
}

function skipSublayers(bits: ReturnType<typeof createBitReader>, count: number): void {
  const presenceFlags = Array.from({ length: count }, () => [bits.flag(), bits.flag()] as const);
  if (count > 0) for (let i = count; i < 8; i++) bits.bits(2);
  for (const [profile, level] of presenceFlags) {
    if (profile) for (let i = 0; i < 11; i++) bits.bits(8);
    if (level) bits.bits(8);
  }
}
