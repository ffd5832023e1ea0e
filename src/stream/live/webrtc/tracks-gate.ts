import type { LiveAudioTrack, LiveTracks, LiveVideoTrack, MediaPacket } from "../packets.ts";
import type { Publication } from "../publish.ts";

/** Announces the actual tracks of a publisher before their packets. */
export interface TracksGate {
  video(track: LiveVideoTrack): void;
  audio(track: LiveAudioTrack): void;
  write(packet: MediaPacket): void;
  /** Call it a few times per second. */
  tick(): void;
}

interface TracksGateDeps {
  /** Negotiated tracks; they might never arrive. */
  video: boolean;
  audio: boolean;
  publication: Publication;
  now(): number;
}

/** How long the first track waits for the other one: a track that arrives later causes a discontinuity. */
const WAIT_MS = 1500;
/** A camera may take longer than a microphone, and video starts with the first key frame. */
const VIDEO_WAIT_MS = 4000;
/** Maximum buffered packets: a few seconds of small packets. */
const MAX_WAITING = 500;

/** Announces both tracks together, so that the second one does not cause a discontinuity. */
export function createTracksGate({ video, audio, publication, now }: TracksGateDeps): TracksGate {
  const tracks: LiveTracks = {};
  let waiting: MediaPacket[] | undefined = [];
  let waitingSince: number | undefined;

  function openGate(): void {
    publication.configure({ ...tracks });
    // Audio from before the first video frame is not needed.
    const first =
      waiting!.find(({ kind }) => kind === "video")?.dts ?? (tracks.video === undefined ? -Infinity : Infinity);
    for (const packet of waiting!) if (packet.dts >= first) publication.write(packet);
    waiting = undefined;
  }

  function announceTracks(): void {
    waitingSince ??= now();
    if (waiting === undefined) publication.configure({ ...tracks });
    else if ((tracks.video !== undefined || !video) && (tracks.audio !== undefined || !audio)) openGate();
  }

  return {
    video(track) {
      tracks.video = track;
      // The frame size or configuration has changed.
      waiting = waiting?.filter(({ kind }) => kind === "audio");
      announceTracks();
    },
    audio(track) {
      if (tracks.audio !== undefined) return;
      tracks.audio = track;
      announceTracks();
    },
    write(packet) {
      if (waiting === undefined) return publication.write(packet);
      waiting.push(packet);
      if (waiting.length > MAX_WAITING) waiting.shift();
    },
    tick() {
      if (waiting === undefined || waitingSince === undefined) return;
      if (now() - waitingSince > (tracks.video === undefined ? VIDEO_WAIT_MS : WAIT_MS)) openGate();
    },
  };
}
