/** Converts timestamps of one track of a publisher. */
interface TrackClock {
  /**
   * Microseconds since the first packet of any track; never decreases. `timestamp` continues beyond 32 bits; `now`:
   * milliseconds of any monotonic clock.
   */
  time(timestamp: number, now: number): number;
  /** Adds a sender report (RFC 3550, 6.4.1): when the sender's clock showed `ntpMs`, its media was at `timestamp`. */
  report(ntpMs: number, timestamp: number): void;
}

interface PublisherClocks {
  /** `rate`: ticks per second. */
  video(rate: number): TrackClock;
  audio(rate: number): TrackClock;
}

/** Maximum correction of audio per second until it matches the video: five percent is inaudible. */
const SLEW_RATE = 0.05;
/** Larger offsets are corrected in one step. */
const JUMP_US = 1_000_000;
/**
 * Timestamps that jump back further than late packets can indicate a restart: the source was replaced without notice.
 */
const MAX_BACK_US = 2_000_000;

interface State {
  rate: number;
  /** Time of timestamp zero. */
  offset: number | undefined;
  last: number;
  lastTimestamp: number;
  report?: { us: number; timestamp: number };
}

/**
 * RTP timestamps of each track start at a random number. Sender reports relate the tracks to each other, but those for
 * audio arrive a few seconds late: until then, tracks are aligned by arrival; afterwards, audio is moved gradually to
 * its correct time.
 */
export function createPublisherClocks(): PublisherClocks {
  let baseTime: number | undefined;
  let videoState: State | undefined;

  const toMicroseconds = ({ rate }: State, ticks: number) => (ticks * 1_000_000) / rate;

  /** Microseconds on the sender's clock minus those on the local clock. */
  function distanceOf(state: State): number | undefined {
    if (state.report === undefined || state.offset === undefined) return undefined;
    return state.report.us - (toMicroseconds(state, state.report.timestamp) + state.offset);
  }

  function correct(state: State, timestamp: number): void {
    if (videoState === undefined || videoState === state) return;
    const [ownDistance, videoDistance] = [distanceOf(state), distanceOf(videoState)];
    if (ownDistance === undefined || videoDistance === undefined) return;
    const error = ownDistance - videoDistance;
    const maxCorrection = Math.max(0, toMicroseconds(state, timestamp - state.lastTimestamp)) * SLEW_RATE;
    state.offset! += Math.abs(error) > JUMP_US ? error : Math.min(maxCorrection, Math.max(-maxCorrection, error));
  }

  /** Earlier timestamps no longer apply: the next packet is placed by arrival, in the same way as the first. */
  function resetState(state: State): void {
    state.offset = undefined;
    state.lastTimestamp = -Infinity;
    delete state.report;
  }

  function clockOf(state: State): TrackClock {
    return {
      time(timestamp, now) {
        baseTime ??= now;
        if (toMicroseconds(state, state.lastTimestamp - timestamp) > MAX_BACK_US) resetState(state);
        state.offset ??= (now - baseTime) * 1000 - toMicroseconds(state, timestamp);
        correct(state, timestamp);
        state.lastTimestamp = Math.max(state.lastTimestamp, timestamp);
        state.last = Math.max(state.last, Math.round(toMicroseconds(state, timestamp) + state.offset));
        return state.last;
      },
      report(ntpMs, timestamp) {
        state.report = { us: ntpMs * 1000, timestamp };
      },
    };
  }

  const newState = (rate: number): State => ({ rate, offset: undefined, last: 0, lastTimestamp: -Infinity });
  return {
    video: (rate) => clockOf((videoState = newState(rate))),
    audio: (rate) => clockOf(newState(rate)),
  };
}
