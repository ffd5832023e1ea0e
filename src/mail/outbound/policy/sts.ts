import type { Clock, Log } from "../../../kernel/index.ts";
import { formatPolicy, policyIdOf } from "../../../protocol/mtasts/index.ts";
import type { PolicyFor, ReportedPolicy, TlsFailure, TlsPolicy } from "../types.ts";
import type { StsFetched } from "./sts-fetch.ts";
import type { StoredPolicy, StsTable } from "./sts-table.ts";

interface StsOptions {
  table: StsTable;
  fetch: (domain: string, signal: AbortSignal) => Promise<StsFetched>;
  /** Has the signature of `resolveTxt` in node:dns/promises. */
  resolveTxt: (name: string) => Promise<string[][]>;
  clock: Pick<Clock, "now">;
  log: Log;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/**
 * How long a response is used before the record is queried again, and how long fetches from a failed host are suspended
 * (RFC 8461 3.3).
 */
const BELIEVED_MS = MINUTE;
const FAILED_MS = 5 * MINUTE;
const MAX_KNOWN = 5000;

/**
 * MTA-STS policies of domains (RFC 8461): the cached policy until it expires; a new one when the record announces it.
 * If a lookup or fetch fails, the cached policy stays in use, or the domain has no policy.
 */
export function createStsPolicies({ table, fetch, resolveTxt, clock, log }: StsOptions): {
  policyFor: PolicyFor;
  close(): void;
} {
  const known = new Map<string, { until: number; answer: Promise<TlsPolicy | undefined> }>();
  const failed = new Map<string, { until: number; failure: TlsFailure }>();
  const closing = new AbortController();
  let swept = clock.now();

  function keep<Value>(map: Map<string, Value>, key: string, value: Value) {
    map.delete(key);
    if (map.size >= MAX_KNOWN) map.delete(map.keys().next().value!);
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
    const before = failed.get(domain);
    if (before !== undefined && before.until > clock.now()) return before.failure;
    const fetched = await fetch(domain, closing.signal);
    if (!fetched.ok) {
      const failure = { type: fetched.failure, reason: fetched.why };
      keep(failed, domain, { until: clock.now() + FAILED_MS, failure });
      log.info({ domain, why: fetched.why }, "outbound: failed to fetch an MTA-STS policy");
      return failure;
    }
    const now = clock.now();
    const fresh = { id, policy: fetched.policy, fetchedAt: now, expiresAt: now + fetched.policy.maxAge * 1000 };
    await table.put(domain, fresh);
    if (now - swept > DAY) {
      swept = now;
      await table.forgetExpired(now);
    }
    return fresh;
  }

  async function look(domain: string): Promise<TlsPolicy | undefined> {
    const [held, id] = await Promise.all([table.get(domain, clock.now()), idOf(domain)]);
    // RFC 8461 3.3: refetched daily even if unchanged, so that a policy does not expire while its domain is
    // unreachable.
    const stale =
      held !== undefined &&
      (clock.now() - held.fetchedAt > DAY || held.expiresAt - clock.now() < (held.expiresAt - held.fetchedAt) / 2);
    if (id === undefined) return asTls(held);
    if (held?.id !== id) {
      const fetched = await fetchNew(domain, id);
      return "policy" in fetched ? asTls(fetched) : held === undefined ? withoutPolicy(fetched) : asTls(held);
    }
    if (stale)
      fetchNew(domain, id).catch((err: unknown) =>
        log.warn({ err, domain }, "outbound: failed to store an MTA-STS policy"),
      );
    return asTls(held);
  }

  return {
    policyFor(domain) {
      if (domain.startsWith("[")) return undefined;
      const found = known.get(domain);
      if (found !== undefined && found.until > clock.now()) return found.answer;
      const answer = look(domain).catch((err: unknown) => {
        // Without the table it is unknown which policy applies, so the message waits.
        known.delete(domain);
        throw err;
      });
      keep(known, domain, { until: clock.now() + BELIEVED_MS, answer });
      return answer;
    },
    close: () => closing.abort(new Error("the server is shutting down")),
  };
}

/** RFC 8461 5: `testing` and `none` do not hold back mail. */
function asTls(held: StoredPolicy | undefined): TlsPolicy | undefined {
  if (held === undefined || held.policy.mode === "none") return undefined;
  const { mode, mx } = held.policy;
  const reported: ReportedPolicy = { type: "sts", lines: formatPolicy(held.policy).trimEnd().split("\r\n"), mx };
  return mode === "enforce" ? { level: "verified", mx, reported } : { level: "opportunistic", reported };
}

/**
 * Used if the policy of the domain cannot be fetched: mail is sent as if there were no policy, and the report contains
 * the reason.
 */
const withoutPolicy = (failure: TlsFailure): TlsPolicy => ({
  level: "opportunistic",
  reported: { type: "sts", lines: [], mx: [], failure },
});
