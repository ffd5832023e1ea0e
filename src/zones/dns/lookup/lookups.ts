import type { Clock, Log } from "../../../kernel/index.ts";
import type { RecordData } from "../../../protocol/dns/index.ts";
import type { DnsEndpoint } from "../provider/exchange.ts";
import type { ServedZone, ServedZones } from "../served.ts";
import { createAnswerCache, type Outcome } from "./answer-cache.ts";
import { createDelegations } from "./delegations.ts";
import { isAbsence, LookupError } from "./failure.ts";
import { nameToAsk, type Question, type QuestionType, type WireAnswer } from "./message.ts";
import { createOwnAnswers } from "./own-answers.ts";
import { createUpstream } from "./upstream.ts";

export interface LookupsOptions {
  /** Recursive resolvers. */
  servers: readonly DnsEndpoint[];
  clock: Clock;
  log: Log;
  /** Zones that this program serves; `mayServe` tells those whose records it keeps for others to serve. */
  own?: { zones: ServedZones; mayServe?(zone: ServedZone): boolean };
  /** Of one server and one answer. Default 1200. */
  attemptMs?: number;
  /** Of one lookup, aliases included. Default 4500. */
  totalMs?: number;
  /** Told of each lookup that was not answered from memory. */
  onLookup?(told: { type: QuestionType; outcome: "found" | "absent" | "failed"; own: boolean }): void;
}

export interface Found {
  /** Where the records stand: the name that was asked for, or where its aliases lead. */
  name: string;
  /** At least one. `data`: see readRecordData. */
  records: { ttl: number; data: RecordData }[];
  /** Every step was said to be checked by DNSSEC. To be believed only of a resolver of one's own. */
  authentic: boolean;
}

/** Asks the DNS. Every answer comes from memory while its TTL lasts; equal questions wait for one answer; each ends in time. */
export interface Lookups {
  /** Throws LookupError. `fresh`: what is in memory does not count. */
  query(name: string, type: QuestionType, options?: { fresh?: boolean }): Promise<Found>;
  /** In the form of node:dns/promises. Throws LookupError. */
  resolve(name: string, type: QuestionType): Promise<unknown[]>;
  resolveMx(domain: string): Promise<{ exchange: string; priority: number }[]>;
  resolveTxt(name: string): Promise<string[][]>;
  resolve4(host: string): Promise<string[]>;
  resolve6(host: string): Promise<string[]>;
  /** What is being asked fails. */
  close(): void;
}

