import { getCACertificates } from "node:tls";
import { messageOf, type Clock, type Log } from "../../../kernel/index.ts";
import type { SmtpReply } from "../../messages/index.ts";
import type {
  ReplayableBody,
  DeliveryAttempt,
  DeliveryAgent,
  DaneLookup,
  Downgrade,
  LocalHop,
  MailResolver,
  DeliveryRequest,
  EnvelopeRecipient,
  PolicyLookup,
  RecipientResult,
  SmartHost,
  TlsResults,
} from "../types.ts";
import { createBreaker, type Breaker, type BreakerOptions } from "./breaker.ts";
import { SessionFailure, sessionFailure } from "./failure.ts";
import { createPool, type Pool } from "./pool.ts";
import { isTooManyRecipients, reply } from "./replies.ts";
import { createNextHopRoutes } from "./routes.ts";
import { hopName, type DeliverySession, type SessionTarget } from "./session.ts";
import { createTargets } from "./targets.ts";
import { DEFAULT_TIMEOUTS, type SmtpTimeouts } from "./timeouts.ts";
import { createSessionResults } from "./tls-results.ts";

export interface DeliveryAgentOptions {
  clock: Pick<Clock, "now">;
  log: Log;
  /** The name in EHLO; it should resolve to the sending address. */
  name: string;
  resolver: MailResolver;
  /** All mail goes to the first of these hosts that works. Default: to the domain's own servers. */
  smartHosts?: SmartHost[];
  /** The port of mail servers. Default 25. */
  port?: number;
  /**
   * Address families in order of preference. Default IPv4, then IPv6: many servers reject IPv6 peers without a reverse
   * name.
   */
  families?: (4 | 6)[];
  localAddress?: { 4?: string; 6?: string };
  /** Other names of this server, in addition to `name`. */
  ownNames?: string[];
  /**
   * True if mail may be sent to an address found in a foreign domain's DNS. Default: always. A server with a private
   * network behind it excludes that network.
   */
  mayConnect?: (address: string) => boolean;
  /** Returns the TLS policy of a domain. Default: opportunistic TLS. */
  policyFor?: PolicyLookup;
  /** Returns the DANE policy of a host; it takes precedence over the TLS policy. Default: none. */
  daneFor?: DaneLookup;
  /**
   * Records TLS results for reports. Default: nothing is recorded. Deliveries to smart hosts and to this server are not
   * recorded.
   */
  tlsResults?: TlsResults;
  /** Identifies local domains; not called if there are smart hosts. */
  localHop?: LocalHop;
  /** Converts messages for servers without 8BITMIME or SMTPUTF8. Default: such messages are rejected. */
  downgrade?: Downgrade;
  /** Trusted certificates in addition to the system's, PEM. */
  ca?: string | string[];
  timeouts?: Partial<SmtpTimeouts>;
  /** Maximum number of hosts tried per message. Default 4. */
  maxHosts?: number;
  messagesPerConnection?: number;
  idleMs?: number;
  maxIdle?: number;
  random?: () => number;
  /** Called when a host is paused after failures, and when it resumes. */
  onPause?: BreakerOptions["onPause"];
  onResume?: BreakerOptions["onResume"];
  onFailure?: BreakerOptions["onFailure"];
  onSuccess?: BreakerOptions["onSuccess"];
}

const SECOND_MS = 1000;

