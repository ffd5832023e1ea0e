import type { MediaModel } from "../model.ts";
import { trimToVideoEnd, imageFilter, type ImageFilterOptions } from "./picture.ts";

/** Thumbnails of a video in rows and columns of one image, for a preview while seeking. */
export interface StoryboardSheet {
  number: number;
  /** Position of the first thumbnail in the video, in seconds; each covers `interval`. */
  start: number;
  interval: number;
  pictures: number;
  /** Size of one thumbnail. */
  width: number;
  height: number;
}

/** Layout of a whole video on sheets. */
export interface Storyboard {
  interval: number;
  pictures: number;
  width: number;
  height: number;
  sheets: number;
}

const COLUMNS = 5;
const TILES_PER_SHEET = COLUMNS * COLUMNS;
const MAX_PICTURES = 200;
const LONG_SIDE_PIXELS = 160;
const INTERVALS = [1, 2, 4, 5, 10, 15, 30, 60, 120, 300, 600, 1800];

/** Lays out at most 200 thumbnails, regardless of the length: 8 sheets. */
export function storyboardOf({
  duration,
  video,
}: Pick<MediaModel, "duration"> & { video: { width: number; height: number } }): Storyboard {
  const interval =
    INTERVALS.find((seconds) => duration <= seconds * MAX_PICTURES) ?? Math.ceil(duration / MAX_PICTURES);
  const tileCount = Math.max(1, Math.ceil(duration / interval - 1e-6));
  const factor = LONG_SIDE_PIXELS / Math.max(video.width, video.height);
  const toEvenSide = (pixels: number) => Math.max(2, 2 * Math.round((pixels * factor) / 2));
  return {
    interval,
    pictures: tileCount,
    width: toEvenSide(video.width),
    height: toEvenSide(video.height),
    sheets: Math.ceil(tileCount / TILES_PER_SHEET),
  };
}

export function storyboardSheet(
  { interval, pictures: tileCount, width, height, sheets }: Storyboard,
  number: number,
): StoryboardSheet | undefined {
  if (!Number.isInteger(number) || number < 0 || number >= sheets) return undefined;
  return {
    number,
    start: number * TILES_PER_SHEET * interval,
    interval,
    pictures: Math.min(TILES_PER_SHEET, tileCount - number * TILES_PER_SHEET),
    width,
    height,
  };
}

/** Only key frames are decoded; NEAR: starting with the previous one. */
const KEY_FRAMES_ONLY = ["-skip_frame", "nokey"];
const FROM_PREVIOUS_KEY_FRAME = [...KEY_FRAMES_ONLY, "-noaccurate_seek"];

/**
 * If thumbnails are further apart than this, opening the file for each is cheaper than reading everything in between.
 */
const MAX_SEQUENTIAL_INTERVAL_S = 10;

/** A seek may end one key frame too early, because some formats provide the presentation time only after decoding. */
const MAX_SEEK_ERROR_S = 1;

/**
 * The thumbnail of each interval is the key frame nearest to its middle; no other frames are decoded. Sheets contain no
 * watermark because the thumbnails are too small. `isPart`: the source contains more than the video, which must not be
 * shown; if the previous key frame may lie outside, decoding starts there.
 */
