import type { Fraction, MediaModel, VideoRendition } from "../model.ts";

/**
 * RFC 6381 codec strings of encoded renditions, known before encoding: profile and level are passed to the encoder
 * instead of being chosen by it.
 */
export const videoCodecs = (rendition: VideoRendition, model: MediaModel): string => {
  const level = levelOf(rendition, model);
  if (rendition.codec === "hevc") return `hvc1.1.6.L${level}.90`;
  if (rendition.codec === "av1") return `av01.0.${String(level).padStart(2, "0")}M.08`;
  return `avc1.6400${level.toString(16).padStart(2, "0")}`;
};

/** AAC-LC, for MAIN_AUDIO and extra tracks. */
export const AUDIO_CODECS = "mp4a.40.2";

/** Frames per second of this rendition. */
export const renditionRate = (
  { halved }: Pick<VideoRendition, "halved">,
  { segments: { fps } }: Pick<MediaModel, "segments">,
): Fraction =>
  halved === true ? (fps.num % 2 === 0 ? { num: fps.num / 2, den: fps.den } : { num: fps.num, den: fps.den * 2 }) : fps;

/**
 * Ticks per second of the video tracks of a rendition; each frame lasts a whole number of them. All renditions of a
 * video share one timescale: hls.js recomputes its timestamp offset for every segment whose timescale differs from the
 * first one's, and leaves gaps.
 */
export function timescaleOf(
  rendition: Pick<VideoRendition, "halved">,
  model: Pick<MediaModel, "segments" | "editLists">,
): number {
  // Segments stored by earlier versions have their own timescale if the frame rate is halved.
  const { num, den } = model.editLists === true ? model.segments.fps : renditionRate(rendition, model);
  return (90_000 * den) % num === 0 ? 90_000 : num * Math.ceil(10_000 / num);
}

/** Returns the duration of one frame of this rendition, in ticks of its timescale. */
export function frameTicks(
  rendition: Pick<VideoRendition, "halved">,
  model: Pick<MediaModel, "segments" | "editLists">,
): number {
  const { num, den } = renditionRate(rendition, model);
  return (timescaleOf(rendition, model) * den) / num;
}

/**
 * Returns the level in the codec's units: H.264 tenths (31 is 3.1), HEVC thirtieths (93 is 3.1), AV1 `seq_level_idx` (5
 * is 3.1).
 */
export function levelOf(rendition: VideoRendition, model: Pick<MediaModel, "segments">): number {
  const { num, den } = renditionRate(rendition, model);
  return rendition.level ?? lowestLevel({ ...rendition, rate: num / den }, MIN_LEVELS[rendition.codec]);
}

/** Ladders from earlier versions have no levels; their stored segments were encoded with level 3.0 or higher. */
const MIN_LEVELS = { h264: 30, hevc: 90, av1: 4 };

/** Returns the lowest level, at least `minLevel`, that allows a rendition's resolution, frame rate and bitrate. */
export function lowestLevel(
  { codec, ...requirements }: LevelRequirements & Pick<VideoRendition, "codec">,
  minLevel = 0,
): number {
  return codec === "hevc"
    ? hevcLevel(requirements, minLevel)
    : codec === "av1"
      ? av1Level(requirements, minLevel)
      : h264Level(requirements, minLevel);
}

interface LevelRequirements {
  width: number;
  height: number;
  rate: number;
  /** Bitrate cap; the buffer is twice as large. */
  bitrate: number;
}

/**
 * ITU-T H.264 Table A-1: macroblocks per second, per frame, and in the decoded picture buffer; kbit/s and kbit of High
 * profile (times 1.25).
 */
const H264_LEVELS: readonly (readonly [
  level: number,
  perSecond: number,
  frame: number,
  buffer: number,
  rate: number,
  cpb: number,
])[] = [
  [10, 1485, 99, 396, 80, 218.75],
  [11, 3000, 396, 900, 240, 625],
  [12, 6000, 396, 2376, 480, 1250],
  [13, 11_880, 396, 2376, 960, 2500],
  [20, 11_880, 396, 2376, 2500, 2500],
  [21, 19_800, 792, 4752, 5000, 5000],
  [22, 20_250, 1620, 8100, 5000, 5000],
  [30, 40_500, 1620, 8100, 12_500, 12_500],
  [31, 108_000, 3600, 18_000, 17_500, 17_500],
  [32, 216_000, 5120, 20_480, 25_000, 25_000],
  [40, 245_760, 8192, 32_768, 25_000, 31_250],
  [41, 245_760, 8192, 32_768, 62_500, 78_125],
  [42, 522_240, 8704, 34_816, 62_500, 78_125],
  [50, 589_824, 22_080, 110_400, 168_750, 168_750],
  [51, 983_040, 36_864, 184_320, 300_000, 300_000],
  [52, 2_073_600, 36_864, 184_320, 300_000, 300_000],
  [60, 4_177_920, 139_264, 696_320, 300_000, 300_000],
  [61, 8_355_840, 139_264, 696_320, 600_000, 600_000],
  [62, 16_711_680, 139_264, 696_320, 1_000_000, 1_000_000],
];

