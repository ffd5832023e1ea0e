export { type LiveMediaSet, type LiveMpd, type LivePeriod, writeLiveMpd } from "./live.ts";
export {
  AFTER_THE_END,
  type AdaptationSet,
  type MediaSet,
  type Mpd,
  type Representation,
  type SegmentTimeline,
  type TextSet,
  writeMpd,
} from "./mpd.ts";
