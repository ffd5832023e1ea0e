import type { Clock } from "../../../kernel/index.ts";
import type { WireAnswer } from "./message.ts";
import type { LookupError } from "./failure.ts";

export type LookupOutcome = { answer: WireAnswer } | { failed: LookupError };

/** Seconds. Negative answers without SOA use DEFAULT_NEGATIVE_SECONDS (RFC 2308 5); failures follow RFC 9520 3.2. */
const [MAX_TTL_SECONDS, MAX_NEGATIVE_SECONDS, DEFAULT_NEGATIVE_SECONDS, FAILURE] = [3600, 300, 30, 5];

/** Caches answers for their TTL, at most `max`; the least recently used ones are evicted first. */
export function createAnswerCache({ clock, max = 10_000 }: { clock: Pick<Clock, "now">; max?: number }) {
  const cachedOutcomes = new Map<string, { at: number; until: number; outcome: LookupOutcome }>();
  return {
    get(key: string): LookupOutcome | undefined {
      const cachedOutcome = cachedOutcomes.get(key);
      if (cachedOutcome === undefined || cachedOutcome.until <= clock.now()) return undefined;
      cachedOutcomes.delete(key);
      cachedOutcomes.set(key, cachedOutcome);
      return cachedOutcome.outcome;
    },
    set(key: string, outcome: LookupOutcome) {
      cachedOutcomes.delete(key);
      const seconds = secondsOf(outcome);
      if (seconds <= 0) return;
      if (cachedOutcomes.size >= max) cachedOutcomes.delete(cachedOutcomes.keys().next().value!);
      cachedOutcomes.set(key, { at: clock.now(), until: clock.now() + 1000 * seconds, outcome });
    },
  };
}

function secondsOf(outcome: LookupOutcome): number {
  if ("failed" in outcome) return FAILURE;
  const { records, negativeTtl } = outcome.answer;
  if (records.length === 0) return Math.min(negativeTtl ?? DEFAULT_NEGATIVE_SECONDS, MAX_NEGATIVE_SECONDS);
  return Math.min(MAX_TTL_SECONDS, ...records.map(({ ttl }) => ttl));
}
