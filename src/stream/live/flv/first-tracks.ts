import type { LiveTracks, MediaPacket } from "../packets.ts";

/** Tells the tracks of a broadcast once all of them are known, and of changes at once. */
export interface FirstTracks {
  /** What the publisher says that it will send. Default: both. */
  expect(kinds: { video: boolean; audio: boolean }): void;
  /** A track is known that was not, or is another now. */
  known(tracks: LiveTracks): void;
  write(packet: MediaPacket): void;
  end(): void;
}

/** Tracks that do not come within so much of the others are held to be none. */
const WAIT_US = 1_000_000;
const MOST_PACKETS = 500;
const MOST_OCTETS = 4 * 1024 * 1024;

/** Without it each broadcast would begin with a run of sound alone, or of pictures alone: their configurations come one after the other. */
export function createFirstTracks({
  configure,
  write,
}: {
  configure(tracks: LiveTracks): void;
  write(packet: MediaPacket): void;
}): FirstTracks {
  let expected = { video: true, audio: true };
  let tracks: LiveTracks = {};
  let waiting: MediaPacket[] | undefined = [];
  let octets = 0;

  function begin() {
    if (waiting === undefined || (tracks.video === undefined && tracks.audio === undefined)) return;
    const packets = waiting;
    waiting = undefined;
    configure(tracks);
    packets.forEach(write);
  }

  const complete = () =>
    (tracks.video !== undefined || !expected.video) && (tracks.audio !== undefined || !expected.audio);

  return {
    expect(kinds) {
      // Somebody who says that nothing comes is not believed.
      if (kinds.video || kinds.audio) expected = kinds;
      if (complete()) begin();
    },
    known(now) {
      tracks = now;
      if (waiting === undefined) configure(tracks);
      else if (complete()) begin();
    },
    write(packet) {
      if (waiting === undefined) return write(packet);
      waiting.push(packet);
      octets += packet.data.length;
      if (packet.dts - waiting[0]!.dts > WAIT_US || waiting.length > MOST_PACKETS || octets > MOST_OCTETS) begin();
    },
    end: begin,
  };
}
