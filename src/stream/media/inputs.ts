/**
 * Demuxers that read a single file. Formats that refer to other files (hls, dash, concat, image2, sdp) must never be
 * added.
 */
const SAFE_FORMATS = [
  "mov",
  "matroska",
  "webm",
  "avi",
  "mpegts",
  "mpeg",
  "mp3",
  "wav",
  "w64",
  "aiff",
  "caf",
  "flac",
  "aac",
  "ogg",
  "flv",
  "asf",
  "gif",
  "mxf",
  "gxf",
  "lxf",
];
/** 8192 x 4320: the largest size used in practice with any codec listed here. */
export const MAX_PIXELS = 8192 * 4320;
const MAX_STREAMS = 100;

/**
 * Inserts restrictions before every `-i`: a local file (or the `protocols`) in a harmless container, within limits. A
 * demuxer forced with `-f` is also allowed. Without them a playlist named clip.mp4 would be opened, with all files it
 * refers to.
 */
export function restrictInputs(args: readonly string[], threads?: number, protocols = "file"): string[] {
  const safeArgs: string[] = [];
  let forcedFormat: string | undefined;
  for (const [i, arg] of args.entries()) {
    if (arg === "-f") forcedFormat = args[i + 1];
    if (arg === "-i") {
      const formats =
        forcedFormat === undefined || SAFE_FORMATS.includes(forcedFormat)
          ? SAFE_FORMATS
          : [...SAFE_FORMATS, forcedFormat];
      safeArgs.push(
        "-protocol_whitelist",
        protocols,
        "-format_whitelist",
        formats.join(","),
        "-max_streams",
        String(MAX_STREAMS),
        "-max_pixels",
        String(MAX_PIXELS),
      );
      if (threads !== undefined) safeArgs.push("-threads", String(threads));
      forcedFormat = undefined;
    }
    safeArgs.push(arg);
  }
  return safeArgs;
}
