/** Measurements of a track's packets. In seconds on the file's timeline, whose zero is the start of the file. */
export interface TrackScan {
  packets: number;
  octets: number;
  /** Start of the first packet and end of the last one, in presentation time. */
  start: number;
  end: number;
  /** Longest time from one key packet to the next, or to the end. */
  keyframeInterval: number;
  /** True if the first packet is a key packet. */
  startsWithKeyFrame: boolean;
  cadence: Cadence;
}

/** Distances between packets in decoding order, which have the same rhythm as the presentation. */
export interface Cadence {
  /**
   * Packets per second if they are spaced at one distance or multiples of it, as with dropped frames; undefined if
   * irregular.
   */
  rate?: number;
  /** Average packets per second. */
  average: number;
  /** A rate that at least a quarter of the packets reach. */
  upperQuartileRate: number;
  /** Relative uncertainty of `rate`. */
  uncertainty: number;
}

/** In the track's timescale. */
interface Packet {
  pts: number;
  /** Undefined if unknown. */
  dts: number | undefined;
  /** 0 if unknown. */
  duration: number;
  octets: number;
  key: boolean;
}

interface TrackScanner {
  add(packet: Packet): void;
  /** Undefined if there are no packets. `tick` and `origin` are in seconds. */
  result(tick: number, origin: number): TrackScan | undefined;
}

/** Maximum number of distinct distances; a track with more is irregular. */
const MAX_DISTANCES = 512;
/** Minimum share of the distances that must fit for a regular rhythm. */
const MIN_RHYTHMIC_SHARE = 0.98;

/** Reads packets once and stores only a few numbers, however many packets there are. */
export function createTrackScanner(): TrackScanner {
  const distances = new Map<number, number>();
  let [packets, octets, irregularDistances] = [0, 0, 0];
  let [start, end, lastShown] = [Infinity, -Infinity, -Infinity];
  let [firstDecoded, lastDecoded, decodedCount]: [number | undefined, number, number] = [undefined, 0, 0];
  let lastKey: number | undefined;
  let longestGop = 0;
  let startsWithKeyFrame = false;

  function addDistance(distance: number) {
    const before = distances.get(distance);
    if (before === undefined && distances.size >= MAX_DISTANCES) irregularDistances++;
    else distances.set(distance, (before ?? 0) + 1);
  }

  function trackDecodeTime(decoded: number) {
    if (firstDecoded === undefined) firstDecoded = decoded;
    else if (decoded <= lastDecoded) return;
    else addDistance(decoded - lastDecoded);
    lastDecoded = decoded;
    decodedCount++;
  }

  return {
    add({ pts, dts, duration, octets: size, key }) {
      if (packets === 0) startsWithKeyFrame = key;
      packets++;
      octets += size;
      if (dts !== undefined) trackDecodeTime(dts);
      start = Math.min(start, pts);
      lastShown = Math.max(lastShown, pts);
      if (duration > 0) end = Math.max(end, pts + duration);
      if (key) {
        if (lastKey !== undefined) longestGop = Math.max(longestGop, pts - lastKey);
        lastKey = pts;
      }
    },
    result(tick, origin) {
      if (packets === 0) return undefined;
      // In some containers the last packet has no duration: the usual one is assumed.
      const endTime = end > lastShown ? end : lastShown + (mostCommonDistance(distances) ?? 0);
      const mean = decodedCount > 1 ? (lastDecoded - firstDecoded!) / (decodedCount - 1) : (endTime - start) / packets;
      return {
        packets,
        octets,
        start: start * tick - origin,
        end: endTime * tick - origin,
        startsWithKeyFrame,
        keyframeInterval: Math.max(longestGop, endTime - (lastKey ?? start)) * tick,
        cadence: cadenceOf(distances, irregularDistances, mean, tick),
      };
    },
  };
}

function mostCommonDistance(distances: ReadonlyMap<number, number>): number | undefined {
  return [...distances].reduce<[number, number] | undefined>(
    (mostCommon, entry) => (mostCommon === undefined || entry[1] > mostCommon[1] ? entry : mostCommon),
    undefined,
  )?.[0];
}

function cadenceOf(
  distances: ReadonlyMap<number, number>,
  irregularDistances: number,
  mean: number,
  tick: number,
): Cadence {
  const total = [...distances.values()].reduce((sum, count) => sum + count, irregularDistances);
  const average = mean > 0 ? 1 / (mean * tick) : 0;
  if (total === 0) return { average, upperQuartileRate: average, uncertainty: 1 };
  const sorted = [...distances].sort(([a], [b]) => a - b);
  const upperQuartileRate = 1 / (atShare(sorted, total, 0.25) * tick);
  const base = mostCommonDistance(distances)!;
  // Timestamps are rounded to ticks (a millisecond in Matroska) at both ends of a distance.
  const slack = Math.max(1.5, base * 0.02);
  let [countedPackets, rhythmicPackets, sum] = [0, 0, 0];
  for (const [distance, count] of sorted) {
    const steps = Math.round(distance / base);
    if (steps < 1 || Math.abs(distance - steps * base) > slack * Math.sqrt(steps)) continue;
    rhythmicPackets += count;
    countedPackets += count * steps;
    sum += distance * count;
  }
  if (rhythmicPackets < total * MIN_RHYTHMIC_SHARE) return { average, upperQuartileRate, uncertainty: 1 };
  return { rate: countedPackets / (sum * tick), average, upperQuartileRate, uncertainty: 1.5 / Math.max(sum, 1) };
}

function atShare(sorted: [number, number][], total: number, share: number): number {
  let seenPackets = 0;
  for (const [distance, count] of sorted) {
    seenPackets += count;
    if (seenPackets >= total * share) return distance;
  }
  return sorted.at(-1)![0];
}
