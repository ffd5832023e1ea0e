/** What the packets of a track tell. Seconds on the timeline of the file, whose zero is where the file begins. */
export interface TrackScan {
  packets: number;
  octets: number;
  /** When the first is shown, and when the last one is over. */
  start: number;
  end: number;
  /** Longest time from one packet that needs no other to the next, or to the end. */
  keyframeInterval: number;
  /** Whether the first packet is such a one. */
  beginsWithKey: boolean;
  cadence: Cadence;
}

/** From one packet to the next, in the order of decoding, which is the rhythm of showing as well. */
export interface Cadence {
  /** Packets a second where they come at one distance, or at multiples of it as where frames were left out; undefined: without a rhythm. */
  rate?: number;
  /** Packets a second, all in all. */
  average: number;
  /** A rate that a quarter of the packets keep up or exceed. */
  brisk: number;
  /** How exactly `rate` is known, as a share of it. */
  uncertainty: number;
}

/** In ticks of the track. */
export interface Packet {
  shown: number;
  /** Undefined: not told. */
  decoded: number | undefined;
  /** 0: not told. */
  duration: number;
  octets: number;
  key: boolean;
}

export interface TrackScanner {
  add(packet: Packet): void;
  /** Undefined without packets. `tick` and `zero` in seconds. */
  result(tick: number, zero: number): TrackScan | undefined;
}

/** Different distances that are told apart; more than that is no rhythm. */
const MOST_DISTANCES = 512;
/** Of all distances, so many make a rhythm. */
const RHYTHMIC = 0.98;

/** Goes through packets once and keeps a few numbers, however many there are. */
export function createTrackScanner(): TrackScanner {
  const distances = new Map<number, number>();
  let [packets, octets, others] = [0, 0, 0];
  let [start, end, lastShown] = [Infinity, -Infinity, -Infinity];
  let [firstDecoded, lastDecoded, decodings]: [number | undefined, number, number] = [undefined, 0, 0];
  let lastKey: number | undefined;
  let longest = 0;
  let beginsWithKey = false;

  function addDistance(distance: number) {
    const before = distances.get(distance);
    if (before === undefined && distances.size >= MOST_DISTANCES) others++;
    else distances.set(distance, (before ?? 0) + 1);
  }

  function follow(decoded: number) {
    if (firstDecoded === undefined) firstDecoded = decoded;
    else if (decoded <= lastDecoded) return;
    else addDistance(decoded - lastDecoded);
    lastDecoded = decoded;
    decodings++;
  }

  return {
    add({ shown, decoded, duration, octets: size, key }) {
      if (packets === 0) beginsWithKey = key;
      packets++;
      octets += size;
      if (decoded !== undefined) follow(decoded);
      start = Math.min(start, shown);
      lastShown = Math.max(lastShown, shown);
      if (duration > 0) end = Math.max(end, shown + duration);
      if (key) {
        if (lastKey !== undefined) longest = Math.max(longest, shown - lastKey);
        lastKey = shown;
      }
    },
    result(tick, zero) {
      if (packets === 0) return undefined;
      // The last packet of some containers does not say how long it is: as long as the others, then.
      const over = end > lastShown ? end : lastShown + (usual(distances) ?? 0);
      const mean = decodings > 1 ? (lastDecoded - firstDecoded!) / (decodings - 1) : (over - start) / packets;
      return {
        packets,
        octets,
        start: start * tick - zero,
        end: over * tick - zero,
        beginsWithKey,
        keyframeInterval: Math.max(longest, over - (lastKey ?? start)) * tick,
        cadence: cadenceOf(distances, others, mean, tick),
      };
    },
  };
}

function usual(distances: ReadonlyMap<number, number>): number | undefined {
  return [...distances].reduce<[number, number] | undefined>(
    (most, entry) => (most === undefined || entry[1] > most[1] ? entry : most),
    undefined,
  )?.[0];
}

function cadenceOf(distances: ReadonlyMap<number, number>, others: number, mean: number, tick: number): Cadence {
  const total = [...distances.values()].reduce((sum, count) => sum + count, others);
  const average = mean > 0 ? 1 / (mean * tick) : 0;
  if (total === 0) return { average, brisk: average, uncertainty: 1 };
  const sorted = [...distances].sort(([a], [b]) => a - b);
  const brisk = 1 / (atShare(sorted, total, 0.25) * tick);
  const base = usual(distances)!;
  // Timestamps are rounded to ticks (a millisecond in Matroska), and both ends of a distance are.
  const slack = Math.max(1.5, base * 0.02);
  let [counted, inRhythm, sum] = [0, 0, 0];
  for (const [distance, count] of sorted) {
    const steps = Math.round(distance / base);
    if (steps < 1 || Math.abs(distance - steps * base) > slack * Math.sqrt(steps)) continue;
    inRhythm += count;
    counted += count * steps;
    sum += distance * count;
  }
  if (inRhythm < total * RHYTHMIC) return { average, brisk, uncertainty: 1 };
  return { rate: counted / (sum * tick), average, brisk, uncertainty: 1.5 / Math.max(sum, 1) };
}

function atShare(sorted: [number, number][], total: number, share: number): number {
  let seen = 0;
  for (const [distance, count] of sorted) {
    seen += count;
    if (seen >= total * share) return distance;
  }
  return sorted.at(-1)![0];
}
