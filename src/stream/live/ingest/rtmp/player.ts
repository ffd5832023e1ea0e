import { randomIds, UserError } from "../../../../kernel/index.ts";
import { CHUNK_STREAM, MESSAGE, type RtmpPeer } from "../../../../protocol/rtmp/index.ts";
import { streamErrors } from "../../../errors.ts";
import { createFlvSender } from "../../flv/send.ts";
import type { LiveInput, LiveInputDirectory } from "../../inputs/port.ts";
import type { LiveSession, LiveSessions } from "../../session.ts";
import { type RtmpResponses, MESSAGE_STREAM_ID } from "./commands.ts";

interface PlayerDeps {
  inputs: Pick<LiveInputDirectory, "byPlaybackKey" | "onChange">;
  sessions: Pick<LiveSessions, "of">;
}

export interface PlayerPorts extends PlayerDeps {
  /** Counts viewers until the returned function is called. If absent, viewers are not counted. */
  viewers?: { join(input: string, session: string, from?: { player: string }): () => void };
}

interface AdmittedPlayer {
  input: LiveInput;
  session: LiveSession;
}

/** Rejects with UserError: liveKeyUnknown, liveInputDisabled, liveNotPublished. */
export async function admitRtmpPlayer({ inputs, sessions }: PlayerDeps, key: string): Promise<AdmittedPlayer> {
  const input = await inputs.byPlaybackKey(key);
  if (input === undefined) throw streamErrors.liveKeyUnknown();
  if (!input.enabled) throw streamErrors.liveInputDisabled();
  const session = sessions.of(input.uid);
  if (session === undefined) throw streamErrors.liveNotPublished();
  return { input, session };
}

interface PlayingOptions extends PlayerPorts, AdmittedPlayer {
  key: string;
  peer: RtmpPeer;
  responses: RtmpResponses;
  /** Returns the number of octets queued for the client. */
  queuedOctets(): number;
  /** Called when the broadcast has ended (undefined), or when the player's authorization has been revoked. */
  onEnd(reason: UserError | undefined): void;
}

/** Sends a broadcast to one player, from the last key frame onwards. Returns a function that ends playback. */
export function startPlayback({
  inputs,
  viewers,
  session,
  sessions,
  input,
  key,
  peer,
  responses,
  queuedOctets,
  onEnd,
}: PlayingOptions): () => void {
  const sender = createFlvSender({
    metadata: responses.metadata,
    send: ({ type, time, head, data }) =>
      peer.send(
        type === MESSAGE.audio ? CHUNK_STREAM.audio : CHUNK_STREAM.video,
        { type, stream: MESSAGE_STREAM_ID, time, data },
        head,
      ),
  });
  const leaveViewers = viewers?.join(input.uid, randomIds.hex(), { player: "RTMP" });
  let isOver = false;
  const end = (reason: UserError | undefined, notify = true) => {
    if (isOver) return;
    isOver = true;
    unsubscribe();
    stopListening();
    leaveViewers?.();
    if (notify) onEnd(reason);
  };
  /** The subscription may end before `unsubscribe` is assigned. */
  let unsubscribe = () => {};
  const stopListening = inputs.onChange((uid) => {
    if (uid !== input.uid && uid !== "") return;
    admitRtmpPlayer({ inputs, sessions }, key).then(
      (now) => now.input.uid !== input.uid && end(streamErrors.liveKeyRevoked()),
      (err: unknown) => {
        // The session itself reports its end.
        if (err instanceof UserError && err.kind !== "liveNotPublished")
          end(err.kind === "liveKeyUnknown" ? streamErrors.liveKeyRevoked() : err);
      },
    );
  });
  const subscription = session.subscribe({
    tracks: sender.tracks,
    packet: sender.packet,
    end: () => end(undefined),
    lag: queuedOctets,
  });
  unsubscribe = subscription;
  if (isOver) subscription();
  return () => end(undefined, false);
}
