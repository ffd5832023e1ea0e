import type { LiveTracks } from "../packets.ts";
import type { LiveSession } from "../session.ts";
import { OutputError } from "./output-error.ts";

export interface PushOptions {
  session: LiveSession;
  /** Target addresses, previously checked. */
  addresses: readonly string[];
  /** Called when the remote server accepts the broadcast. */
  onConnected(): void;
  /** Aborted when sending must stop. */
  signal: AbortSignal;
}

const SUPPORTED_CODECS = new Set(["h264", "hevc", "av1", "aac", "mp3"]);
const NAMES: Record<string, string> = { vp8: "VP8", vp9: "VP9", opus: "Opus" };

/** Supported tracks are sent unchanged. Throws OutputError for others. */
export function checkTracks({ video, audio }: LiveTracks): void {
  for (const [word, codec] of [
    ["video", video?.codec],
    ["audio", audio?.codec],
  ]) {
    if (codec !== undefined && !SUPPORTED_CODECS.has(codec))
      throw new OutputError(
        `outputs require H.264 and AAC, but the ${word} of this broadcast is ${NAMES[codec] ?? codec}`,
      );
  }
}
