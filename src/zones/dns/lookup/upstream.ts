import { isIP, isIPv6 } from "node:net";
import { messageOf, type Clock } from "../../../kernel/index.ts";
import { dnsErrors } from "../provider/errors.ts";
import { type DnsEndpoint, exchange } from "../provider/exchange.ts";
import { LookupError, type LookupCode } from "./failure.ts";
import { type Question, readAnswer, type WireAnswer, writeQuestion } from "./message.ts";
import { exchangeUdp } from "./udp.ts";

interface UpstreamOptions {
  /** Recursive resolvers, at most four. The one that responded last is queried first. */
  servers: readonly DnsEndpoint[];
  clock: Pick<Clock, "now">;
  /** Time limit per server and response. Default 1200 ms. */
  attemptMs?: number;
}

/** Public DNS, through recursive resolvers. */
interface Upstream {
  /** Resolves with the answer of a resolver: NOERROR or NXDOMAIN. Throws LookupError. */
  query(question: Question, signal: AbortSignal): Promise<WireAnswer>;
  /** True if any resolver responded within the last five minutes. */
  isReachable(): boolean;
}

const MAX_SERVERS = 4;
const REACHABLE_MS = 300_000;
/** Retries once after a timeout, because datagrams may get lost. */
const ROUNDS = 2;
const CODES: Record<string, LookupCode> = { REFUSED: "EREFUSED" };

export function createUpstream({ servers: givenServers, clock, attemptMs = 1200 }: UpstreamOptions): Upstream {
  const servers = givenServers.slice(0, MAX_SERVERS);
  let lastResponse = -Infinity;
  let first = 0;

  return {
    isReachable: () => clock.now() - lastResponse < REACHABLE_MS,
    async query(question, signal) {
      const what = `${question.type} ${question.name}`;
      let failure = new LookupError("ESERVFAIL", `${what}: no resolver is configured`);
      const remainingServers = new Set(servers.map((_, index) => (first + index) % servers.length));
      for (let round = 0; round < ROUNDS; round++) {
        for (const index of remainingServers) {
          if (signal.aborted) throw new LookupError("ETIMEOUT", `${what}: timed out`, { cause: failure });
          try {
            const answer = await askServer(
              servers[index]!,
              question,
              AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]),
            );
            if (isUseful(answer)) {
              [lastResponse, first] = [clock.now(), index];
              return answer;
            }
            // This server is not queried again; another one may succeed (a lame server, a failed DNSSEC validation).
            remainingServers.delete(index);
            failure = new LookupError(
              CODES[answer.rcode] ?? "ESERVFAIL",
              `${what}: ${formatServer(servers[index]!)} responded ${answer.rcode === "NOERROR" ? "with a referral" : answer.rcode}`,
            );
          } catch (err) {
            const isTimedOut = (err as Error).name === "TimeoutError" || signal.aborted;
            if (!isTimedOut) remainingServers.delete(index);
            failure = new LookupError(
              isTimedOut ? "ETIMEOUT" : "ESERVFAIL",
              `${what}: ${formatServer(servers[index]!)}: ${isTimedOut ? "timed out" : messageOf(err)}`,
              { cause: err },
            );
          }
        }
      }
      throw failure;
    },
  };
}

/** RFC 6891 6.2.2: old servers may not support EDNS. RFC 7766 5: truncated answers are retried over TCP. */
async function askServer(server: DnsEndpoint, question: Question, signal: AbortSignal): Promise<WireAnswer> {
  const overUdp = (message: Buffer) =>
    exchangeUdp(server, message, (reply) => readAnswer(reply, question, message), signal);
  let message = writeQuestion(question, { edns: true });
  let answer = await overUdp(message);
  if (answer.rcode === "FORMERR" || answer.rcode === "NOTIMP" || answer.rcode === "BADVERS") {
    message = writeQuestion(question, { edns: false });
    answer = await overUdp(message);
  }
  if (!answer.truncated) return answer;
  const fullAnswer = readAnswer(await exchange(server, message, signal), question, message);
  if (fullAnswer === undefined) throw new Error("the TCP response does not match the query");
  return fullAnswer;
}

const isUseful = ({ rcode, records, authoritative, recursive, negativeTtl }: WireAnswer): boolean =>
  rcode === "NXDOMAIN" ||
  (rcode === "NOERROR" && (records.length > 0 || authoritative || recursive || negativeTtl !== undefined));

const formatServer = ({ host, port }: DnsEndpoint) => (isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`);

/** Parses `address`, `address:port` or `[address]:port`. Throws badResolver. */
export function readEndpoint(text: string): DnsEndpoint {
  if (isIP(text)) return { host: text, port: 53 };
  const [, bracketedHost, plainHost, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketedHost ?? plainHost ?? "";
  const number = Number(port ?? 53);
  if (!isIP(host) || number < 1 || number > 65_535) throw dnsErrors.badResolver({ server: text });
  return { host, port: number };
}
