import type { Clock } from "../../../kernel/index.ts";
import type { WireAnswer } from "./message.ts";
import type { LookupError } from "./failure.ts";

export type LookupOutcome = { answer: WireAnswer } | { failed: LookupError };

/** Seconds. Negative answers without SOA use UNSAID_NEGATIVE (RFC 2308 5); failures follow RFC 9520 3.2. */
const [MAX_TTL, MAX_NEGATIVE, UNSAID_NEGATIVE, FAILURE] = [3600, 300, 30, 5];

/** Caches answers for their TTL, at most `max`; the least recently used ones are evicted first. */
export function createAnswerCache({ clock, max = 10_000 }: { clock: Pick<Clock, "now">; max?: number }) {
  const kept = new Map<string, { at: number; until: number; outcome: LookupOutcome }>();
  return {
    get(key: string): LookupOutcome | undefined {
      const found = kept.get(key);
      if (found === undefined || found.until <= clock.now()) return undefined;
      kept.delete(key);
      kept.set(key, found);
      return found.outcome;
    },
    set(key: string, outcome: LookupOutcome) {
      kept.delete(key);
      const seconds = secondsOf(outcome);
      if (seconds <= 0) return;
      if (kept.size >= max) kept.delete(kept.keys().next().value!);
      kept.set(key, { at: clock.now(), until: clock.now() + 1000 * seconds, outcome });
    },
  };
}

function secondsOf(outcome: LookupOutcome): number {
  if ("failed" in outcome) return FAILURE;
  const { records, negativeTtl } = outcome.answer;
  if (records.length === 0) return Math.min(negativeTtl ?? UNSAID_NEGATIVE, MAX_NEGATIVE);
  return Math.min(MAX_TTL, ...records.map(({ ttl }) => ttl));
}
