import type { LiveTracks, MediaPacket } from "../packets.ts";

/** Announces the tracks of a broadcast once all are known, and later changes immediately. */
interface TrackAnnouncer {
  /** Sets the tracks that the publisher announces. Default: both. */
  expect(kinds: { video: boolean; audio: boolean }): void;
  /** Call it when a track is known or has changed. */
  known(tracks: LiveTracks): void;
  write(packet: MediaPacket): void;
  end(): void;
}

/** Tracks that do not arrive within this time of the others are considered absent. */
const WAIT_US = 1_000_000;
const MAX_PACKETS = 500;
const MAX_OCTETS = 4 * 1024 * 1024;

/**
 * Announces all tracks together: otherwise each broadcast would begin with an audio-only or video-only run, because the
 * configurations arrive one after the other.
 */
export function createTrackAnnouncer({
  configure,
  write,
}: {
  configure(tracks: LiveTracks): void;
  write(packet: MediaPacket): void;
}): TrackAnnouncer {
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

  const isComplete = () =>
    (tracks.video !== undefined || !expected.video) && (tracks.audio !== undefined || !expected.audio);

  return {
    expect(kinds) {
      // An announcement without any tracks is ignored.
      if (kinds.video || kinds.audio) expected = kinds;
      if (isComplete()) begin();
    },
    known(now) {
      tracks = now;
      if (waiting === undefined) configure(tracks);
      else if (isComplete()) begin();
    },
    write(packet) {
      if (waiting === undefined) return write(packet);
      waiting.push(packet);
      octets += packet.data.length;
      if (packet.dts - waiting[0]!.dts > WAIT_US || waiting.length > MAX_PACKETS || octets > MAX_OCTETS) begin();
    },
    end: begin,
  };
}
