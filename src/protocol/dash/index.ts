export { type LiveMediaSet, type LivePeriod, writeLiveMpd } from "./live.ts";
export {
  END_MARGIN_SECONDS,
  type AdaptationSet,
  type MediaSet,
  type Representation,
  type SegmentTimeline,
  writeMpd,
} from "./mpd.ts";
