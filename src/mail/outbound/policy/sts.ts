import type { Clock, Log } from "../../../kernel/index.ts";
import { formatPolicy, policyIdOf } from "../../../protocol/mtasts/index.ts";
import type { PolicyLookup, ReportedPolicy, TlsFailure, TlsPolicy } from "../types.ts";
import type { StsFetchResult } from "./sts-fetch.ts";
import type { StoredPolicy, StsTable } from "./sts-table.ts";

interface StsOptions {
  table: StsTable;
  fetch: (domain: string, signal: AbortSignal) => Promise<StsFetchResult>;
  /** Has the signature of `resolveTxt` in node:dns/promises. */
  resolveTxt: (name: string) => Promise<string[][]>;
  clock: Pick<Clock, "now">;
  log: Log;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/**
 * How long a response is used before the record is queried again, and how long fetches from a failed host are suspended
 * (RFC 8461 3.3).
 */
const ANSWER_TTL_MS = MINUTE_MS;
const FAILURE_TTL_MS = 5 * MINUTE_MS;
const MAX_CACHED = 5000;

/**
 * MTA-STS policies of domains (RFC 8461): the cached policy until it expires; a new one when the record announces it.
 * If a lookup or fetch fails, the cached policy stays in use, or the domain has no policy.
 */
export function createStsPolicies({ table, fetch, resolveTxt, clock, log }: StsOptions): {
  policyFor: PolicyLookup;
  close(): void;
} {
  const cachedAnswers = new Map<string, { until: number; answer: Promise<TlsPolicy | undefined> }>();
  const cachedFailures = new Map<string, { until: number; failure: TlsFailure }>();
  const closing = new AbortController();
  let sweptAt = clock.now();

  function cacheValue<Value>(map: Map<string, Value>, key: string, value: Value) {
    map.delete(key);
    if (map.size >= MAX_CACHED) map.delete(map.keys().next().value!);
    map.set(key, value);
  }

  async function idOf(domain: string): Promise<string | undefined> {
    try {
      return policyIdOf((await resolveTxt(`_mta-sts.${domain}`)).map((strings) => strings.join("")));
    } catch {
      // RFC 8461 3.1, 5.1: a missing record announces nothing new; a cached policy stays valid until it expires.
      return undefined;
    }
  }

  async function fetchNew(domain: string, id: string): Promise<StoredPolicy | TlsFailure> {
    const previousFailure = cachedFailures.get(domain);
    if (previousFailure !== undefined && previousFailure.until > clock.now()) return previousFailure.failure;
    const fetched = await fetch(domain, closing.signal);
    if (!fetched.ok) {
      const failure = { type: fetched.failure, reason: fetched.why };
      cacheValue(cachedFailures, domain, { until: clock.now() + FAILURE_TTL_MS, failure });
      log.info({ domain, why: fetched.why }, "outbound: failed to fetch an MTA-STS policy");
      return failure;
    }
    const now = clock.now();
    const freshPolicy = { id, policy: fetched.policy, fetchedAt: now, expiresAt: now + fetched.policy.maxAge * 1000 };
    await table.put(domain, freshPolicy);
    if (now - sweptAt > DAY_MS) {
      sweptAt = now;
      await table.forgetExpired(now);
    }
    return freshPolicy;
  }

  async function lookUp(domain: string): Promise<TlsPolicy | undefined> {
    const [storedPolicy, id] = await Promise.all([table.get(domain, clock.now()), idOf(domain)]);
    // RFC 8461 3.3: refetched daily even if unchanged, so that a policy does not expire while its domain is
    // unreachable.
    const isStale =
      storedPolicy !== undefined &&
      (clock.now() - storedPolicy.fetchedAt > DAY_MS ||
        storedPolicy.expiresAt - clock.now() < (storedPolicy.expiresAt - storedPolicy.fetchedAt) / 2);
    if (id === undefined) return toTlsPolicy(storedPolicy);
    if (storedPolicy?.id !== id) {
      const fetched = await fetchNew(domain, id);
      return "policy" in fetched
        ? toTlsPolicy(fetched)
        : storedPolicy === undefined
          ? withoutPolicy(fetched)
          : toTlsPolicy(storedPolicy);
    }
    if (isStale)
      fetchNew(domain, id).catch((err: unknown) =>
        log.warn({ err, domain }, "outbound: failed to store an MTA-STS policy"),
      );
    return toTlsPolicy(storedPolicy);
  }

  return {
    policyFor(domain) {
      if (domain.startsWith("[")) return undefined;
      const cachedAnswer = cachedAnswers.get(domain);
      if (cachedAnswer !== undefined && cachedAnswer.until > clock.now()) return cachedAnswer.answer;
      const answer = lookUp(domain).catch((err: unknown) => {
        // Without the table it is unknown which policy applies, so the message waits.
        cachedAnswers.delete(domain);
        throw err;
      });
      cacheValue(cachedAnswers, domain, { until: clock.now() + ANSWER_TTL_MS, answer });
      return answer;
    },
    close: () => closing.abort(new Error("the server is shutting down")),
  };
}

/** RFC 8461 5: `testing` and `none` do not hold back mail. */
function toTlsPolicy(storedPolicy: StoredPolicy | undefined): TlsPolicy | undefined {
  if (storedPolicy === undefined || storedPolicy.policy.mode === "none") return undefined;
  const { mode, mx } = storedPolicy.policy;
  const reportedPolicy: ReportedPolicy = {
    type: "sts",
    lines: formatPolicy(storedPolicy.policy).trimEnd().split("\r\n"),
    mx,
  };
  return mode === "enforce"
    ? { level: "verified", mx, reported: reportedPolicy }
    : { level: "opportunistic", reported: reportedPolicy };
}

/**
 * Used if the policy of the domain cannot be fetched: mail is sent as if there were no policy, and the report contains
 * the reason.
 */
const withoutPolicy = (failure: TlsFailure): TlsPolicy => ({
  level: "opportunistic",
  reported: { type: "sts", lines: [], mx: [], failure },
});
