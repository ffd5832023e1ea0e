/** Converts timestamps of one track of a publisher. */
interface TrackClock {
  /**
   * Microseconds since the first packet of any track; never decreases. `timestamp` continues beyond 32 bits; `now`:
   * milliseconds of any monotonic clock.
   */
  time(timestamp: number, now: number): number;
  /** A sender report (RFC 3550, 6.4.1): when the sender's clock showed `ntpMs`, its media was at `timestamp`. */
  report(ntpMs: number, timestamp: number): void;
}

interface PublisherClocks {
  /** `rate`: ticks per second. */
  video(rate: number): TrackClock;
  audio(rate: number): TrackClock;
}

/** Maximum correction of audio per second until it matches the video: five percent is inaudible. */
const SLEW = 0.05;
/** Larger offsets are corrected in one step. */
const JUMP_US = 1_000_000;
/**
 * Timestamps that jump back further than late packets can indicate a restart: the source was replaced without notice.
 */
const BACK_US = 2_000_000;

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
  let zero: number | undefined;
  let pictures: State | undefined;

  const inMicroseconds = ({ rate }: State, ticks: number) => (ticks * 1_000_000) / rate;

  /** Microseconds on the sender's clock minus those on the local clock. */
  function distance(state: State): number | undefined {
    if (state.report === undefined || state.offset === undefined) return undefined;
    return state.report.us - (inMicroseconds(state, state.report.timestamp) + state.offset);
  }

  function correct(state: State, timestamp: number): void {
    if (pictures === undefined || pictures === state) return;
    const [ours, theirs] = [distance(state), distance(pictures)];
    if (ours === undefined || theirs === undefined) return;
    const error = ours - theirs;
    const most = Math.max(0, inMicroseconds(state, timestamp - state.lastTimestamp)) * SLEW;
    state.offset! += Math.abs(error) > JUMP_US ? error : Math.min(most, Math.max(-most, error));
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
        zero ??= now;
        if (inMicroseconds(state, state.lastTimestamp - timestamp) > BACK_US) resetState(state);
        state.offset ??= (now - zero) * 1000 - inMicroseconds(state, timestamp);
        correct(state, timestamp);
        state.lastTimestamp = Math.max(state.lastTimestamp, timestamp);
        state.last = Math.max(state.last, Math.round(inMicroseconds(state, timestamp) + state.offset));
        return state.last;
      },
      report(ntpMs, timestamp) {
        state.report = { us: ntpMs * 1000, timestamp };
      },
    };
  }

  const newState = (rate: number): State => ({ rate, offset: undefined, last: 0, lastTimestamp: -Infinity });
  return {
    video: (rate) => clockOf((pictures = newState(rate))),
    audio: (rate) => clockOf(newState(rate)),
  };
}