/** Delivers over SMTP: to the MX hosts of the domain, or to the smart hosts. */
export function createDeliveryAgent(options: DeliveryAgentOptions): DeliveryAgent & { breaker: Breaker } {
  const { clock, log, policyFor, daneFor, localHop, downgrade = refuseAll, maxHosts = 4, smartHosts = [] } = options;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const breaker = createBreaker({
    clock,
    failureThreshold: 3,
    minMs: 60 * SECOND_MS,
    maxMs: 30 * 60 * SECOND_MS,
    ...(options.onPause && { onPause: options.onPause }),
    ...(options.onResume && { onResume: options.onResume }),
    ...(options.onFailure && { onFailure: options.onFailure }),
    ...(options.onSuccess && { onSuccess: options.onSuccess }),
  });
  const targetsOf = createTargets({ routes: createNextHopRoutes(options), smartHosts, policyFor, daneFor, localHop });
  const tlsResults = createSessionResults(options.tlsResults);
  const pool: Pool = createPool({
    name: options.name,
    timeouts,
    ...(options.localAddress && { localAddress: options.localAddress }),
    // `ca` on its own would replace the system's certificates.
    ...(options.ca !== undefined && { ca: [...getCACertificates("default"), ...[options.ca].flat()] }),
    messagesPerConnection: options.messagesPerConnection ?? 100,
    idleMs: options.idleMs ?? 10 * SECOND_MS,
    maxIdle: options.maxIdle ?? 100,
  });

  /** Returns the connection for this message. If opportunistic TLS fails, continues without TLS (RFC 7435 3). */
  async function connect(
    domain: string,
    target: SessionTarget,
    signal: AbortSignal,
  ): Promise<{ session: DeliverySession; reused: boolean }> {
    try {
      const acquired = await pool.acquire(target, signal);
      tlsResults.established(domain, target, acquired.session);
      return acquired;
    } catch (err) {
      if (err instanceof SessionFailure) tlsResults.failed(domain, target, err);
      if (!(err instanceof SessionFailure) || !err.tls || target.policy.level !== "opportunistic" || target.implicitTls)
        throw err;
      log.debug({ peer: hopName(target), why: err.reply.text }, "outbound: TLS failed, message sent unencrypted");
      return pool.acquire({ ...target, policy: { level: "none" } }, signal);
    }
  }

  async function deliverTo(
    domain: string,
    target: SessionTarget,
    request: DeliveryRequest,
    to: EnvelopeRecipient[],
    signal: AbortSignal,
  ): Promise<RecipientResult[]> {
    for (;;) {
      const { session, reused } = await connect(domain, target, signal);
      try {
        return await runSession(session, request, to, signal);
      } catch (err) {
        // An idle connection may have died before this message: that does not count against the host.
        if (!reused || signal.aborted || !(err instanceof SessionFailure) || err.isLocal || err.afterMessage) throw err;
      } finally {
        pool.release(session);
      }
    }
  }

  /** Returns the message in a form that this server accepts (RFC 6152 3, RFC 6531 3.2). */
  async function fitBody(
    { peer: host, extensions }: DeliverySession,
    { body, own = false }: DeliveryRequest,
  ): Promise<{ ok: true; body: ReplayableBody } | { ok: false; reply: SmtpReply }> {
    const [eightBitMime, smtpUtf8] = [extensions.has("8BITMIME"), extensions.has("SMTPUTF8")];
    if ((eightBitMime || !body.eightBit) && (smtpUtf8 || !body.utf8Header)) return { ok: true, body };
    try {
      return await downgrade(body, { own, eightBitMime, smtpUtf8 });
    } catch (err) {
      throw new SessionFailure(reply(451, "4.3.0", `failed to convert the message for ${host}: ${messageOf(err)}`), {
        isLocal: true,
        cause: err,
      });
    }
  }

  async function runSession(
    session: DeliverySession,
    originalRequest: DeliveryRequest,
    to: EnvelopeRecipient[],
    signal: AbortSignal,
  ): Promise<RecipientResult[]> {
    const { peer: host, extensions, maxSize } = session;
    const tls = session.tlsVersion();
    const results: RecipientResult[] = [];
    const notifySuccess = new Set(
      extensions.has("DSN") ? to.filter(({ notify }) => notify?.includes("SUCCESS")).map(({ rcpt }) => rcpt) : [],
    );
    const add = (rcpt: string, outcome: RecipientResult["outcome"], answer: SmtpReply) =>
      results.push({
        rcpt,
        outcome,
        reply: answer,
        host,
        ...(tls !== undefined && { tls }),
        ...(outcome === "delivered" && notifySuccess.has(rcpt) && { nextHopNotifies: true as const }),
      });
    const addResultForAll = (outcome: RecipientResult["outcome"], answer: SmtpReply) => {
      for (const { rcpt } of to) add(rcpt, outcome, answer);
      return results;
    };
    if (!extensions.has("SMTPUTF8") && !isAscii(originalRequest.from))
      return addResultForAll(
        "permanent",
        reply(550, "5.6.7", `${host} does not support SMTPUTF8, which non-ASCII addresses need`),
      );
    const fittedBody = await fitBody(session, originalRequest);
    if (!fittedBody.ok)
      return addResultForAll(
        "permanent",
        reply(fittedBody.reply.code, fittedBody.reply.enhanced, `${host}: ${fittedBody.reply.text}`),
      );
    const request = { ...originalRequest, body: fittedBody.body };
    if (maxSize > 0 && request.body.size > maxSize)
      return addResultForAll(
        "permanent",
        reply(552, "5.3.4", `${host} accepts at most ${maxSize} bytes, the message has ${request.body.size}`),
      );
    for (let rest = to; rest.length > 0;) {
      const { group, others } = nextGroup(rest);
      const [{ rcpt, from = request.from }] = group as [EnvelopeRecipient];
      if (!extensions.has("SMTPUTF8") && !isAscii(rcpt)) {
        add(
          rcpt,
          "permanent",
          reply(550, "5.6.7", `${host} does not support SMTPUTF8, which non-ASCII addresses need`),
        );
        rest = rest.slice(1);
        continue;
      }
      const needsUtf8 =
        extensions.has("SMTPUTF8") &&
        (request.body.utf8Header || [from, ...group.map((one) => one.rcpt)].some((address) => !isAscii(address)));
      const answers = await runSessionOrKeep(session, { ...request, from }, group, needsUtf8, signal, results);
      const taken = answers.some(({ outcome }) => outcome === "delivered");
      const retryRcpts = new Set(
        taken ? answers.filter((one) => isTooManyRecipients(one.reply)).map((one) => one.rcpt) : [],
      );
      for (const one of answers) if (!retryRcpts.has(one.rcpt)) add(one.rcpt, one.outcome, one.reply);
      rest = [...group.filter((one) => retryRcpts.has(one.rcpt)), ...others];
      if (rest.length > 0 && !session.isUsable())
        throw new PartialDeliveryError(
          results,
          new SessionFailure(reply(451, "4.4.2", `${host} closed the connection`)),
        );
    }
    return results;
  }

  /** A connection failure in the second transaction must not discard the results of the first. */
  async function runSessionOrKeep(
    session: DeliverySession,
    request: DeliveryRequest,
    group: EnvelopeRecipient[],
    smtputf8: boolean,
    signal: AbortSignal,
    before: RecipientResult[],
  ) {
    try {
      return await session.send(request, group, { smtputf8 }, signal);
    } catch (err) {
      throw before.length > 0 ? new PartialDeliveryError(before, err) : err;
    }
  }

  async function attempt(domain: string, request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryAttempt> {
    const resultsByRcpt = new Map<string, RecipientResult>();
    let hasReached = false;
    const attemptResult = () => ({
      results: request.to.map(({ rcpt }) => resultsByRcpt.get(rcpt)!),
      reached: hasReached,
      interrupted: signal.aborted,
    });
    /** Sets the result of all recipients that do not have a better one. */
    const setRemaining = (outcome: RecipientResult["outcome"], answer: SmtpReply, host?: string) => {
      for (const { rcpt } of request.to)
        if (!resultsByRcpt.has(rcpt))
          resultsByRcpt.set(rcpt, { rcpt, outcome, reply: answer, ...(host !== undefined && { host }) });
    };

    const targets = await targetsOf(domain, {
      ignorePolicy: tlsResults.isReport(request.from),
      onExcluded: (hop, policy, failure) => tlsResults.excluded(domain, hop, policy, failure),
    });
    if (!Array.isArray(targets)) {
      hasReached = targets.permanent;
      setRemaining(targets.permanent ? "permanent" : "temporary", targets.reply);
      return attemptResult();
    }
    let last: { reply: SmtpReply; host?: string } | undefined;
    let isDeclined = true;
    let triedCount = 0;
    for (const target of targets) {
      const remaining = request.to.filter(
        ({ rcpt }) => (resultsByRcpt.get(rcpt)?.outcome ?? "temporary") === "temporary",
      );
      if (remaining.length === 0 || triedCount === maxHosts || signal.aborted) break;
      const peer = hopName(target);
      const currentPause = breaker.activePause(peer);
      if (currentPause !== undefined) {
        isDeclined = false;
        last ??= {
          reply: reply(
            451,
            "4.4.1",
            `${peer} is paused until ${new Date(currentPause.until).toISOString()} after failures: ${currentPause.why}`,
          ),
          host: peer,
        };
        continue;
      }
      triedCount++;
      try {
        mergeResults(resultsByRcpt, await deliverTo(domain, target, request, remaining, signal));
        hasReached = true;
        breaker.recordSuccess(peer);
      } catch (err) {
        if (err instanceof PartialDeliveryError) {
          mergeResults(resultsByRcpt, err.results);
          hasReached = true;
        }
        const failure = sessionFailure(err instanceof PartialDeliveryError ? err.cause : err, peer);
        last = { reply: failure.reply, host: peer };
        isDeclined &&= failure.reply.code >= 500;
        if (failure.isLocal) break;
        breaker.recordFailure(peer, failure.reply.text);
        if (failure.afterMessage) {
          hasReached = true;
          break;
        }
      }
    }
    const answer = last ?? { reply: reply(451, "4.4.7", "the attempt was aborted") };
    setRemaining(
      isDeclined && answer.reply.code >= 500 ? "permanent" : "temporary",
      toTemporaryUnless(isDeclined, answer.reply),
      answer.host,
    );
    return attemptResult();
  }

  return {
    breaker,
    toSmartHost: smartHosts.length > 0,
    async deliver(domain, request, signal) {
      try {
        return await attempt(domain, request, signal);
      } catch (err) {
        log.error({ err, domain }, "outbound: delivery failed with an internal error");
        const results = request.to.map(({ rcpt }): RecipientResult => ({
          rcpt,
          outcome: "temporary",
          reply: reply(451, "4.3.0", "the message could not be delivered because of an internal error"),
        }));
        return { results, reached: true, interrupted: signal.aborted };
      }
    },
    async resume(domain) {
      const targets = await targetsOf(domain).catch(() => []);
      if (Array.isArray(targets)) for (const target of targets) breaker.resume(hopName(target));
    },
    close: () => pool.close(),
  };
}

const refuseAll: Downgrade = async ({ utf8Header }, { smtpUtf8 }) => ({
  ok: false,
  reply:
    utf8Header && !smtpUtf8
      ? reply(550, "5.6.7", "the server does not support SMTPUTF8, which UTF-8 header fields need")
      : reply(554, "5.6.3", "the server does not support 8BITMIME"),
});

/** Thrown if some recipients were done when the connection failed. */
class PartialDeliveryError extends Error {
  readonly results: RecipientResult[];
  constructor(results: RecipientResult[], cause: unknown) {
    super("the connection broke between two transactions", { cause });
    this.results = results;
  }
}

/** The result of a later host counts, unless an earlier one reported more than a connection failure. */
function mergeResults(resultsByRcpt: Map<string, RecipientResult>, results: RecipientResult[]) {
  for (const result of results) resultsByRcpt.set(result.rcpt, result);
}

function toTemporaryUnless(isDeclined: boolean, answer: SmtpReply): SmtpReply {
  return isDeclined || answer.code < 500
    ? answer
    : { ...answer, code: 451, enhanced: answer.enhanced.replace(/^5/, "4") };
}

/** Recipients with the same envelope sender, NOTIFY and ORCPT share a transaction. */
function nextGroup(to: EnvelopeRecipient[]): { group: EnvelopeRecipient[]; others: EnvelopeRecipient[] } {
  const groupKey = ({ from, notify, orcpt, rcpt }: EnvelopeRecipient) =>
    JSON.stringify([from, notify, orcpt, isAscii(rcpt)]);
  const first = groupKey(to[0]!);
  const group = to.filter((one) => groupKey(one) === first).slice(0, MAX_RECIPIENTS);
  const taken = new Set(group);
  return { group, others: to.filter((one) => !taken.has(one)) };
}

/** The minimum that every server must accept in one transaction (RFC 5321 4.5.3.1.8). */
const MAX_RECIPIENTS = 100;

// oxlint-disable-next-line no-control-regex
const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text);