export function sheetArgs(
  model: MediaModel,
  { start, interval, pictures: tileCount, width, height }: StoryboardSheet,
  source: string,
  { tonemap, isPart }: Pick<ImageFilterOptions, "tonemap"> & { isPart: boolean },
): string[] {
  const tile = `tile=${COLUMNS}x${Math.ceil(tileCount / COLUMNS)}:nb_frames=${tileCount}`;
  const size = { width, height, fit: "scale", tonemap } as const;
  const input = (seconds: number, length: number, readOptions: string[]) => [
    ...readOptions,
    ...(seconds > 0 ? ["-ss", seconds.toFixed(6)] : []),
    "-t",
    String(length),
    "-f",
    model.source.format,
    "-i",
    source,
  ];
  const trimInside = (from: number) => (isPart ? trimToVideoEnd(model, from) : []);
  const mayBeginOutside = (from: number) => isPart && from < model.video!.keyframeInterval + MAX_SEEK_ERROR_S;
  const output = [
    "-map",
    "[sheet]",
    "-frames:v",
    "1",
    "-pix_fmt",
    "yuvj420p",
    "-c:v",
    "mjpeg",
    "-q:v",
    "4",
    "-f",
    "mjpeg",
    "pipe:1",
  ];
  if (interval <= MAX_SEQUENTIAL_INTERVAL_S) {
    const read = (readOptions: string[]) => input(model.source.start + start, tileCount * interval, readOptions);
    const isOutside = mayBeginOutside(start);
    // Key frames are overlaid on the first frame, which is shown until the first key frame, possibly to the end.
    const first = imageFilter(model, {
      ...size,
      first: [...trimInside(start), "trim=end_frame=1", `loop=loop=${tileCount}:size=1`, `setpts=N*${interval}/TB`],
      output: "first",
    });
    const keys = imageFilter(model, {
      ...size,
      first: [...trimInside(start), `fps=fps=1/${interval}:round=near`],
      input: isOutside ? 1 : 0,
      output: "keys",
    });
    return [
      ...(isOutside ? [...read([]), ...read(KEY_FRAMES_ONLY)] : read(FROM_PREVIOUS_KEY_FRAME)),
      "-filter_complex",
      `${first};${keys};[first][keys]overlay=format=yuv444,${tile}[sheet]`,
      ...output,
    ];
  }
  const tileTimes = Array.from({ length: tileCount }, (_, i) => start + i * interval).map(
    (chainStart) => (chainStart + Math.min(model.duration, chainStart + interval)) / 2,
  );
  // Key frames before the midpoints have negative timestamps, for which ffmpeg outputs nothing.
  const chains = tileTimes.map((tileTime, i) =>
    imageFilter(model, {
      ...size,
      first: [...trimInside(tileTime), "trim=end_frame=1", "setpts=0"],
      input: i,
      output: `p${i}`,
    }),
  );
  const concatFilter = `${tileTimes.map((_, i) => `[p${i}]`).join("")}${tileCount === 1 ? "null" : `concat=n=${tileCount}`},${tile}[sheet]`;
  return [
    ...tileTimes.flatMap((tileTime) => [
      "-threads",
      "1",
      ...input(model.source.start + tileTime, interval, mayBeginOutside(tileTime) ? [] : FROM_PREVIOUS_KEY_FRAME),
    ]),
    "-filter_complex",
    [...chains, concatFilter].join(";"),
    ...output,
  ];
}

/**
 * WebVTT in which each cue references a region of an image (Media Fragments URI 1.0, 4.2.2). `nameOf`: path of a sheet
 * relative to the file.
 */
export function storyboardVtt(board: Storyboard, duration: number, nameOf: (sheet: number) => string): string {
  const cues = Array.from({ length: board.pictures }, (_, i) => {
    const place = i % TILES_PER_SHEET;
    const [x, y] = [(place % COLUMNS) * board.width, Math.floor(place / COLUMNS) * board.height];
    return `${stamp(i * board.interval)} --> ${stamp(Math.min(duration, (i + 1) * board.interval))}\n${nameOf(Math.floor(i / TILES_PER_SHEET))}#xywh=${x},${y},${board.width},${board.height}\n`;
  });
  return `WEBVTT\n\n${cues.join("\n")}`;
}

function stamp(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const padTwoDigits = (value: number) => String(value).padStart(2, "0");
  return `${padTwoDigits(Math.floor(ms / 3_600_000))}:${padTwoDigits(Math.floor(ms / 60_000) % 60)}:${padTwoDigits(Math.floor(ms / 1000) % 60)}.${String(ms % 1000).padStart(3, "0")}`;
}
