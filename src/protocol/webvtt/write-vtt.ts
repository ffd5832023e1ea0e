import type { WebvttCaptions } from "./cues.ts";

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

/** Formats a time as `00:00:01.000`, with two or more digits for hours. */
function formatTime(ms: number): string {
  const padTwo = (value: number) => String(value).padStart(2, "0");
  const seconds = Math.floor(ms / 1000);
  return `${padTwo(Math.floor(seconds / 3600))}:${padTwo(Math.floor(seconds / 60) % 60)}:${padTwo(seconds % 60)}.${String(ms % 1000).padStart(3, "0")}`;
}
