import { Mp4Error } from "./boxes.ts";
import { locateMovie } from "./locate.ts";
import { readMovie } from "./movie.ts";
import type { TrackHeader } from "./write-track.ts";

/** Reads the only track of an initialization segment, so that it can be written into a file. Throws Mp4Error. */
export async function readInit(init: Buffer): Promise<Omit<TrackHeader, "id">> {
  const { movie } = await locateMovie(async (start, length) => init.subarray(start, start + length), init.length);
  const {
    tracks: [track, ...more],
  } = readMovie(movie);
  if (track === undefined || more.length > 0)
    throw new Mp4Error("an initialization segment must have exactly one track");
  const {
    handler,
    timescale,
    language,
    edits: [edit],
    descriptions: [description, ...otherDescriptions],
  } = track;
  if (handler !== "vide" && handler !== "soun")
    throw new Mp4Error(`unsupported handler type in an initialization segment: ${handler}`);
  if (description === undefined || otherDescriptions.length > 0)
    throw new Mp4Error("an initialization segment must have exactly one sample description");
  const delay = (edit?.mediaTime ?? 0) > 0 ? { delay: edit!.mediaTime } : {};
  if (handler === "soun") return { handler, timescale, language, description, width: 0, height: 0, ...delay };
  if (description.length < 36) throw new Mp4Error("truncated sample description");
  // ISO 14496-12, 12.1.3: every visual sample entry has its dimensions at this offset.
  return {
    handler,
    timescale,
    language,
    description,
    width: description.readUInt16BE(32),
    height: description.readUInt16BE(34),
    ...delay,
  };
}
