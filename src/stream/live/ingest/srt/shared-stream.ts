import type { MediaPacket } from "../../packets.ts";
import type { LiveSession } from "../../session.ts";
import { createTsPlayer } from "./ts-player.ts";

/** The transport stream of a broadcast, written once for all its players. */
interface SharedStream {
  /** The packets of 188 octets for one frame; undefined if the stream does not contain it. */
  packetsOf(packet: MediaPacket): Buffer | undefined;
  /** Call it once, when the player has left. */
  leave(): void;
}

/** `now`: milliseconds of a monotonic clock. */
export function createSharedStreams({ now }: { now: () => number }): { join(session: LiveSession): SharedStream } {
  const openStreams = new WeakMap<LiveSession, ReturnType<typeof openStream>>();

  function openStream(session: LiveSession) {
    /** The entries live as long as the frames; the hub stores the frames since the last key frame. */
    const written = new WeakMap<MediaPacket, Buffer>();
    let latest: Buffer | undefined;
    const writer = createTsPlayer({ now, write: (packets) => (latest = packets) });
    // The hub calls subscribers in order of subscription: this one has written a frame before the players ask for it.
    const stop = session.subscribe({
      tracks: writer.tracks,
      packet(packet) {
        latest = undefined;
        writer.packet(packet);
        if (latest !== undefined) written.set(packet, latest);
      },
      end: () => {},
    });
    return { written, stop, players: 0 };
  }

  return {
    join(session) {
      const stream = openStreams.get(session) ?? openStream(session);
      openStreams.set(session, stream);
      stream.players++;
      return {
        packetsOf: (packet) => stream.written.get(packet),
        leave() {
          if (--stream.players > 0) return;
          openStreams.delete(session);
          stream.stop();
        },
      };
    },
  };
}
