import type { Clock, Log } from "../../../kernel/index.ts";
import type { RecordData } from "../../../protocol/dns/index.ts";
import type { DnsEndpoint } from "../provider/exchange.ts";
import type { ServedZone, ServedZones } from "../served.ts";
import { createAnswerCache, type LookupOutcome } from "./answer-cache.ts";
import { createDelegations } from "./delegations.ts";
import { isAbsence, LookupError } from "./failure.ts";
import { toQueryName, type Question, type QuestionType, type WireAnswer } from "./message.ts";
import { createOwnAnswers } from "./own-answers.ts";
import { createUpstream } from "./upstream.ts";

export interface LookupsOptions {
  /** Recursive resolvers. */
  servers: readonly DnsEndpoint[];
  clock: Clock;
  log: Log;
  /** Zones on this server. `mayServe` selects those that may be answered from our tables. */
  own?: { zones: ServedZones; mayServe?(zone: ServedZone): boolean };
  /** Time limit for one server and one response, in ms. Default 1200. */
  attemptMs?: number;
  /** Time limit for one lookup including aliases, in ms. Default 4500. */
  totalMs?: number;
  /** Called for each lookup that was not answered from the cache. */
  onLookup?(lookup: { type: QuestionType; outcome: "found" | "absent" | "failed"; own: boolean }): void;
}

interface FollowedAnswer {
  /** Owner of the records: the queried name, or the target of its aliases. */
  name: string;
  /** At least one. `data`: see readRecordData. */
  records: { ttl: number; data: RecordData }[];
  /** True if DNSSEC validated every step. Trust it only if you operate the resolver yourself. */
  authentic: boolean;
}

/** DNS lookups. Answers are cached for their TTL; identical queries share one answer; each lookup has a time limit. */
export interface Lookups {
  /** Throws LookupError. `fresh` bypasses the cache. */
  query(name: string, type: QuestionType, options?: { fresh?: boolean }): Promise<FollowedAnswer>;
  /** Returns the result in the form of node:dns/promises. Throws LookupError. */
  resolve(name: string, type: QuestionType): Promise<unknown[]>;
  resolveMx(domain: string): Promise<{ exchange: string; priority: number }[]>;
  resolveTxt(name: string): Promise<string[][]>;
  resolve4(host: string): Promise<string[]>;
  resolve6(host: string): Promise<string[]>;
  /** Rejects pending queries. */
  close(): void;
}

/** Maximum number of aliases in one lookup (RFC 1034 5.2.2 sets no limit); also ends loops. */
const MAX_ALIASES = 10;
/** Maximum number of pending queries. */
const MAX_PENDING_QUERIES = 1000;

