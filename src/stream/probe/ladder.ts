import type { Settings } from "../../kernel/settings.ts";
import { lowestLevel } from "../encode/index.ts";
import type { VideoRendition } from "../model.ts";

/** H.264 bitrate caps at up to 30 frames per second, by the short side: [pixels, bits per second]. */
const CAPS: readonly (readonly [short: number, bitrate: number])[] = [
  [144, 200_000],
  [240, 400_000],
  [360, 800_000],
  [480, 1_400_000],
  [720, 2_800_000],
  [1080, 5_000_000],
  [1440, 9_000_000],
  [2160, 16_000_000],
  [4320, 40_000_000],
];
/** Relative bitrate of the codecs for equal quality. */
const CODEC_BITRATE_FACTORS = { h264: 1, hevc: 0.7, av1: 0.6 };
/** Double the frame rate does not need double the bitrate: consecutive frames are similar. */
const HIGH_RATE_SURCHARGE = 1.5;
/** A source that is larger than the largest lower rung by this factor gets a rung of its own size. */
const MIN_RUNG_RATIO = 1.15;
/** H.264 level 5.2 is limited to 4096; longer sides are used only if 1440p or more is requested. */
const MAX_SIDE = 4096;

interface LadderSource {
  /** Size as displayed. */
  width: number;
  height: number;
  /** Frames per second of the grid. */
  fps: number;
}

/**
 * Creates the renditions of a source, lowest first: the requested ones that are not larger than the source, and one of
 * its own size if it falls between two of them.
 */
export function createLadder(
  source: LadderSource,
  { ladder, codecs }: Pick<Settings["stream"], "ladder" | "codecs">,
): VideoRendition[] {
  return ladderShortSides(
    source,
    ladder.map((name) => Number.parseInt(name, 10)),
  ).flatMap((shortSide) =>
    [...new Set(codecs)]
      .toSorted((a, b) => CODEC_ORDER.indexOf(a) - CODEC_ORDER.indexOf(b))
      .map((codec) => createRendition(source, shortSide, codec)),
  );
}

const CODEC_ORDER = ["h264", "hevc", "av1"];
const floorToEven = (pixels: number) => Math.max(2, 2 * Math.floor(pixels / 2));
const roundToEven = (pixels: number) => Math.max(2, 2 * Math.round(pixels / 2));

function ladderShortSides({ width, height }: LadderSource, configuredShortSides: readonly number[]): number[] {
  const sourceShortSide = floorToEven(Math.min(width, height));
  const sortedShortSides = [...new Set(configuredShortSides)].toSorted((a, b) => a - b);
  const fittingShortSides = sortedShortSides.filter((shortSide) => shortSide <= sourceShortSide);
  const above = sortedShortSides.find((shortSide) => shortSide > sourceShortSide);
  const largestFitting = fittingShortSides.at(-1);
  if (largestFitting === undefined || (above !== undefined && sourceShortSide >= largestFitting * MIN_RUNG_RATIO))
    fittingShortSides.push(sourceShortSide);
  return fittingShortSides;
}

function createRendition(
  { width, height, fps }: LadderSource,
  shortSide: number,
  codec: VideoRendition["codec"],
): VideoRendition {
  const scale = Math.min(
    1,
    shortSide / Math.min(width, height),
    Math.max(MAX_SIDE, shortSide * 4) / Math.max(width, height),
  );
  // The short side is the requested one; the other side follows from the aspect ratio, but never exceeds the source.
  const scaleSide = (pixels: number, isShort: boolean) =>
    isShort && scale * Math.min(width, height) >= shortSide - 1
      ? floorToEven(shortSide)
      : Math.min(roundToEven(pixels * scale), floorToEven(pixels));
  const isPortrait = width < height;
  const isHalved = fps > MAX_FULL_RATE && shortSide < 720;
  const bitrate =
    Math.round(
      (bitrateCapOf(shortSide) *
        CODEC_BITRATE_FACTORS[codec] *
        (fps > MAX_FULL_RATE && !isHalved ? HIGH_RATE_SURCHARGE : 1)) /
        1000,
    ) * 1000;
  const size = { width: scaleSide(width, isPortrait), height: scaleSide(height, !isPortrait) };
  return {
    name: codec === "h264" ? `${shortSide}p` : `${shortSide}p-${codec}`,
    codec,
    ...size,
    bitrate,
    level: lowestLevel({ codec, ...size, bitrate, rate: isHalved ? fps / 2 : fps }),
    ...(isHalved && { halved: isHalved }),
  };
}

/** Maximum frame rate that every rendition keeps. */
const MAX_FULL_RATE = 30.01;

export function bitrateCapOf(shortSide: number): number {
  const above = CAPS.findIndex(([pixels]) => pixels >= shortSide);
  if (above === -1) return CAPS.at(-1)![1];
  const [pixels, bitrate] = CAPS[above]!;
  if (above === 0) return Math.max(50_000, Math.round((bitrate * shortSide) / pixels));
  const [pixelsBelow, bitrateBelow] = CAPS[above - 1]!;
  return Math.round(bitrateBelow + ((bitrate - bitrateBelow) * (shortSide - pixelsBelow)) / (pixels - pixelsBelow));
}
