import { withLeasedFiles, type ObjectStore } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import { MediaRunError, type MediaTools } from "../media/index.ts";
import type { MediaModel } from "../model.ts";
import { trimToVideoEnd, imageFilter, type ImageFilterOptions } from "./picture.ts";
import { sheetArgs, type StoryboardSheet } from "./sheet.ts";
import type { ImageRequest } from "./image-request.ts";

interface StillsDeps {
  tools: MediaTools;
  objects: Pick<ObjectStore, "leaseFile">;
}

/**
 * Images from the source of a video, as JPEG or GIF bytes. `isPart` (default false): the source contains more than the
 * video, which must not be shown. Throws imageFailed, encoderBusy, mediaToolsMissing.
 */
interface Stills {
  /** JPEG, or GIF if the request has `motion`. */
  thumbnail(model: MediaModel, image: ImageRequest, renderOptions?: { isPart?: boolean }): Promise<Buffer>;
  sheet(model: MediaModel, sheet: StoryboardSheet, renderOptions?: { isPart?: boolean }): Promise<Buffer>;
  /** JPEG for audio-only videos: the embedded cover art, or a waveform. */
  audio(model: MediaModel, size: { width: number; height: number }): Promise<Buffer>;
}

/** Not less than the CPU time, so that a rendering does not fail only because the machine is busy. */
const WALL_MS = 60_000;
const CPU_SECONDS = 60;
const MAX_OCTETS = 64 << 20;
/**
 * If there is no frame at a position (the last frame may be shown for a long time), the search continues this many
 * seconds earlier.
 */
const FALLBACK_OFFSETS_S = [0, 2, 30, Infinity];

export function createStills({ tools, objects }: StillsDeps): Stills {
  async function render(
    model: MediaModel,
    args: (inputs: {
      source: string;
      watermark: string[];
      options: Pick<ImageFilterOptions, "watermark" | "tonemap">;
    }) => string[],
  ): Promise<Buffer> {
    const { tonemaps } = await tools.ready();
    const tonemap = model.video?.hdr !== undefined && (await tonemaps());
    const keys = [model.source.key, ...(model.watermark === undefined ? [] : [model.watermark.key])];
    return withLeasedFiles(objects, keys, async (paths) => {
      const [source, watermark] = paths;
      if (source === undefined || paths.includes(undefined))
        throw streamErrors.imageFailed({ reason: "its source no longer exists" });
      const watermarkArgs = watermark === undefined ? [] : ["-f", "png_pipe", "-i", watermark];
      const options = {
        tonemap,
        ...(watermark !== undefined && { watermark: 1 }),
      };
      try {
        const { output } = await tools.ffmpeg({
          args: args({ source, watermark: watermarkArgs, options }),
          reads: paths as string[],
          urgency: "soon",
          wallMs: WALL_MS,
          cpuSeconds: CPU_SECONDS,
          outputBytes: MAX_OCTETS,
        });
        return output;
      } catch (err) {
        if (err instanceof MediaRunError && !["aborted", "closed", "missing"].includes(err.reason))
          throw streamErrors.imageFailed(
            {
              reason:
                err.reason === "failed" ? "its frames cannot be decoded at this position" : "it exceeded its limits",
            },
            { cause: err },
          );
        throw err;
      }
    });
  }

  /** Reads the uploaded file, because an indexed copy has no cover. */
  async function drawCover(
    { source: { key, originalKey = key } }: MediaModel,
    { width, height }: { width: number; height: number },
  ): Promise<Buffer | undefined> {
    const fit = `scale=${width}:${height}:force_original_aspect_ratio=decrease:flags=bicubic,pad=${width}:${height}:-1:-1:${BACKGROUND},setsar=1`;
    try {
      return await withLeasedFiles(objects, [originalKey], async ([path]) => {
        if (path === undefined) return undefined;
        const { output } = await tools.ffmpeg({
          args: ["-i", path, "-map", "0:v:0", "-vf", fit, ...JPEG],
          reads: [path],
          urgency: "soon",
          wallMs: WALL_MS,
          cpuSeconds: CPU_SECONDS,
          outputBytes: MAX_OCTETS,
        });
        return output.length > 0 ? output : undefined;
      });
    } catch (err) {
      // Most files have no cover.
      if (err instanceof MediaRunError && err.reason === "failed") return undefined;
      throw err;
    }
  }

  return {
    async thumbnail(model, image, { isPart = false } = {}) {
      for (const offsetSeconds of FALLBACK_OFFSETS_S) {
        const seekTime = Math.max(0, image.time - offsetSeconds);
        const frameImage = await render(model, ({ source, watermark, options }) => [
          ...inputAt(model, seekTime),
          "-i",
          source,
          ...watermark,
          ...outputOf(model, image, { ...options, first: isPart ? trimToVideoEnd(model, seekTime) : [] }),
        ]);
        if (frameImage.length > 0) return frameImage;
        if (seekTime === 0) break;
      }
      throw streamErrors.imageFailed({ reason: "it has no image" });
    },
    async audio(model, size) {
      const cover = await drawCover(model, size);
      if (cover !== undefined) return cover;
      const waveform = await render(model, ({ source }) => [
        ...inputAt(model, 0),
        "-t",
        Math.min(model.duration, WAVEFORM_S).toFixed(3),
        "-i",
        source,
        "-filter_complex",
        waveformFilter(model, size),
        "-map",
        "[picture]",
        ...JPEG,
      ]);
      if (waveform.length === 0) throw streamErrors.imageFailed({ reason: "its audio cannot be drawn" });
      return waveform;
    },
    async sheet(model, sheet, { isPart = false } = {}) {
      const frameImage = await render(model, ({ source, options }) =>
        sheetArgs(model, sheet, source, { ...options, isPart }),
      );
      if (frameImage.length === 0) throw streamErrors.imageFailed({ reason: "it has no image" });
      return frameImage;
    },
  };
}

