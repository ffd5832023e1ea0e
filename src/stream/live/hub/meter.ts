import type { LiveHealth } from "../session.ts";
import type { MediaPacket } from "../packets.ts";

/** Measures incoming packets. */
interface Meter {
  packet(packet: MediaPacket): void;
  /** Another run begins: its times restart. */
  restart(): void;
  dropped(packets?: number): void;
  lost(packets: number): void;
  /** Seconds since the last key frame, on the publisher's clock. */
  sinceKey(): number;
  health(): Omit<LiveHealth, "problems" | "notes">;
}

interface Second {
  video: number;
  audio: number;
  pictures: number;
}

const SECOND = 1_000_000;
const KEPT = 10;

/**
 * `now`: epoch milliseconds. Rates cover the last ten whole seconds of the publisher's clock, so network bursts do not
 * count.
 */
export function createMeter(now: () => number): Meter {
  let seconds = new Map<number, Second>();
  /** The last second that was counted. */
  let counted = -1;
  let second: Second = { video: 0, audio: 0, pictures: 0 };
  let received = now();
  let keyAt: number | undefined;
  let videoAt = 0;
  let interval = 0;
  let longest = 0;
  let dropped = 0;
  let lost = 0;
  let bFrames = false;

  function secondOf(time: number): Second {
    const n = Math.floor(time / SECOND);
    if (n === counted) return second;
    counted = n;
    return (second = seconds.getOrInsertComputed(n, () => {
      for (const old of seconds.keys()) if (old < n - KEPT) seconds.delete(old);
      return { video: 0, audio: 0, pictures: 0 };
    }));
  }

  function key(time: number) {
    if (keyAt !== undefined) {
      interval = (time - keyAt) / SECOND;
      longest = Math.max(longest, interval);
    }
    keyAt = time;
  }

  function rates() {
    // The rates of a publisher silent for this long are zero.
    if (now() - received > KEPT * 1000) return { video: 0, audio: 0, pictures: 0 };
    const last = Math.max(...seconds.keys(), 0);
    const whole = [...seconds].filter(([n]) => n < last && n >= last - KEPT);
    const counted = whole.length > 0 ? whole : [...seconds];
    const span = Math.max(1, whole.length > 0 ? last - Math.min(...whole.map(([n]) => n)) : 1);
    const sum = (of: keyof Second) => counted.reduce((total, [, second]) => total + second[of], 0) / span;
    return { video: sum("video") * 8, audio: sum("audio") * 8, pictures: sum("pictures") };
  }

  return {
    packet({ kind, dts, pts, key: isKey, data }) {
      received = now();
      const second = secondOf(dts);
      if (kind === "audio") {
        second.audio += data.length;
        return;
      }
      second.video += data.length;
      second.pictures++;
      videoAt = dts;
      if (pts > dts) bFrames = true;
      if (isKey) key(dts);
    },
    restart() {
      seconds = new Map();
      counted = -1;
      keyAt = undefined;
      interval = videoAt = 0;
      bFrames = false;
    },
    dropped: (packets = 1) => void (dropped += packets),
    lost: (packets) => void (lost += packets),
    sinceKey: () => (keyAt === undefined ? 0 : Math.max(0, videoAt - keyAt) / SECOND),
    health() {
      const { video, audio, pictures } = rates();
      return {
        videoBitrate: Math.round(video),
        audioBitrate: Math.round(audio),
        frameRate: Math.round(pictures * 100) / 100,
        keyFrameInterval: interval,
        longestKeyFrameInterval: longest,
        dropped,
        lost,
        bFrames,
      };
    },
  };
}
