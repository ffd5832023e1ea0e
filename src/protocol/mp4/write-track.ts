import { ascii, box, fullBox, u16, u32, u64, zeros, type BufferList } from "./write.ts";

/** Track properties common to files and initialization segments. */
export interface TrackHeader {
  id: number;
  handler: "vide" | "soun";
  timescale: number;
  /** In pixels, as displayed; 0 for audio. */
  width: number;
  height: number;
  /** ISO 639-2 language code; default "und". */
  language?: string | undefined;
  /** A sample entry, including its box header. */
  description: Buffer;
  /**
   * Ticks that an edit list subtracts from the presentation time. Default 0: no edit list. For video, in initialization
   * segments only: these ticks are added to every composition offset, so that none is negative. For audio: the samples
   * before second zero, which prime the decoder.
   */
  delay?: number | undefined;
}

const IDENTITY = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000];
const ENABLED_IN_MOVIE = 3;

/**
 * Movie header (ISO 14496-12, 8.2.2); `duration` is in milliseconds. Version 1 is a precaution: ten hours fit into 32
 * bits.
 */
export const movieHeader = (duration: number, nextTrack: number): BufferList =>
  fullBox(
    "mvhd",
    1,
    0,
    zeros(16),
    u32(1000),
    u64(duration),
    u32(0x10000),
    u16(0x100, 0),
    zeros(8),
    u32(...IDENTITY),
    zeros(24),
    u32(nextTrack),
  );

/**
 * Edit list (ISO 14496-12, 8.6.6). `edits`: pairs of the duration in milliseconds and the media time in ticks, or -1
 * for an empty edit.
 */
export const editListBox = (...edits: (readonly [duration: number, mediaTime: number])[]): BufferList =>
  fullBox("elst", 0, 0, u32(edits.length), ...edits.map(([duration, mediaTime]) => u32(duration, mediaTime, 0x10000)));

/** Track box. `duration` is in milliseconds, `mediaDuration` in track ticks. */
export function trackBox(
  track: TrackHeader,
  {
    duration,
    mediaDuration,
    edits,
    tables,
  }: { duration: number; mediaDuration: number; edits?: BufferList; tables: BufferList[] },
): BufferList {
  const { id, handler, timescale, width, height, language = "und", description } = track;
  const isAudio = handler === "soun";
  const tkhd = fullBox(
    "tkhd",
    1,
    ENABLED_IN_MOVIE,
    zeros(16),
    u32(id, 0),
    u64(duration),
    zeros(8),
    u16(0, isAudio ? 1 : 0, isAudio ? 0x100 : 0, 0),
    u32(...IDENTITY),
    u32(width * 65_536, height * 65_536),
  );
  const packedLanguage = [...language].reduce((bits, letter) => bits * 32 + (letter.charCodeAt(0) - 0x60), 0);
  const mdhd = fullBox("mdhd", 1, 0, zeros(16), u32(timescale), u64(mediaDuration), u16(packedLanguage, 0));
  const hdlr = fullBox("hdlr", 0, 0, zeros(4), ascii(handler), zeros(12), ascii(isAudio ? "Sound\0" : "Video\0"));
  const media = isAudio ? fullBox("smhd", 0, 0, zeros(4)) : fullBox("vmhd", 0, 1, zeros(8));
  const dinf = box("dinf", fullBox("dref", 0, 0, u32(1), fullBox("url ", 0, 1)));
  const stsd = fullBox("stsd", 0, 0, u32(1), description);
  return box(
    "trak",
    tkhd,
    ...(edits === undefined ? [] : [box("edts", edits)]),
    box("mdia", mdhd, hdlr, box("minf", media, dinf, box("stbl", stsd, ...tables))),
  );
}
