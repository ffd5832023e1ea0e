import { readAvcConfig, readSps } from "../../../protocol/h264/index.ts";
import type { LiveTracks } from "../packets.ts";

/** Codecs offered to browsers. */
export interface FeedCodecs {
  video?: "h264" | "vp8";
  audio?: "opus";
}

/** Profiles above it use other chroma formats or bit depths. */
const HIGH_PROFILE_IDC = 100;

/** Returns the codecs of these tracks as sent to browsers: unchanged or transcoded. */
export const codecsOf = ({ video, audio }: LiveTracks): FeedCodecs => ({
  ...(video !== undefined && { video: video.codec === "vp8" ? "vp8" : "h264" }),
  ...(audio !== undefined && { audio: "opus" }),
});

/** Browsers present frames in arrival order, and support few codecs. */
export function needsTranscoding({ codec, config }: NonNullable<LiveTracks["video"]>, bFrames: boolean): boolean {
  if (codec === "vp8") return false;
  if (codec !== "h264" || bFrames) return true;
  const [sps] = readAvcConfig(config).sps;
  if (sps === undefined) return true;
  const { profile, reordered = 0 } = readSps(sps);
  return reordered > 0 || profile > HIGH_PROFILE_IDC;
}
