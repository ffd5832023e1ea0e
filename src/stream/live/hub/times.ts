import type { MediaPacket } from "../packets.ts";

/** Maps any publisher clock to run times that start at zero and never decrease. */
interface TimestampNormalizer {
  /** Returns the packet with its times on the run timeline; undefined if it must be dropped. */
  normalize(packet: MediaPacket): NormalizedPacket | undefined;
  /** Makes the next key frame a discontinuity, which begins another run. */
  restart(kinds: Kinds): void;
}

interface Kinds {
  video: boolean;
  audio: boolean;
}

interface NormalizedPacket {
  packet: MediaPacket;
  /**
   * Set on the first packet of a run, with the tracks of the run: an announced track that does not arrive is omitted.
   */
  startsRun?: Kinds;
}

interface TrackState {
  /** Subtracted from the publisher's times, in microseconds. */
  offset: number;
  /** Decoding time of the last packet on the run timeline. */
  last: number;
  /**
   * How long this track has continued without the other one; a gap counts as one second at most, since both tracks may
   * have it.
   */
  aloneUs: number;
}

const SECOND_US = 1_000_000;
/** Clock steps that cause a discontinuity; smaller ones are smoothed. */
const MAX_BACK_US = 2 * SECOND_US;
const MAX_FORWARD_US = 10 * SECOND_US;
/** Maximum distance between the first audio and video packets if they share a clock. */
const MAX_TRACK_OFFSET_US = 10 * SECOND_US;
/**
 * How long one track continues alone before the other one counts as absent. Longer for video: some cameras send a frame
 * every few seconds.
 */
const MAX_GAP_US = SECOND_US;
const ABSENT_AFTER_US = { video: 10 * SECOND_US, audio: 5 * SECOND_US };
/** Maximum presentation delay of a frame. */
const MAX_DELAY_US = 10 * SECOND_US;

export function createTimestampNormalizer(announcedKinds: Kinds): TimestampNormalizer {
  let expectedKinds = announcedKinds;
  /** Tracks of the run; undefined before it begins. */
  let kinds: Kinds | undefined;
  let base = 0;
  let lines: Partial<Record<MediaPacket["kind"], TrackState>> = {};
  /** Start of the audio that is waiting for a first video frame. */
  let waitingSince: number | undefined;
  /** Audio has returned: the next key frame begins a run with it. */
  let isPending = false;

  const latest = () => Math.max(0, lines.video?.last ?? 0, lines.audio?.last ?? 0);

  function begin(packet: MediaPacket, runKinds: Kinds): NormalizedPacket {
    kinds = runKinds;
    base = packet.dts;
    lines = { [packet.kind]: { offset: base, last: 0, aloneUs: 0 } };
    waitingSince = undefined;
    isPending = false;
    return { packet: { ...packet, dts: 0, pts: clampPts(0, packet.pts - base) }, startsRun: runKinds };
  }

  function handleFirst(packet: MediaPacket): NormalizedPacket | undefined {
    if (packet.kind === "video") return packet.key ? begin(packet, expectedKinds) : undefined;
    if (!expectedKinds.video) return begin(packet, expectedKinds);
    // A run begins with video; if none arrives, with audio.
    waitingSince ??= packet.dts;
    if (packet.dts < waitingSince) waitingSince = packet.dts;
    return packet.dts - waitingSince > ABSENT_AFTER_US.video ? begin(packet, { video: false, audio: true }) : undefined;
  }

  /** Returns the offset of a track, from its first packet in the run. Undefined if the packet precedes the run. */
  function lineOf(packet: MediaPacket): TrackState | undefined {
    const time = packet.dts - base;
    const now = latest();
    // Unrelated clocks: align by arrival.
    if (Math.abs(time - now) > MAX_TRACK_OFFSET_US) return { offset: packet.dts - now, last: now, aloneUs: 0 };
    return time < 0 ? undefined : { offset: base, last: time, aloneUs: 0 };
  }

  function normalizePacket(packet: MediaPacket): NormalizedPacket | undefined {
    const { kind } = packet;
    if (!kinds![kind]) {
      // The track has arrived or returned: the next key frame begins another run with it.
      if (kind === "video") return packet.key ? begin(packet, expectedKinds) : undefined;
      isPending = true;
      return undefined;
    }
    let trackState = lines[kind] ?? lineOf(packet);
    if (trackState === undefined) return undefined;
    let time = packet.dts - trackState.offset;
    if (time < trackState.last - MAX_BACK_US || time > latest() + MAX_FORWARD_US) {
      if (kind === "video" || !kinds!.video) return handleJump(packet);
      // Audio only: moves audio to the video time. If the video clock has jumped too, its next packet begins another
      // run.
      const now = latest();
      trackState = { ...trackState, offset: packet.dts - now };
      time = now;
    }
    time = Math.max(time, trackState.last);
    const otherKind = kind === "video" ? "audio" : "video";
    trackState.aloneUs += Math.min(time - trackState.last, MAX_GAP_US);
    if (lines[otherKind] !== undefined) lines[otherKind].aloneUs = 0;
    if (kinds![otherKind] && trackState.aloneUs > ABSENT_AFTER_US[otherKind]) {
      if (kind === "audio") return begin(packet, { video: false, audio: true });
      if (packet.key) return begin(packet, { video: true, audio: false });
    }
    if (kind === "video" && packet.key && isPending) return begin(packet, expectedKinds);
    trackState.last = time;
    lines[kind] = trackState;
    return { packet: { ...packet, dts: time, pts: clampPts(time, packet.pts - trackState.offset) } };
  }

  function handleJump(packet: MediaPacket): NormalizedPacket | undefined {
    kinds = undefined;
    return handleFirst(packet);
  }

  return {
    normalize(packet) {
      if (!Number.isFinite(packet.dts) || !Number.isFinite(packet.pts)) return undefined;
      return kinds === undefined ? handleFirst(packet) : normalizePacket(packet);
    },
    restart(next) {
      expectedKinds = next;
      kinds = undefined;
      isPending = false;
      waitingSince = undefined;
    },
  };
}

/** Returns the presentation time: never before decoding, and never much later. */
const clampPts = (dts: number, pts: number) => (pts < dts || pts > dts + MAX_DELAY_US ? dts : pts);
