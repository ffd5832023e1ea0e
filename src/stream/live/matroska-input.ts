/**
 * Arguments of ffmpeg for packets of a broadcast: Matroska on standard input. The header is complete, and probing would
 * delay the first frame by a second. `nobuffer` would lose the first frames.
 */
export const MATROSKA_INPUT: readonly string[] = [
  "-analyzeduration",
  "0",
  "-probesize",
  "32",
  "-fpsprobesize",
  "0",
  "-copyts",
  "-f",
  "matroska",
  "-i",
  "pipe:0",
];
