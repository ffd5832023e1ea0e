const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

/** Formats `734003200` as `700 MB`: in steps of 1024, as in most systems and in the limits. */
export function sizeText(byteCount: number): string {
  let value = byteCount;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 99.5 || Number.isInteger(value) ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** Formats `95` as `2 min`: remaining time is approximate and should not jump. */
export function timeText(seconds: number): string {
  if (seconds < 8) return "a few seconds";
  if (seconds < 90) return `${Math.round(seconds / 5) * 5} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? "" : ` ${minutes % 60} min`}`;
}

/** Transfer rate over the last seconds; times in milliseconds. */
interface Pace {
  note(byteCount: number, now: number): void;
  /** Returns bytes per second; 0 while unknown. */
  speed(): number;
  clear(): void;
}

const WINDOW_MS = 8000;
const MIN_SAMPLE_MS = 800;

export function createPace(): Pace {
  let samples: { octets: number; at: number }[] = [];
  return {
    note(byteCount, now) {
      samples.push({ octets: byteCount, at: now });
      samples = samples.filter(({ at }) => now - at <= WINDOW_MS);
    },
    speed() {
      const [first] = samples;
      const last = samples.at(-1);
      if (first === undefined || last === undefined || last.at - first.at < MIN_SAMPLE_MS) return 0;
      return ((last.octets - first.octets) / (last.at - first.at)) * 1000;
    },
    clear() {
      samples = [];
    },
  };
}
