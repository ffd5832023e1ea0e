import type { MediaPacket } from "../packets.ts";

/** Whatever clock a publisher has, the times of a run begin at zero and go on without steps back. */
export interface Times {
  /** The packet with its times on the timeline of a run; undefined: it has no place on it. */
  place(packet: MediaPacket): Placed | undefined;
  /** The packets that follow are of another run, which begins with the next key frame. */
  restart(kinds: Kinds): void;
}

export interface Kinds {
  video: boolean;
  audio: boolean;
}

export interface Placed {
  packet: MediaPacket;
  /** It is the first of a run, which has these tracks: one that was announced and does not come is left out. */
  begins?: Kinds;
}

interface Line {
  /** What is taken from the publisher's times, in microseconds. */
  offset: number;
  /** Decoding time of the last packet on the timeline of the run. */
  last: number;
  /** How long it has gone on without the other track; a gap counts for a second at most, as it may be one of both. */
  alone: number;
}

const SECOND = 1_000_000;
/** Steps of the clock that another run begins with; smaller ones are evened out. */
const BACK = 2 * SECOND;
const FORWARD = 10 * SECOND;
/** How far the first packets of sound and picture may be apart for their clocks to be one. */
const APART = 10 * SECOND;
/** So long one track goes on alone before the other is held to be gone. Of pictures more: there are cameras with one every few seconds. */
const MOST_OF_A_GAP = SECOND;
const GONE = { video: 10 * SECOND, audio: 5 * SECOND };
/** No picture waits longer to be shown. */
const LONGEST_DELAY = 10 * SECOND;

export function createTimes(announced: Kinds): Times {
  let all = announced;
  /** Of the run; undefined before it begins. */
  let kinds: Kinds | undefined;
  let base = 0;
  let lines: Partial<Record<MediaPacket["kind"], Line>> = {};
  /** Of sound that waits for a first picture. */
  let waitingSince: number | undefined;
  /** Sound has come back: the next key frame begins a run with it. */
  let pending = false;

  const latest = () => Math.max(0, lines.video?.last ?? 0, lines.audio?.last ?? 0);

  function begin(packet: MediaPacket, has: Kinds): Placed {
    kinds = has;
    base = packet.dts;
    lines = { [packet.kind]: { offset: base, last: 0, alone: 0 } };
    waitingSince = undefined;
    pending = false;
    return { packet: { ...packet, dts: 0, pts: delayed(0, packet.pts - base) }, begins: has };
  }

  function first(packet: MediaPacket): Placed | undefined {
    if (packet.kind === "video") return packet.key ? begin(packet, all) : undefined;
    if (!all.video) return begin(packet, all);
    // A run begins with a picture; without any in sight sound is better than nothing.
    waitingSince ??= packet.dts;
    if (packet.dts < waitingSince) waitingSince = packet.dts;
    return packet.dts - waitingSince > GONE.video ? begin(packet, { video: false, audio: true }) : undefined;
  }

  /** The offset of a track whose first packet of the run this is. Undefined: it belongs before the run. */
  function lineOf(packet: MediaPacket): Line | undefined {
    const time = packet.dts - base;
    const now = latest();
    // Clocks that have nothing to do with each other: by arrival, then.
    if (Math.abs(time - now) > APART) return { offset: packet.dts - now, last: now, alone: 0 };
    return time < 0 ? undefined : { offset: base, last: time, alone: 0 };
  }

  function onRun(packet: MediaPacket): Placed | undefined {
    const { kind } = packet;
    if (!kinds![kind]) {
      // It has come (back): from the next key frame on there is another run with it.
      if (kind === "video") return packet.key ? begin(packet, all) : undefined;
      pending = true;
      return undefined;
    }
    let line = lines[kind] ?? lineOf(packet);
    if (line === undefined) return undefined;
    let time = packet.dts - line.offset;
    if (time < line.last - BACK || time > latest() + FORWARD) {
      if (kind === "video" || !kinds!.video) return jumped(packet);
      // Of sound alone: where the picture is. If its clock has jumped too, it comes next and begins another run.
      const now = latest();
      line = { ...line, offset: packet.dts - now };
      time = now;
    }
    time = Math.max(time, line.last);
    const other = kind === "video" ? "audio" : "video";
    line.alone += Math.min(time - line.last, MOST_OF_A_GAP);
    if (lines[other] !== undefined) lines[other].alone = 0;
    if (kinds![other] && line.alone > GONE[other]) {
      if (kind === "audio") return begin(packet, { video: false, audio: true });
      if (packet.key) return begin(packet, { video: true, audio: false });
    }
    if (kind === "video" && packet.key && pending) return begin(packet, all);
    line.last = time;
    lines[kind] = line;
    return { packet: { ...packet, dts: time, pts: delayed(time, packet.pts - line.offset) } };
  }

  function jumped(packet: MediaPacket): Placed | undefined {
    kinds = undefined;
    return first(packet);
  }

  return {
    place(packet) {
      if (!Number.isFinite(packet.dts) || !Number.isFinite(packet.pts)) return undefined;
      return kinds === undefined ? first(packet) : onRun(packet);
    },
    restart(next) {
      all = next;
      kinds = undefined;
      pending = false;
      waitingSince = undefined;
    },
  };
}

/** When it is shown: never before it is decoded, and not much later. */
const delayed = (dts: number, pts: number) => (pts < dts || pts > dts + LONGEST_DELAY ? dts : pts);