/** Aliases of one lookup (RFC 1034 5.2.2 sets no number; circles end here too). */
const MAX_ALIASES = 10;
/** Questions that wait for an answer at the same time. */
const MAX_WAITING = 1000;

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
  const waiting = new Map<string, Promise<WireAnswer>>();
  const closing = new AbortController();
  const delegated = createDelegations({
    clock,
    heard: upstream.heard,
    nameServers: async (name) =>
      (await follow(name, "NS", false, askWorld)).records.map(({ data }) => String(data.target)),
  });
  const ownAnswers =
    own &&
    createOwnAnswers({
      zones: own.zones,
      clock,
      log,
      ours: async (zone) => (own.mayServe?.(zone) ?? true) && delegated(zone),
      async lookUp(host, type) {
        const { records } = await follow(host, type, false, askWorld).catch((err: unknown) =>
          isAbsence(err) ? { records: [] } : Promise.reject(err),
        );
        return records.map(({ ttl, data }) => ({ ttl, address: String(data.address) }));
      },
    });

  /** One question to the resolvers, or what they said to it before. */
  async function askWorld(question: Question, fresh: boolean): Promise<WireAnswer> {
    const key = `${question.type} ${question.name}`;
    const known = fresh ? undefined : cache.get(key);
    if (known !== undefined) return "answer" in known ? known.answer : Promise.reject(known.failed);
    const asked = waiting.get(key);
    if (asked !== undefined) return asked;
    if (waiting.size >= MAX_WAITING)
      throw new LookupError("EBUSY", `${key}: ${MAX_WAITING} other names are being looked up`);
    const answer = upstream
      .ask(question, AbortSignal.any([closing.signal, AbortSignal.timeout(totalMs)]))
      .then(
        (found) => settled(key, question, { answer: found }) ?? found,
        (err: LookupError) => settled(key, question, { failed: err }) ?? Promise.reject(err),
      )
      .finally(() => waiting.delete(key));
    waiting.set(key, answer);
    return answer;
  }

  function settled(key: string, { type }: Question, outcome: Outcome): undefined {
    if (!closing.signal.aborted) cache.set(key, outcome);
    onLookup?.({
      type,
      own: false,
      outcome: "failed" in outcome ? "failed" : outcome.answer.records.length > 0 ? "found" : "absent",
    });
  }

  async function askAny(question: Question, fresh: boolean): Promise<WireAnswer> {
    const mine = await ownAnswers?.(question);
    if (mine === undefined) return askWorld(question, fresh);
    onLookup?.({ type: question.type, own: true, outcome: mine.records.length > 0 ? "found" : "absent" });
    return mine;
  }

  async function follow(given: string, type: QuestionType, fresh: boolean, ask: typeof askWorld): Promise<Found> {
    let name = nameToAsk(given);
    const seen = new Set([name]);
    const until = clock.now() + 2 * totalMs;
    for (let authentic = true; ;) {
      const { rcode, records, authentic: checked } = await ask({ name, type }, fresh);
      authentic &&= checked;
      const before = name;
      for (;;) {
        const here = records.filter((record) => record.name === name);
        const found = here.filter((record) => record.type === type);
        if (found.length > 0) return { name, records: found.map(({ ttl, data }) => ({ ttl, data })), authentic };
        const alias = here.find((record) => record.type === "CNAME");
        if (alias === undefined) break;
        name = String(alias.data.target);
        if (name === ".") throw new LookupError("ENOTFOUND", `${type} ${given}: its alias is the root`);
        if (seen.has(name)) throw new LookupError("ESERVFAIL", `${type} ${given}: its aliases lead in a circle`);
        if (seen.size > MAX_ALIASES)
          throw new LookupError("ESERVFAIL", `${type} ${given}: more than ${MAX_ALIASES} aliases`);
        seen.add(name);
      }
      // Where an alias leads is asked for by itself: it may be ours, and not every server follows.
      if (name === before)
        throw new LookupError(
          rcode === "NXDOMAIN" ? "ENOTFOUND" : "ENODATA",
          `${type} ${given}: ${rcode === "NXDOMAIN" ? "there is no such name" : "there are no such records"}`,
        );
      if (clock.now() > until) throw new LookupError("ETIMEOUT", `${type} ${given}: no answer in time`);
    }
  }

  const query: Lookups["query"] = (name, type, { fresh = false } = {}) => follow(name, type, fresh, askAny);
  const resolve: Lookups["resolve"] = async (name, type) =>
    (await query(name, type)).records.map(({ data }) => nodeForm(type, data));

  return {
    query,
    resolve,
    resolveMx: (domain) => resolve(domain, "MX") as Promise<{ exchange: string; priority: number }[]>,
    resolveTxt: (name) => resolve(name, "TXT") as Promise<string[][]>,
    resolve4: (host) => resolve(host, "A") as Promise<string[]>,
    resolve6: (host) => resolve(host, "AAAA") as Promise<string[]>,
    close: () => closing.abort(new LookupError("ETIMEOUT", "the program is being stopped")),
  };
}

/** Record data in the form of node:dns/promises; the types that it does not know, with their fields. */
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
      return (data.strings as string[]).map((octets) => Buffer.from(octets, "latin1").toString("utf8"));
    default:
      return data;
  }
}

/** The root, as in a null MX (RFC 7505), is "" in Node. */
const nodeHost = (target: unknown) => (target === "." ? "" : target);
