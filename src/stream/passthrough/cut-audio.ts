import {
  placementOf,
  readAac,
  writeInit,
  type Movie,
  type SamplePosition,
  type Track,
} from "../../protocol/mp4/index.ts";
import { bandwidthOf, everySample, type SampleCut, type CutTrack } from "./cut.ts";

export interface CutAudio extends CutTrack {
  channels: number;
}

const TARGET_SECONDS = 4;
/** Maximum delay of the audio: players start where both tracks exist, and skip anything earlier. */
const LATEST_SECONDS = 0.1;

/**
 * Cuts an AAC track. Priming frames, which the edit list places before the start of the video, are left out, because
 * segments have no edit list. This loses the overlap of the first frame, a fade-in of 21 ms. Returns the reason as text
 * if the track cannot be cut. Throws Mp4Error.
 */
export function cutAudio(track: Track, movie: Movie, origin: number, fileSize: number): CutAudio | string {
  const aac = track.descriptions.length === 1 && track.selfContained ? readAac(track.descriptions[0]!) : undefined;
  if (aac === undefined) return "it is not AAC of low complexity with one or two channels";
  const placement = placementOf(track, movie);
  if (placement === undefined) return "its edit list does more than to place it";
  const { timescale } = track;
  const tables = track.samples();
  const shiftedOrigin = Math.round(origin * timescale);
  const zeroTime = placement.offset + shiftedOrigin;
  const segments: SampleCut[] = [];
  let openSegment: { from: SamplePosition; start: number; trimStart: number; count: number; size: number } | undefined;
  let end = 0;
  const close = () => {
    if (openSegment !== undefined)
      segments.push({ ...openSegment, time: openSegment.start, duration: end - openSegment.start });
  };
  for (const walk of everySample(tables, fileSize)) {
    const time = walk.time + walk.shift - zeroTime;
    if (time <= -walk.duration / 2) continue;
    if (time >= placement.end - shiftedOrigin) break;
    if (openSegment === undefined || time - openSegment.start >= TARGET_SECONDS * timescale) {
      if (openSegment === undefined && time > LATEST_SECONDS * timescale) return "it begins late";
      close();
      openSegment = {
        from: walk.position(),
        start: Math.max(0, time),
        trimStart: Math.max(0, -time),
        count: 0,
        size: 0,
      };
    }
    openSegment.count++;
    openSegment.size += walk.size;
    end = time + walk.duration;
  }
  close();
  if (segments.length === 0) return "there is nothing of it to be received";
  const init = writeInit({
    id: 1,
    handler: "soun",
    timescale,
    width: 0,
    height: 0,
    language: track.language,
    description: aac.entry,
  });
  return {
    tables,
    timescale,
    init,
    codecs: aac.codecs,
    segments,
    ...bandwidthOf(segments, { timescale, tables }),
    baseOffset: 0,
    channels: aac.channels,
  };
}
