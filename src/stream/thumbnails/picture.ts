import { toneMapToSdr, watermarkBox } from "../encode/index.ts";
import type { MediaModel } from "../model.ts";
import type { Fit } from "./image-request.ts";

interface Size {
  width: number;
  height: number;
}

export interface ImageFilterOptions extends Size {
  fit: Fit;
  /** Input index of the watermark; if absent, there is none. */
  watermark?: number;
  tonemap: boolean;
  /** Applied to the decoder's output before scaling. */
  first?: string[];
  /** Input index of the source; default 0. */
  input?: number;
  /** Default "picture". */
  output?: string;
}

/**
 * Returns the filter that ends frames read from this second of the video at the end of the video; an input's own `-t`
 * counts from the first frame that arrives.
 */
export const trimToVideoEnd = ({ duration }: MediaModel, seconds: number): string[] => [
  `trim=end=${Math.max(0, duration - seconds).toFixed(6)}`,
];

/** Returns the filter that turns decoded frames into the requested images. */
export function imageFilter(
  model: MediaModel,
  { width, height, fit, watermark, tonemap, first = [], input = 0, output = "picture" }: ImageFilterOptions,
): string {
  const video = model.video!;
  const scaledSize = scaledFor(video, { width, height }, fit);
  const decodeFilters = [
    ...(video.interlaced ? ["bwdif=mode=send_frame:parity=auto:deint=interlaced"] : []),
    ...first,
    `scale=${scaledSize.width}:${scaledSize.height}:flags=bicubic`,
    ...(video.hdr !== undefined && tonemap ? [toneMapToSdr(video.hdr)] : []),
    "setsar=1",
    "format=yuv444p",
  ].join(",");
  const fitFilters = {
    crop: `crop=${width}:${height}`,
    fill: `pad=${width}:${height}:-1:-1:black`,
    clip: "null",
    scale: "null",
  }[fit];
  if (watermark === undefined || model.watermark === undefined)
    return `[${input}:${video.stream}]${decodeFilters},${fitFilters}[${output}]`;
  const box = watermarkBox(model.watermark, scaledSize, video);
  return [
    `[${input}:${video.stream}]${decodeFilters}[plain]`,
    `[${watermark}:v]scale=${box.width}:${box.height}:flags=bicubic,format=rgba,colorchannelmixer=aa=${model.watermark.opacity.toFixed(3)}[mark]`,
    `[plain][mark]overlay=${box.x}:${box.y}:eof_action=repeat:format=yuv444,${fitFilters}[${output}]`,
  ].join(";");
}

/** Size to which the whole frame must be scaled for the requested crop. */
function scaledFor(video: Size, { width, height }: Size, fit: Fit): Size {
  if (fit === "scale") return { width, height };
  const [widthRatio, heightRatio] = [width / video.width, height / video.height];
  const factor = fit === "crop" ? Math.max(widthRatio, heightRatio) : Math.min(widthRatio, heightRatio);
  const sideLength = (pixels: number, requested: number) =>
    fit === "crop"
      ? Math.max(requested, Math.round(pixels * factor))
      : Math.max(1, Math.min(requested, Math.round(pixels * factor)));
  return { width: sideLength(video.width, width), height: sideLength(video.height, height) };
}
