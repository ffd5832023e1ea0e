import { readAvcConfig, readSps } from "../../../protocol/h264/index.ts";
import type { LiveTracks } from "../packets.ts";

/** What a browser is asked to take. */
export interface FeedCodecs {
  video?: "h264" | "vp8";
  audio?: "opus";
}

/** Above it pictures have other colours, or more bits. */
const HIGH = 100;

/** What browsers are given of these tracks: their own codecs, or those that are made of others. */
export const codecsOf = ({ video, audio }: LiveTracks): FeedCodecs => ({
  ...(video !== undefined && { video: video.codec === "vp8" ? "vp8" : "h264" }),
  ...(audio !== undefined && { audio: "opus" }),
});

/** Browsers show pictures in the order in which they come, and know few codecs. */
export function mustEncode({ codec, config }: NonNullable<LiveTracks["video"]>, bFrames: boolean): boolean {
  if (codec === "vp8") return false;
  if (codec !== "h264" || bFrames) return true;
  const [sps] = readAvcConfig(config).sps;
  if (sps === undefined) return true;
  const { profile, reordered = 0 } = readSps(sps);
  return reordered > 0 || profile > HIGH;
}