/** Reference frames that x264 keeps with B-pyramid. */
const H264_REFERENCE_FRAMES = 4;

function h264Level({ width, height, rate, bitrate }: LevelRequirements, minLevel: number): number {
  const [columns, rows] = [Math.ceil(width / 16), Math.ceil(height / 16)];
  const size = columns * rows;
  const fittingLevel = H264_LEVELS.find(
    ([level, perSecond, frame, buffer, kilobits, cpb]) =>
      level >= minLevel &&
      // A.3.1 f, g: neither side may exceed the square root of eight times the maximum frame size.
      size <= frame &&
      Math.max(columns, rows) <= Math.sqrt(8 * frame) &&
      size * rate <= perSecond &&
      size * H264_REFERENCE_FRAMES <= buffer &&
      bitrate <= kilobits * 1000 &&
      2 * bitrate <= cpb * 1000,
  );
  return (fittingLevel ?? H264_LEVELS.at(-1)!)[0];
}

/** ITU-T H.265 Tables A.8, A.9: luma samples per picture and per second; kbit/s of the main tier. */
const HEVC_LEVELS: readonly (readonly [level: number, picture: number, perSecond: number, rate: number])[] = [
  [30, 36_864, 552_960, 128],
  [60, 122_880, 3_686_400, 1500],
  [63, 245_760, 7_372_800, 3000],
  [90, 552_960, 16_588_800, 6000],
  [93, 983_040, 33_177_600, 10_000],
  [120, 2_228_224, 66_846_720, 12_000],
  [123, 2_228_224, 133_693_440, 20_000],
  [150, 8_912_896, 267_386_880, 25_000],
  [153, 8_912_896, 534_773_760, 40_000],
  [156, 8_912_896, 1_069_547_520, 60_000],
  [180, 35_651_584, 1_069_547_520, 60_000],
  [183, 35_651_584, 2_139_095_040, 120_000],
  [186, 35_651_584, 4_278_190_080, 240_000],
];

function hevcLevel({ width, height, rate, bitrate }: LevelRequirements, minLevel: number): number {
  // Sizes are rounded up to whole coding units.
  const size = Math.ceil(width / 8) * 8 * Math.ceil(height / 8) * 8;
  const fittingLevel = HEVC_LEVELS.find(
    ([level, picture, perSecond, kilobits]) =>
      level >= minLevel &&
      size <= picture &&
      Math.max(width, height) <= Math.sqrt(8 * picture) &&
      size * rate <= perSecond &&
      2 * bitrate <= kilobits * 1000,
  );
  return (fittingLevel ?? HEVC_LEVELS.at(-1)!)[0];
}

/**
 * AV1 A.3: luma samples per picture, maximum width and height, displayed samples per second; kbit/s of the main tier.
 */
const AV1_LEVELS: readonly (readonly [
  index: number,
  picture: number,
  width: number,
  height: number,
  perSecond: number,
  rate: number,
])[] = [
  [0, 147_456, 2048, 1152, 4_423_680, 1500],
  [1, 278_784, 2816, 1584, 8_363_520, 3000],
  [4, 665_856, 4352, 2448, 19_975_680, 6000],
  [5, 1_065_024, 5504, 3096, 31_950_720, 10_000],
  [8, 2_359_296, 6144, 3456, 70_778_880, 12_000],
  [9, 2_359_296, 6144, 3456, 141_557_760, 20_000],
  [12, 8_912_896, 8192, 4352, 267_386_880, 30_000],
  [13, 8_912_896, 8192, 4352, 534_773_760, 40_000],
  [14, 8_912_896, 8192, 4352, 1_069_547_520, 60_000],
  [16, 35_651_584, 16_384, 8704, 1_069_547_520, 60_000],
  [17, 35_651_584, 16_384, 8704, 2_139_095_040, 100_000],
  [18, 35_651_584, 16_384, 8704, 4_278_190_080, 160_000],
];

function av1Level({ width, height, rate, bitrate }: LevelRequirements, minLevel: number): number {
  const size = width * height;
  const fittingLevel = AV1_LEVELS.find(
    ([index, picture, maxWidth, maxHeight, perSecond, kilobits]) =>
      index >= minLevel &&
      size <= picture &&
      width <= maxWidth &&
      height <= maxHeight &&
      size * rate <= perSecond &&
      bitrate <= kilobits * 1000,
  );
  return (fittingLevel ?? AV1_LEVELS.at(-1)!)[0];
}
