import type { LiveAudioTrack, LiveTracks, LiveVideoTrack, MediaPacket } from "../packets.ts";
import type { Publication } from "../publish.ts";

/** Names the tracks of a publisher as they turn out, before their packets. */
export interface TracksGate {
  video(track: LiveVideoTrack): void;
  audio(track: LiveAudioTrack): void;
  write(packet: MediaPacket): void;
  /** Some times a second. */
  tick(): void;
}

export interface TracksGateParts {
  /** What was negotiated: it may come, or not. */
  video: boolean;
  audio: boolean;
  publication: Publication;
  now(): number;
}

/** So long the first track waits for the other one: who comes later begins another run. */
const WAIT_MS = 1500;
/** A camera may take longer than a microphone; and until the first key frame has come there is no picture. */
const WAIT_FOR_PICTURES_MS = 4000;
/** What waits with it: some seconds of small packets. */
const MOST_WAITING = 500;

/** One run with both tracks, rather than one with the first and then another with both. */
export function createTracksGate({ video, audio, publication, now }: TracksGateParts): TracksGate {
  const tracks: LiveTracks = {};
  let waiting: MediaPacket[] | undefined = [];
  let since: number | undefined;

  function open(): void {
    publication.configure({ ...tracks });
    // Of sound that came before the first picture nobody has a use.
    const first =
      waiting!.find(({ kind }) => kind === "video")?.dts ?? (tracks.video === undefined ? -Infinity : Infinity);
    for (const packet of waiting!) if (packet.dts >= first) publication.write(packet);
    waiting = undefined;
  }

  function named(): void {
    since ??= now();
    if (waiting === undefined) publication.configure({ ...tracks });
    else if ((tracks.video !== undefined || !video) && (tracks.audio !== undefined || !audio)) open();
  }

  return {
    video(track) {
      tracks.video = track;
      // Of another size, or another configuration.
      waiting = waiting?.filter(({ kind }) => kind === "audio");
      named();
    },
    audio(track) {
      if (tracks.audio !== undefined) return;
      tracks.audio = track;
      named();
    },
    write(packet) {
      if (waiting === undefined) return publication.write(packet);
      waiting.push(packet);
      if (waiting.length > MOST_WAITING) waiting.shift();
    },
    tick() {
      if (waiting === undefined || since === undefined) return;
      if (now() - since > (tracks.video === undefined ? WAIT_FOR_PICTURES_MS : WAIT_MS)) open();
    },
  };
}