/** Maximum seconds of audio in a waveform: more audio looks the same but takes minutes to decode. */
const WAVEFORM_S = 600;
const BACKGROUND = "0x12151d";
const JPEG = ["-frames:v", "1", "-pix_fmt", "yuvj420p", "-c:v", "mjpeg", "-q:v", "3", "-f", "mjpeg", "pipe:1"];

function waveformFilter({ audio }: MediaModel, { width, height }: { width: number; height: number }): string {
  const bandHeight = Math.max(2, Math.round(height / 2));
  return `[0:${audio!.stream}]aformat=channel_layouts=mono,showwavespic=s=${width}x${bandHeight}:colors=0x6ea0ff:scale=sqrt[wave];color=c=${BACKGROUND}:s=${width}x${height}:r=1[back];[back][wave]overlay=0:(H-h)/2:format=auto[picture]`;
}

const inputAt = ({ source }: MediaModel, seconds: number) => [
  ...(source.start + seconds > 0 ? ["-ss", (source.start + seconds).toFixed(6)] : []),
  "-f",
  source.format,
];

function outputOf(
  model: MediaModel,
  { motion, ...size }: ImageRequest,
  { first, ...options }: Pick<ImageFilterOptions, "watermark" | "tonemap"> & { first: string[] },
): string[] {
  if (motion === undefined)
    return [
      "-filter_complex",
      imageFilter(model, { ...size, ...options, first }),
      "-map",
      "[picture]",
      "-frames:v",
      "1",
      "-pix_fmt",
      "yuvj420p",
      "-c:v",
      "mjpeg",
      "-q:v",
      "3",
      "-f",
      "mjpeg",
      "pipe:1",
    ];
  const frames = Math.max(1, Math.round(Math.min(motion.duration, model.duration - size.time) * motion.fps));
  // One palette for all frames: stats_mode=diff counts the frame before each change, so the last scene would get no
  // colours. Bayer dithering is the same in every frame, so still areas add no data.
  const filter = `${imageFilter(model, { ...size, ...options, first: [...first, `fps=${motion.fps}`, `trim=end_frame=${frames}`] })};[picture]split[a][b];[a]palettegen=stats_mode=full[p];[b][p]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle[moving]`;
  return ["-filter_complex", filter, "-map", "[moving]", "-loop", "0", "-f", "gif", "pipe:1"];
}
