import { UserError } from "../../../kernel/index.ts";
import type { LiveState } from "../inputs/port.ts";
import type { LiveTracks } from "../packets.ts";

/**
 * API state for the end of a session, derived from the reason of its signal. `isWaiting`: the broadcast continues if
 * the publisher reconnects.
 */
export function stateAfter(reason: unknown, isWaiting: boolean): LiveState {
  const kind = reason instanceof UserError ? reason.kind : "";
  if (kind === "livePublisherSilent") return "ttl_exceeded";
  const isInterruption = kind === "livePublisherLost" || kind === "liveShuttingDown";
  return isInterruption && isWaiting ? "reconnecting" : "client_disconnect";
}

/** Equal descriptions mean the same configuration. */
export const describeTracks = ({ video, audio }: LiveTracks): string =>
  JSON.stringify([video, audio].map((track) => track && { ...track, config: track.config.toString("base64") }));
