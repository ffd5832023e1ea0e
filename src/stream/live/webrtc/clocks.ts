/** Times of one track of a publisher. */
export interface TrackClock {
  /** Microseconds since the first packet of any track; never decreasing. `timestamp` goes on over the end of 32 bits; `now`: milliseconds of any clock that only goes on. */
  time(timestamp: number, now: number): number;
  /** A sender report (RFC 3550, 6.4.1): when the sender's own clock showed `ntpMs`, its media was at `timestamp`. */
  report(ntpMs: number, timestamp: number): void;
}

export interface PublisherClocks {
  /** `rate`: ticks a second. */
  video(rate: number): TrackClock;
  audio(rate: number): TrackClock;
}

/** So much a second the sound is moved against the pictures until they fit: a twentieth is not heard. */
const SLEW = 0.05;
/** Over this nobody waits for it. */
const JUMP_US = 1_000_000;
/** Timestamps further back than packets may come late begin anew: a source was replaced without a word. */
const BACK_US = 2_000_000;

interface State {
  rate: number;
  /** Of a timestamp of zero. */
  offset: number | undefined;
  last: number;
  lastTimestamp: number;
  report?: { us: number; timestamp: number };
}

/**
 * RTP tells times of each track from a random number on. Which of them belong together is told by sender reports, and those of sound come some seconds
 * late: until then tracks are laid beside each other as they arrive, and then the sound is moved to where it belongs, little by little.
 */
export function createPublisherClocks(): PublisherClocks {
  let zero: number | undefined;
  let pictures: State | undefined;

  const inMicroseconds = ({ rate }: State, ticks: number) => (ticks * 1_000_000) / rate;

  /** Microseconds on the sender's clock minus those on ours. */
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

  /** What was known of its timestamps is of those before: the next is when it arrives, as the first was. */
  function beginAnew(state: State): void {
    state.offset = undefined;
    state.lastTimestamp = -Infinity;
    delete state.report;
  }

  function clockOf(state: State): TrackClock {
    return {
      time(timestamp, now) {
        zero ??= now;
        if (inMicroseconds(state, state.lastTimestamp - timestamp) > BACK_US) beginAnew(state);
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
