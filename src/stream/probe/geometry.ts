import type { StreamDescription } from "./describe.ts";

/** Display geometry of a video. */
export interface Geometry {
  width: number;
  height: number;
  squarePixels: boolean;
  interlaced: boolean;
  hdr?: "pq" | "hlg";
}

const SQUARE_TOLERANCE = 0.005;

/**
 * Pixels are made square by changing the width, as ffmpeg's filters and players do; the sides of a rotated video are
 * swapped.
 */
export function geometryOf({
  width,
  height,
  pixelAspect,
  rotation,
  fieldOrder,
  transfer,
}: StreamDescription): Geometry {
  const hasSquarePixels = Math.abs(pixelAspect - 1) < SQUARE_TOLERANCE;
  const displaySize = { width: hasSquarePixels ? width : Math.max(1, Math.round(width * pixelAspect)), height };
  const rotatedSize =
    rotation === 90 || rotation === 270 ? { width: displaySize.height, height: displaySize.width } : displaySize;
  return {
    ...rotatedSize,
    squarePixels: hasSquarePixels,
    interlaced: isInterlaced({ fieldOrder }),
    ...hdrOf(transfer),
  };
}

export const isInterlaced = ({ fieldOrder }: Pick<StreamDescription, "fieldOrder">): boolean =>
  ["tt", "bb", "tb", "bt"].includes(fieldOrder ?? "");

/** ITU-T H.273, transfer characteristics 16 and 18. */
const hdrOf = (transfer: string | undefined): Pick<Geometry, "hdr"> =>
  transfer === "smpte2084" ? { hdr: "pq" } : transfer === "arib-std-b67" ? { hdr: "hlg" } : {};
