/**
 * Arguments of ffmpeg for packets of a broadcast: Matroska on standard input. No probing, because the header is complete;
 * otherwise the first frame is output after a second. `nobuffer` instead would lose the first frames.
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
