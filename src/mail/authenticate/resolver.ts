import type { Clock } from "../../kernel/index.ts";

export type LookupType = "A" | "AAAA" | "MX" | "TXT" | "PTR" | "CNAME";

/**
 * Queries DNS. Responses are those of `node:dns/promises` `resolve(name, type)`: texts for A, AAAA, PTR and CNAME,
 * lists of character-strings for TXT, `{ priority, exchange }` for MX. Rejects with an error whose `code` is ENOTFOUND
 * (no such name), ENODATA (no such record), or anything else for a temporary failure (ESERVFAIL, ETIMEOUT, EREFUSED
 * ...).
 */
export type Resolver = (name: string, type: LookupType) => Promise<unknown[]>;

export interface LookupLimits {
  /**
   * Maximum number of distinct queries per message. Default 150: the ten terms of an SPF record may need ten each (RFC
   * 7208 4.6.4).
   */
  lookups: number;
  /** Milliseconds per query. Default 5000. */
  lookupMs: number;
  /** Milliseconds for all queries. Default 20000, the minimum of RFC 7208 4.6.4. */
  totalMs: number;
}

export const DEFAULT_LOOKUP_LIMITS: LookupLimits = { lookups: 150, lookupMs: 5000, totalMs: 20_000 };

/**
 * Returns a resolver for one message. It sends each query at most once, and only within the limits; queries beyond them fail as if they had timed out.
 */
export function boundedResolver(
  resolver: Resolver,
  clock: Clock,
  { lookups, lookupMs, totalMs }: LookupLimits,
): Resolver & { readonly queryCount: number } {
  const answers = new Map<string, Promise<unknown[]>>();
  const deadline = clock.now() + totalMs;
  let queryCount = 0;

  async function resolveWithin(name: string, type: LookupType): Promise<unknown[]> {
    if (!isName(name)) throw lookupError("ENOTFOUND", `${type} ${name.slice(0, 80)}: not a valid DNS name`);
    const left = deadline - clock.now();
    if (left <= 0) throw lookupError("ETIMEOUT", `${type} ${name}: lookup time limit exceeded`);
    if (queryCount >= lookups)
      throw lookupError("ETIMEOUT", `${type} ${name}: more than ${lookups} DNS queries for one message`);
    queryCount++;
    return withTimeout(
      Promise.resolve()
        .then(() => resolver(name, type))
        .catch(hideInternals(name, type)),
      Math.min(left, lookupMs),
      `${type} ${name}`,
      clock,
    );
  }

  const boundedResolve: Resolver = (name, type) => {
    const key = `${type} ${name.toLowerCase()}`;
    const cachedAnswer = answers.get(key);
    if (cachedAnswer !== undefined) return cachedAnswer;
    const answer = resolveWithin(name, type);
    // Queries may be prefetched; the code that awaits the response receives the error.
    answer.catch(() => {});
    answers.set(key, answer);
    return answer;
  };
  return Object.defineProperty(boundedResolve, "queryCount", { get: () => queryCount }) as Resolver & {
    readonly queryCount: number;
  };
}

/** Error texts are copied into the header of the message and reach others, so they must not reveal the resolver. */
const hideInternals = (name: string, type: LookupType) => (err: unknown) => {
  const { code = "EFAILED" } = err as { code?: string };
  throw Object.assign(lookupError(code, `${type} ${name}: ${code}`), { cause: err });
};

/**
 * The default abort reason is an exception with a stack trace, and creating it takes longer than the rest of a cached
 * query.
 */
const ANSWERED = Symbol("answered");

async function withTimeout<T>(answer: Promise<T>, ms: number, what: string, clock: Clock): Promise<T> {
  const timeoutController = new AbortController();
  const timeoutPromise = clock.sleep(ms, timeoutController.signal).then(() => {
    throw lookupError("ETIMEOUT", `${what}: no response in ${ms} ms`);
  });
  timeoutPromise.catch(() => {});
  answer.catch(() => {});
  try {
    return await Promise.race([answer, timeoutPromise]);
  } finally {
    timeoutController.abort(ANSWERED);
  }
}

/** RFC 1035 2.3.4. A trailing dot is allowed. */
const isName = (name: string) =>
  name.length <= 254 &&
  name
    .replace(/\.$/, "")
    .split(".")
    .every((label) => label !== "" && Buffer.byteLength(label) <= 63);

export const lookupError = (code: string, message: string): Error => Object.assign(new Error(message), { code });
