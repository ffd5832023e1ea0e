import type { MediaModel } from "../model.ts";
import { pictureFilter, type PictureOptions } from "./picture.ts";

/** Small pictures of a video in rows and columns of one image, for a preview while seeking. */
export interface Sheet {
  number: number;
  /** Seconds of the video that the first picture stands for; each stands for `interval`. */
  start: number;
  interval: number;
  pictures: number;
  /** Of one picture. */
  width: number;
  height: number;
}

/** How a whole video is laid out on sheets. */
export interface Storyboard {
  interval: number;
  pictures: number;
  width: number;
  height: number;
  sheets: number;
}

export const COLUMNS = 5;
const PER_SHEET = COLUMNS * COLUMNS;
const MOST_PICTURES = 200;
const LONG_SIDE = 160;
const INTERVALS = [1, 2, 4, 5, 10, 15, 30, 60, 120, 300, 600, 1800];

/** At most 200 pictures, whatever the length: 8 sheets. */
export function storyboardOf({ duration, video }: Pick<MediaModel, "duration"> & { video: { width: number; height: number } }): Storyboard {
  const interval = INTERVALS.find((seconds) => duration <= seconds * MOST_PICTURES) ?? Math.ceil(duration / MOST_PICTURES);
  const pictures = Math.max(1, Math.ceil(duration / interval - 1e-6));
  const factor = LONG_SIDE / Math.max(video.width, video.height);
  const side = (pixels: number) => Math.max(2, 2 * Math.round((pixels * factor) / 2));
  return { interval, pictures, width: side(video.width), height: side(video.height), sheets: Math.ceil(pictures / PER_SHEET) };
}

export function sheetOf({ interval, pictures, width, height, sheets }: Storyboard, number: number): Sheet | undefined {
  if (!Number.isInteger(number) || number < 0 || number >= sheets) return undefined;
  return { number, start: number * PER_SHEET * interval, interval, pictures: Math.min(PER_SHEET, pictures - number * PER_SHEET), width, height };
}

/** Further apart than this it is cheaper to open the file once for each picture than to read all that lies between them. */
const READ_THROUGH_S = 10;

/** The picture of each interval is the key frame nearest to its middle: no others are decoded. Too small for a watermark. */
export function sheetArgs(model: MediaModel, { start, interval, pictures, width, height }: Sheet, source: string, { tonemap }: Pick<PictureOptions, "tonemap">): string[] {
  const tile = `tile=${COLUMNS}x${Math.ceil(pictures / COLUMNS)}:nb_frames=${pictures}`;
  const size = { width, height, fit: "scale", tonemap } as const;
  const input = (seconds: number, length: number) => ["-skip_frame", "nokey", "-noaccurate_seek", ...(seconds > 0 ? ["-ss", seconds.toFixed(3)] : []), "-t", String(length), "-f", model.source.format, "-i", source];
  const output = ["-map", "[sheet]", "-frames:v", "1", "-pix_fmt", "yuvj420p", "-c:v", "mjpeg", "-q:v", "4", "-f", "mjpeg", "pipe:1"];
  if (interval <= READ_THROUGH_S) {
    const steady = [`fps=fps=1/${interval}:start_time=0:round=near`, "tpad=stop=-1:stop_mode=clone", `trim=end_frame=${pictures}`];
    return [...input(model.source.start + start, pictures * interval), "-filter_complex", `${pictureFilter(model, { ...size, first: steady })};[picture]${tile}[sheet]`, ...output];
  }
  const middles = Array.from({ length: pictures }, (_, i) => Math.min(model.duration, start + (i + 0.5) * interval));
  const chains = middles.map((_, i) => pictureFilter(model, { ...size, first: ["trim=end_frame=1"], input: i, output: `p${i}` }));
  const joined = `${middles.map((_, i) => `[p${i}]`).join("")}${pictures === 1 ? "null" : `concat=n=${pictures}`},${tile}[sheet]`;
  return [...middles.flatMap((middle) => ["-threads", "1", ...input(model.source.start + middle, interval)]), "-filter_complex", [...chains, joined].join(";"), ...output];
}

/** WebVTT whose cues name a part of an image each (Media Fragments URI 1.0, 4.2.2). `nameOf`: where a sheet is, relative to the file. */
export function storyboardVtt(board: Storyboard, duration: number, nameOf: (sheet: number) => string): string {
  const cues = Array.from({ length: board.pictures }, (_, i) => {
    const place = i % PER_SHEET;
    const [x, y] = [(place % COLUMNS) * board.width, Math.floor(place / COLUMNS) * board.height];
    return `${stamp(i * board.interval)} --> ${stamp(Math.min(duration, (i + 1) * board.interval))}\n${nameOf(Math.floor(i / PER_SHEET))}#xywh=${x},${y},${board.width},${board.height}\n`;
  });
  return `WEBVTT\n\n${cues.join("\n")}`;
}

function stamp(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(Math.floor(ms / 3_600_000))}:${two(Math.floor(ms / 60_000) % 60)}:${two(Math.floor(ms / 1000) % 60)}.${String(ms % 1000).padStart(3, "0")}`;
}
