import { randomIds } from "../../../../kernel/index.ts";
import type { SrtConnection, SrtHandlers } from "../../../../protocol/srt/index.ts";
import { streamErrors } from "../../../errors.ts";
import type { LiveInputDirectory } from "../../inputs/port.ts";
import type { LiveSession, LiveSessions } from "../../session.ts";
import type { SrtCaller } from "./caller.ts";
import type { createSharedStreams } from "./shared-stream.ts";

export interface PlayerDeps {
  sessions: Pick<LiveSessions, "of">;
  inputs: Pick<LiveInputDirectory, "bySrtStreamId" | "onChange">;
  /** Counts viewers until the returned function is called. */
  viewers: { join(input: string, session: string, from?: { player: string }): () => void };
  streams: ReturnType<typeof createSharedStreams>;
}

/** Payload of one datagram: the usual seven transport stream packets. */
const DATAGRAM_BYTES = 7 * 188;

/** Rejects with UserError: liveInputDisabled, liveNotPublished. */
export function admitSrtPlayer(
  deps: PlayerDeps,
  caller: SrtCaller,
): Promise<(connection: SrtConnection) => SrtHandlers> {
  if (!caller.input.enabled) return Promise.reject(streamErrors.liveInputDisabled());
  const session = deps.sessions.of(caller.input.uid);
  if (session === undefined) return Promise.reject(streamErrors.liveNotPublished());
  return Promise.resolve((connection) => play(deps, caller, session, connection));
}

/**
 * Sends a broadcast from its last key frame onwards, until the broadcast ends, the player leaves, or its key is
 * revoked.
 */
function play(
  { inputs, viewers, streams }: PlayerDeps,
  { input, streamId, passphrase }: SrtCaller,
  session: LiveSession,
  connection: SrtConnection,
): SrtHandlers {
  const stream = streams.join(session);
  const leaveViewers = viewers.join(input.uid, randomIds.hex(), { player: "SRT" });
  /** The subscription may end before `unsubscribe` is assigned. */
  let unsubscribe = () => {};
  let isOver = false;
  const stopPlaying = () => {
    isOver = true;
    unsubscribe();
    stopListening();
    leaveViewers();
    stream.leave();
  };
  const end = (endMode: "close" | "finish") => {
    if (isOver) return;
    stopPlaying();
    connection[endMode]();
  };
  const check = () =>
    inputs.bySrtStreamId(streamId).then(
      (now) => {
        if (now === undefined || now.passphrase !== passphrase || !now.input.enabled) end("close");
        // A failed check is repeated at the next change.
      },
      () => {},
    );
  const stopListening = inputs.onChange((uid) => {
    if (uid === input.uid || uid === "") void check();
  });
  const subscription = session.subscribe({
    tracks: () => {},
    packet(packet) {
      const packets = stream.packetsOf(packet);
      if (packets === undefined) return;
      for (let offset = 0; offset < packets.length; offset += DATAGRAM_BYTES)
        connection.send(packets.subarray(offset, offset + DATAGRAM_BYTES));
    },
    end: () => end("finish"),
    lag: connection.waiting,
  });
  unsubscribe = subscription;
  if (isOver) subscription();
  // The key may have been revoked during the handshake.
  void check();
  return { data: () => {}, lost: () => {}, ended: stopPlaying };
}
