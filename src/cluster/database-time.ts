import type { CorrectedClock } from "../kernel/corrected-clock.ts";
import type { Clock, Log } from "../kernel/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import { every } from "../kernel/periodic.ts";
import type { Db } from "../store/index.ts";
import { clusterErrors } from "./errors.ts";
import { createNodesTable } from "./nodes-table.ts";

interface ClockState {
  /** Clock of the machine minus that of the database, in milliseconds. */
  differenceMs: number;
  /** Round trip of the measurement, in milliseconds: twice the maximum error. */
  roundTripMs: number;
  /** False if the difference exceeds a second, even after subtracting the error. */
  agrees: boolean;
}

export interface DatabaseTime {
  /** Returns the last measurement. */
  state(): ClockState;
  /** Measures again and corrects the clock. */
  measure(): Promise<void>;
  /** Calls `listener` after each measurement. */
  onMeasured(listener: () => void): void;
  close(): Promise<void>;
}

interface DatabaseTimeDeps {
  db: Db;
  /** Corrected with each measurement. */
  clock: CorrectedClock;
  /** The clock of the machine. */
  local: Pick<Clock, "now">;
  log: Log;
  /** Monotonic time in milliseconds, which `clock` must use too. Default: the monotonic clock of the process. */
  monotonic?: () => number;
  /** Replaced in tests. Default: reads the time of the database. */
  read?: () => Promise<number>;
}

const MEASURE_MS = 10_000;
const MAX_DIFFERENCE_MS = 1000;
/** A measurement that takes longer is repeated, and the fastest one counts. */
const FAST_MS = 20;
const MAX_ATTEMPTS = 4;
/** The error of a measurement is up to half of its round trip. Slower ones do not correct the clock. */
const MAX_ROUND_TRIP_MS = 500;

/**
 * Corrects the clock to that of the database, so that leases, claims and expiries on all nodes follow the same clock.
 * Log lines, certificates and files use the clock of the machine; throws clockSkew if that clock differs by more than
 * a second. A difference that develops later is logged.
 */
export async function followDatabaseTime(deps: DatabaseTimeDeps): Promise<DatabaseTime> {
  const { db, clock, local, log, monotonic = () => performance.now() } = deps;
  const read = deps.read ?? createNodesTable(db).now;
  const listeners: (() => void)[] = [];
  let hasReference = false;
  let state: ClockState = await measure();
  if (!state.agrees)
    throw clusterErrors.clockSkew({
      seconds: inSeconds(Math.abs(state.differenceMs)),
      direction: state.differenceMs > 0 ? "ahead of" : "behind",
    });

  async function measureOnce() {
    // The local clock is read within the round trip: a preempted process cannot add more than half of it to the error.
    const before = monotonic();
    const localBefore = local.now();
    const time = await read();
    const localAfter = local.now();
    const after = monotonic();
    return { time, at: (before + after) / 2, roundTripMs: after - before, local: (localBefore + localAfter) / 2 };
  }

  async function measure(): Promise<ClockState> {
    let best = await measureOnce();
    for (let attempt = 1; attempt < MAX_ATTEMPTS && best.roundTripMs > FAST_MS; attempt++) {
      const next = await measureOnce();
      if (next.roundTripMs < best.roundTripMs) best = next;
    }
    if (best.roundTripMs <= MAX_ROUND_TRIP_MS || !hasReference) {
      clock.correct(best.time, best.at);
      hasReference = true;
    }
    const differenceMs = best.local - best.time;
    return {
      differenceMs,
      roundTripMs: best.roundTripMs,
      agrees: Math.abs(differenceMs) - best.roundTripMs / 2 <= MAX_DIFFERENCE_MS,
    };
  }

  async function follow() {
    const next = await measure();
    if (state.agrees && !next.agrees)
      log.error(
        { seconds: inSeconds(next.differenceMs) },
        "cluster: the clock of this machine differs from the clock of the database; synchronize both with NTP",
      );
    else if (!state.agrees && next.agrees)
      log.info("cluster: the clock of this machine is synchronized with the clock of the database again");
    state = next;
    for (const listener of listeners) listener();
  }

  const measurements = every(MEASURE_MS, follow, { name: "cluster: measurement of the database clock", log });
  return {
    state: () => state,
    measure: measurements.run,
    onMeasured: (listener) => void listeners.push(listener),
    close: measurements.stop,
  };
}

const inSeconds = (ms: number): string => (ms / 1000).toFixed(1);

/** Exports the clock difference and the round-trip time as metrics. */
export function meterDatabaseTime(time: Pick<DatabaseTime, "state" | "onMeasured">, metrics: Metrics): void {
  const difference = metrics.gauge(
    "reelpost_cluster_clock_difference_seconds",
    "Clock of this machine minus the clock of the database",
  );
  const roundTrip = metrics.gauge(
    "reelpost_cluster_database_round_trip_seconds",
    "Round-trip time of the last measurement of the database clock",
  );
  const update = () => {
    difference.set(time.state().differenceMs / 1000);
    roundTrip.set(time.state().roundTripMs / 1000);
  };
  update();
  time.onMeasured(update);
}
