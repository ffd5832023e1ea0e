export { type LiveMediaSet, type LivePeriod, writeLiveMpd } from "./live.ts";
export {
  AFTER_THE_END,
  type AdaptationSet,
  type MediaSet,
  type Representation,
  type SegmentTimeline,
  writeMpd,
} from "./mpd.ts";
