import { formatTime } from "./timing.ts";
import type { WebvttCaptions } from "./types.ts";

/** Formats WebVTT (4.1). Parsed captions are written in such a way that they are read back unchanged. */
export function formatVtt({ cues, styles, regions }: WebvttCaptions): string {
  const blocks = [
    "WEBVTT",
    ...styles.map((css) => `STYLE\n${css}`),
    ...regions.map((settings) => `REGION\n${settings.replaceAll(" ", "\n")}`),
    ...cues.map(
      ({ id, start, end, settings, text }) =>
        `${id === undefined ? "" : `${id}\n`}${formatTime(start)} --> ${formatTime(end)}${settings === undefined ? "" : ` ${settings}`}\n${text}`,
    ),
  ];
  return `${blocks.join("\n\n")}\n`;
}
