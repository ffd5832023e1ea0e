import type { LiveHealth } from "../session.ts";
import type { MediaPacket } from "../packets.ts";

/** Measures incoming packets. */
interface Meter {
  packet(packet: MediaPacket): void;
  /** Call it when another run begins, whose times restart. */
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

const SECOND_US = 1_000_000;
const KEPT_SECONDS = 10;

/**
 * `now`: epoch milliseconds. Rates cover the last ten whole seconds of the publisher's clock, so network bursts do not
 * count.
 */
export function createMeter(now: () => number): Meter {
  let seconds = new Map<number, Second>();
  /** The last second that was counted. */
  let counted = -1;
  let second: Second = { video: 0, audio: 0, pictures: 0 };
  let receivedAt = now();
  let keyAt: number | undefined;
  let videoAt = 0;
  let interval = 0;
  let longestInterval = 0;
  let dropped = 0;
  let lost = 0;
  let hasBFrames = false;

  function secondOf(time: number): Second {
    const n = Math.floor(time / SECOND_US);
    if (n === counted) return second;
    counted = n;
    return (second = seconds.getOrInsertComputed(n, () => {
      for (const old of seconds.keys()) if (old < n - KEPT_SECONDS) seconds.delete(old);
      return { video: 0, audio: 0, pictures: 0 };
    }));
  }

  function key(time: number) {
    if (keyAt !== undefined) {
      interval = (time - keyAt) / SECOND_US;
      longestInterval = Math.max(longestInterval, interval);
    }
    keyAt = time;
  }

  function rates() {
    // If the publisher has sent nothing for this long, its rates are zero.
    if (now() - receivedAt > KEPT_SECONDS * 1000) return { video: 0, audio: 0, pictures: 0 };
    const last = Math.max(...seconds.keys(), 0);
    const fullSeconds = [...seconds].filter(([n]) => n < last && n >= last - KEPT_SECONDS);
    const counted = fullSeconds.length > 0 ? fullSeconds : [...seconds];
    const span = Math.max(1, fullSeconds.length > 0 ? last - Math.min(...fullSeconds.map(([n]) => n)) : 1);
    const sum = (field: keyof Second) => counted.reduce((total, [, second]) => total + second[field], 0) / span;
    return { video: sum("video") * 8, audio: sum("audio") * 8, pictures: sum("pictures") };
  }

  return {
    packet({ kind, dts, pts, key: isKey, data }) {
      receivedAt = now();
      const second = secondOf(dts);
      if (kind === "audio") {
        second.audio += data.length;
        return;
      }
      second.video += data.length;
      second.pictures++;
      videoAt = dts;
      if (pts > dts) hasBFrames = true;
      if (isKey) key(dts);
    },
    restart() {
      seconds = new Map();
      counted = -1;
      keyAt = undefined;
      interval = videoAt = 0;
      hasBFrames = false;
    },
    dropped: (packets = 1) => void (dropped += packets),
    lost: (packets) => void (lost += packets),
    sinceKey: () => (keyAt === undefined ? 0 : Math.max(0, videoAt - keyAt) / SECOND_US),
    health() {
      const { video, audio, pictures } = rates();
      return {
        videoBitrate: Math.round(video),
        audioBitrate: Math.round(audio),
        frameRate: Math.round(pictures * 100) / 100,
        keyFrameInterval: interval,
        longestKeyFrameInterval: longestInterval,
        dropped,
        lost,
        bFrames: hasBFrames,
      };
    },
  };
}
