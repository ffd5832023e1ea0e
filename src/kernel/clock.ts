/** Time as a dependency: code that waits or reads the time takes a Clock, so that tests can control it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason if aborted. Does not keep the process alive. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Returns the UTC day of a time in epoch milliseconds, such as "2026-11-20". */
export const utcDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal!.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      timer.unref();
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
};

/** Creates a clock that advances only on request. */
export function createManualClock(start = 0): Clock & { advance(ms: number): void } {
  let time = start;
  let sleepers: { at: number; wake: () => void }[] = [];
  return {
    now: () => time,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const entry = { at: time + ms, wake: resolve };
        sleepers.push(entry);
        signal?.addEventListener(
          "abort",
          () => {
            sleepers = sleepers.filter((otherEntry) => otherEntry !== entry);
            reject(signal.reason);
          },
          { once: true },
        );
      }),
    advance(ms) {
      time += ms;
      const dueEntries = sleepers.filter((entry) => entry.at <= time).sort((a, b) => a.at - b.at);
      sleepers = sleepers.filter((entry) => entry.at > time);
      for (const entry of dueEntries) entry.wake();
    },
  };
}

/** Creates a clock that follows another clock and can be advanced beyond it. */
export function createAdvancingClock(clock: Clock): Clock & { advance(ms: number): void } {
  let offset = 0;
  const sleepers = new Set<{ at: number; wake: AbortController }>();
  const now = () => clock.now() + offset;
  return {
    now,
    async sleep(ms, signal) {
      const entry = { at: now() + ms, wake: new AbortController() };
      sleepers.add(entry);
      const { signal: woken } = entry.wake;
      try {
        await clock.sleep(ms, signal === undefined ? woken : AbortSignal.any([signal, woken]));
      } catch (err) {
        if (!woken.aborted || signal?.aborted === true) throw err;
      } finally {
        sleepers.delete(entry);
      }
    },
    advance(ms) {
      offset += ms;
      for (const { at, wake } of [...sleepers].toSorted((one, other) => one.at - other.at))
        if (at <= now()) wake.abort();
    },
  };
}
