import type { UploadPageConfig } from "../../src/stream/player/upload-config.ts";
import { sizeText, timeText } from "./figures.ts";

const PROBE_MS = 3000;
/**
 * Media types that browsers derive from the file extension. MPEG transport streams are `.ts`, which may look like
 * TypeScript or Qt text.
 */
const NON_VIDEO_TYPE =
  /^(image\/(?!gif)|font\/|text\/(plain|html|css|csv|javascript)$|application\/(pdf|zip|json|gzip|msword|vnd\.openxmlformats))/;

/**
 * Resolves with the reason the server would reject the file, known before the upload; undefined if the file may be
 * accepted or the browser cannot read it.
 */
export async function refusalOf(
  file: File,
  { maxBytes, maxDurationSeconds }: UploadPageConfig,
): Promise<string | undefined> {
  if (file.size === 0) return "This file is empty.";
  if (NON_VIDEO_TYPE.test(file.type)) return "This file is not a video.";
  if (maxBytes !== undefined && file.size > maxBytes)
    return `This file is ${sizeText(file.size)}; the maximum is ${sizeText(maxBytes)}.`;
  if (maxDurationSeconds === undefined) return undefined;
  const seconds = await durationOf(file);
  return seconds !== undefined && seconds > maxDurationSeconds + 1
    ? `This video is ${timeText(seconds)} long; the maximum is ${timeText(maxDurationSeconds)}.`
    : undefined;
}

function durationOf(file: File): Promise<number | undefined> {
  const video = document.createElement("video");
  const url = URL.createObjectURL(file);
  return new Promise<number | undefined>((resolve) => {
    video.addEventListener("loadedmetadata", () =>
      resolve(Number.isFinite(video.duration) ? video.duration : undefined),
    );
    video.addEventListener("error", () => resolve(undefined));
    setTimeout(() => resolve(undefined), PROBE_MS);
    video.preload = "metadata";
    video.src = url;
  }).finally(() => {
    video.removeAttribute("src");
    URL.revokeObjectURL(url);
  });
}
