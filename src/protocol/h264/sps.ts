import { type BitReader, createBitReader, H264Error, removeEmulationPrevention } from "./bits.ts";

/** Frame properties read from a sequence parameter set (ITU-T H.264, 7.3.2.1.1 and annex E). */
interface Sps {
  profile: number;
  /** Octet containing the constraint_set flags. */
  compatibility: number;
  level: number;
  /** In pixels, after cropping. */
  width: number;
  height: number;
  /**
   * Maximum number of frames that are decoded before a frame displayed earlier: if above 0, there are B-frames.
   * Undefined if not declared.
   */
  reordered: number | undefined;
}

/** Profiles whose parameter sets declare the chroma format. */
const PROFILES_WITH_CHROMA = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);
/** The Baseline profile has no reordering by definition (A.2.1). */
const BASELINE = 66;
/** Maximum accepted width and height in pixels. */
const MAX_DIMENSION = 16_384;
const MAX_CYCLE = 255;
const EXTENDED_SHAPE = 255;

/** Reads a sequence parameter set; `nal` includes its header octet. Throws H264Error. */
export function readSps(nal: Buffer): Sps {
  if ((nal[0]! & 31) !== 7) throw new H264Error("not a sequence parameter set");
  const bits = createBitReader(removeEmulationPrevention(nal.subarray(1)));
  const [profile, compatibility, level] = [bits.bits(8), bits.bits(8), bits.bits(8)];
  bits.ue();
  const chroma = PROFILES_WITH_CHROMA.has(profile) ? readChroma(bits) : 1;
  bits.ue();
  skipPictureOrder(bits);
  bits.ue();
  bits.flag();
  const codedWidth = (bits.ue() + 1) * 16;
  const mapUnits = bits.ue() + 1;
  const isProgressive = bits.flag();
  if (!isProgressive) bits.flag();
  bits.flag();
  const rows = isProgressive ? 1 : 2;
  const [left, right, top, bottom] = bits.flag() ? [bits.ue(), bits.ue(), bits.ue(), bits.ue()] : [0, 0, 0, 0];
  // Equations 6-19 to 6-22: cropping is specified in chroma samples, doubled vertically for fields.
  const width = codedWidth - (left + right) * (chroma === 1 || chroma === 2 ? 2 : 1);
  const height = mapUnits * 16 * rows - (top + bottom) * (chroma === 1 ? 2 : 1) * rows;
  if (width < 1 || height < 1 || width > MAX_DIMENSION || height > MAX_DIMENSION)
    throw new H264Error(`unsupported frame size: ${width}x${height}`);
  return {
    profile,
    compatibility,
    level,
    width,
    height,
    reordered: profile === BASELINE ? 0 : readMaxReorderFrames(bits),
  };
}

function readChroma(bits: BitReader): number {
  const chroma = bits.ue();
  if (chroma > 3) throw new H264Error(`invalid chroma_format_idc: ${chroma}`);
  const hasSeparatePlanes = chroma === 3 && bits.flag();
  bits.ue();
  bits.ue();
  bits.flag();
  if (bits.flag())
    for (let i = 0; i < (chroma === 3 ? 12 : 8); i++) if (bits.flag()) skipScaling(bits, i < 6 ? 16 : 64);
  return hasSeparatePlanes ? 0 : chroma;
}

function skipScaling(bits: BitReader, size: number): void {
  for (let i = 0, last = 8, next = 8; i < size; i++) {
    if (next !== 0) next = (last + bits.se() + 256) & 255;
    if (next !== 0) last = next;
  }
}

function skipPictureOrder(bits: BitReader): void {
  const kind = bits.ue();
  if (kind === 0) bits.ue();
  if (kind !== 1) return;
  bits.flag();
  bits.se();
  bits.se();
  const cycle = bits.ue();
  if (cycle > MAX_CYCLE) throw new H264Error(`num_ref_frames_in_pic_order_cnt_cycle is too large: ${cycle}`);
  for (let i = 0; i < cycle; i++) bits.se();
}

/** Reads max_num_reorder_frames, near the end of the VUI parameters (E.1.1). */
function readMaxReorderFrames(bits: BitReader): number | undefined {
  if (!bits.flag()) return undefined;
  if (bits.flag() && bits.bits(8) === EXTENDED_SHAPE) bits.bits(32);
  if (bits.flag()) bits.flag();
  if (bits.flag()) {
    bits.bits(4);
    if (bits.flag()) bits.bits(24);
  }
  if (bits.flag()) {
    bits.ue();
    bits.ue();
  }
  if (bits.flag()) {
    bits.bits(32);
    bits.bits(32);
    bits.flag();
  }
  const hasNalHrd = skipHrd(bits);
  const hasVclHrd = skipHrd(bits);
  if (hasNalHrd || hasVclHrd) bits.flag();
  bits.flag();
  if (!bits.flag()) return undefined;
  bits.flag();
  for (let i = 0; i < 4; i++) bits.ue();
  return bits.ue();
}

/** Skips hrd_parameters (E.1.2), if present. */
function skipHrd(bits: BitReader): boolean {
  if (!bits.flag()) return false;
  const count = bits.ue() + 1;
  if (count > 32) throw new H264Error("more than 32 coded picture buffers");
  bits.bits(8);
  for (let i = 0; i < count; i++) {
    bits.ue();
    bits.ue();
    bits.flag();
  }
  bits.bits(20);
  return true;
}
