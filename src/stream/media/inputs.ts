/** Demuxers that read one file and nothing else. What lists or names other files (hls, dash, concat, image2, sdp) must never be in it. */
export const SAFE_FORMATS = [
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
/** 8192 x 4320: what any codec here is used for. */
export const MAX_PIXELS = 8192 * 4320;
export const MAX_STREAMS = 100;

/**
 * Puts before every `-i` what it may be: a local file (or what `protocols` names) of a harmless container, within bounds. A demuxer forced with `-f` is allowed too.
 * A playlist that calls itself clip.mp4 would otherwise be opened, with all that it names.
 */
export function safeInputs(args: readonly string[], threads?: number, protocols = "file"): string[] {
  const safe: string[] = [];
  let forced: string | undefined;
  for (const [i, arg] of args.entries()) {
    if (arg === "-f") forced = args[i + 1];
    if (arg === "-i") {
      const formats = forced === undefined || SAFE_FORMATS.includes(forced) ? SAFE_FORMATS : [...SAFE_FORMATS, forced];
      safe.push(
        "-protocol_whitelist",
        protocols,
        "-format_whitelist",
        formats.join(","),
        "-max_streams",
        String(MAX_STREAMS),
        "-max_pixels",
        String(MAX_PIXELS),
      );
      if (threads !== undefined) safe.push("-threads", String(threads));
      forced = undefined;
    }
    safe.push(arg);
  }
  return safe;
}
