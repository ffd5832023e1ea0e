import type { BurnedWatermark } from "../model.ts";

interface Size {
  width: number;
  height: number;
}

/** In pixels of the rendition. */
interface WatermarkBox {
  x: number;
  y: number;
  width: number;
  height: number;
}

/**
 * Returns the box of the watermark in this rendition. `scale` is a share of the frame's width and height within which
 * the mark keeps its aspect ratio; 0: its own size in a frame of the source's size, so that it looks the same in every
 * rendition. `padding` is a share of width and height.
 */
export function watermarkBox(
  { width: markWidth, height: markHeight, scale, padding, position }: BurnedWatermark,
  { width, height }: Size,
  source: Size,
): WatermarkBox {
  const factor = Math.min(
    scale > 0 ? Math.min((scale * width) / markWidth, (scale * height) / markHeight) : height / source.height,
    width / markWidth,
    height / markHeight,
  );
  const [w, h] = [atLeastOne(markWidth * factor), atLeastOne(markHeight * factor)];
  const right = width - w;
  const bottom = height - h;
  if (position === "center") return { x: Math.round(right / 2), y: Math.round(bottom / 2), width: w, height: h };
  const x = Math.min(right, Math.round(padding * width));
  const y = Math.min(bottom, Math.round(padding * height));
  return {
    x: position === "upperLeft" || position === "lowerLeft" ? x : right - x,
    y: position === "upperLeft" || position === "upperRight" ? y : bottom - y,
    width: w,
    height: h,
  };
}

const atLeastOne = (pixels: number) => Math.max(1, Math.round(pixels));