export function createLookups({
  servers,
  clock,
  log,
  own,
  attemptMs,
  totalMs = 4500,
  onLookup,
}: LookupsOptions): Lookups {
  const upstream = createUpstream({ servers, clock, ...(attemptMs !== undefined && { attemptMs }) });
  const cache = createAnswerCache({ clock });
  const pendingQueries = new Map<string, Promise<WireAnswer>>();
  const closeAborter = new AbortController();
  const delegationCheck = createDelegations({
    clock,
    isReachable: upstream.isReachable,
    nameServers: async (name) =>
      (await follow(name, "NS", false, queryResolvers)).records.map(({ data }) => String(data.target)),
  });
  const ownAnswers =
    own &&
    createOwnAnswers({
      zones: own.zones,
      clock,
      log,
      isDelegatedHere: async (zone) => (own.mayServe?.(zone) ?? true) && delegationCheck(zone),
      async lookUp(host, type) {
        const { records } = await follow(host, type, false, queryResolvers).catch((err: unknown) =>
          isAbsence(err) ? { records: [] } : Promise.reject(err),
        );
        return records.map(({ ttl, data }) => ({ ttl, address: String(data.address) }));
      },
    });

  /** Queries the resolvers, or returns their cached answer. */
  async function queryResolvers(question: Question, fresh: boolean): Promise<WireAnswer> {
    const key = `${question.type} ${question.name}`;
    const cachedOutcome = fresh ? undefined : cache.get(key);
    if (cachedOutcome !== undefined)
      return "answer" in cachedOutcome ? cachedOutcome.answer : Promise.reject(cachedOutcome.failed);
    const pending = pendingQueries.get(key);
    if (pending !== undefined) return pending;
    if (pendingQueries.size >= MAX_PENDING_QUERIES)
      throw new LookupError("EBUSY", `${key}: ${MAX_PENDING_QUERIES} other names are being looked up`);
    const answer = upstream
      .query(question, AbortSignal.any([closeAborter.signal, AbortSignal.timeout(totalMs)]))
      .then(
        (found) => cacheOutcome(key, question, { answer: found }) ?? found,
        (err: LookupError) => cacheOutcome(key, question, { failed: err }) ?? Promise.reject(err),
      )
      .finally(() => pendingQueries.delete(key));
    pendingQueries.set(key, answer);
    return answer;
  }

  function cacheOutcome(key: string, { type }: Question, outcome: LookupOutcome): undefined {
    if (!closeAborter.signal.aborted) cache.set(key, outcome);
    onLookup?.({
      type,
      own: false,
      outcome: "failed" in outcome ? "failed" : outcome.answer.records.length > 0 ? "found" : "absent",
    });
  }

  async function queryOwnOrResolvers(question: Question, fresh: boolean): Promise<WireAnswer> {
    const ownAnswer = await ownAnswers?.(question);
    if (ownAnswer === undefined) return queryResolvers(question, fresh);
    onLookup?.({ type: question.type, own: true, outcome: ownAnswer.records.length > 0 ? "found" : "absent" });
    return ownAnswer;
  }

  async function follow(
    requestedName: string,
    type: QuestionType,
    fresh: boolean,
    queryFunction: typeof queryResolvers,
  ): Promise<FollowedAnswer> {
    let name = toQueryName(requestedName);
    const seenNames = new Set([name]);
    const until = clock.now() + 2 * totalMs;
    for (let authentic = true; ;) {
      const { rcode, records, authentic: isAuthentic } = await queryFunction({ name, type }, fresh);
      authentic &&= isAuthentic;
      const before = name;
      for (;;) {
        const recordsAtName = records.filter((record) => record.name === name);
        const found = recordsAtName.filter((record) => record.type === type);
        if (found.length > 0) return { name, records: found.map(({ ttl, data }) => ({ ttl, data })), authentic };
        const alias = recordsAtName.find((record) => record.type === "CNAME");
        if (alias === undefined) break;
        name = String(alias.data.target);
        if (name === ".") throw new LookupError("ENOTFOUND", `${type} ${requestedName}: its CNAME is the root`);
        if (seenNames.has(name)) throw new LookupError("ESERVFAIL", `${type} ${requestedName}: CNAME loop`);
        if (seenNames.size > MAX_ALIASES)
          throw new LookupError("ESERVFAIL", `${type} ${requestedName}: more than ${MAX_ALIASES} CNAMEs`);
        seenNames.add(name);
      }
      // The target of an alias is queried separately: it may be a name on this server, and some servers do not follow
      // aliases.
      if (name === before)
        throw new LookupError(
          rcode === "NXDOMAIN" ? "ENOTFOUND" : "ENODATA",
          `${type} ${requestedName}: ${rcode === "NXDOMAIN" ? "no such name" : "no such records"}`,
        );
      if (clock.now() > until) throw new LookupError("ETIMEOUT", `${type} ${requestedName}: timed out`);
    }
  }

  const query: Lookups["query"] = (name, type, { fresh = false } = {}) =>
    follow(name, type, fresh, queryOwnOrResolvers);
  const resolve: Lookups["resolve"] = async (name, type) =>
    (await query(name, type)).records.map(({ data }) => nodeForm(type, data));

  return {
    query,
    resolve,
    resolveMx: (domain) => resolve(domain, "MX") as Promise<{ exchange: string; priority: number }[]>,
    resolveTxt: (name) => resolve(name, "TXT") as Promise<string[][]>,
    resolve4: (host) => resolve(host, "A") as Promise<string[]>,
    resolve6: (host) => resolve(host, "AAAA") as Promise<string[]>,
    close: () => closeAborter.abort(new LookupError("ETIMEOUT", "the server is shutting down")),
  };
}

/** Returns record data in the form of node:dns/promises; types unknown to Node are returned with their fields. */
function nodeForm(type: QuestionType, data: RecordData): unknown {
  switch (type) {
    case "A":
    case "AAAA":
      return data.address;
    case "CNAME":
    case "NS":
    case "PTR":
      return nodeHost(data.target);
    case "MX":
      return { priority: data.priority, exchange: nodeHost(data.target) };
    case "TXT":
      return (data.strings as string[]).map((latin1Text) => Buffer.from(latin1Text, "latin1").toString("utf8"));
    default:
      return data;
  }
}

/** The root, as in a null MX (RFC 7505), is "" in Node. */
const nodeHost = (target: unknown) => (target === "." ? "" : target);
