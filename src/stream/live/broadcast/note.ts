import { UserError } from "../../../kernel/index.ts";
import type { LiveState } from "../inputs/port.ts";
import type { LiveTracks } from "../packets.ts";

/** The contract's word for the end of a session, by the reason of its signal. `waits`: the broadcast goes on if the publisher comes back. */
export function stateAfter(reason: unknown, waits: boolean): LiveState {
  const kind = reason instanceof UserError ? reason.kind : "";
  if (kind === "livePublisherSilent") return "ttl_exceeded";
  const lost = kind === "livePublisherLost" || kind === "liveShuttingDown";
  return lost && waits ? "reconnecting" : "client_disconnect";
}

/** Two that are alike are one configuration. */
export const describeTracks = ({ video, audio }: LiveTracks): string =>
  JSON.stringify([video, audio].map((track) => track && { ...track, config: track.config.toString("base64") }));
