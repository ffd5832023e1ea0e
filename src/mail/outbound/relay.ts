import type { Clock } from "../../kernel/index.ts";
import { smtpErrorOf, replyOf } from "../errors.ts";
import type { Outbound, DeliveryResult, SmtpReply, Trace } from "../messages/index.ts";
import { resolveRecipients, senderOf } from "./addresses.ts";
import { bodyPropertiesOf } from "./queue/facts.ts";
import { rcptOf } from "./queue/queue.ts";
import { reply } from "./smtp/replies.ts";
import type { DeliveryAgent, DeliveryRequest, RecipientResult } from "./types.ts";

interface RelayDeps {
  agent: DeliveryAgent;
  clock: Pick<Clock, "now">;
  trace: Trace;
  /** Maximum number of concurrent relays; further ones are deferred. */
  maxConcurrent: number;
  /** Number of domains of one message that are tried concurrently. */
  maxConcurrentDomains?: number;
}

/**
 * Delivers while the caller waits, for at most `budgetMs`; unfinished recipients get a temporary failure. Never
 * rejects.
 */
type Relay = (mail: Outbound, options: { budgetMs: number; signal?: AbortSignal }) => Promise<RecipientResult[]>;

export function createRelay({ agent, clock, trace, maxConcurrent, maxConcurrentDomains = 5 }: RelayDeps): Relay {
  let busyCount = 0;

  async function relay(mail: Outbound, signal: AbortSignal): Promise<RecipientResult[]> {
    const from = senderOf(mail.from);
    const { good, bad } = resolveRecipients(mail);
    const facts = await bodyPropertiesOf(mail.raw());
    const { ret, envid } = mail.dsn ?? {};
    const request = {
      from,
      own: mail.cause !== "forward",
      body: { ...facts, open: () => mail.raw() },
      ...(ret && { ret }),
      ...(envid !== undefined && { envid }),
    } satisfies Omit<DeliveryRequest, "to">;
    const groups = [...Map.groupBy(good, ({ domain }) => (agent.toSmartHost ? "" : domain))];
    const results: RecipientResult[] = [...bad];
    async function runLane() {
      for (let next = groups.shift(); next !== undefined; next = groups.shift()) {
        const [domain, to] = next;
        results.push(...(await agent.deliver(domain, { ...request, to }, signal)).results);
      }
    }
    await Promise.all(Array.from({ length: Math.min(maxConcurrentDomains, groups.length) }, runLane));
    return results;
  }

  return async (mail, { budgetMs, signal }) => {
    if (busyCount >= maxConcurrent)
      return mail.to.map((rcpt) => ({
        rcpt,
        outcome: "temporary",
        reply: reply(451, "4.3.2", "Too many messages are being relayed, try again later"),
      }));
    busyCount++;
    // AbortSignal.timeout() would fire for every message, long after most of them are done.
    const budget = new AbortController();
    const timer = setTimeout(() => budget.abort(new Error(`not delivered within ${budgetMs} ms`)), budgetMs);
    try {
      const results = await relay(mail, signal ? AbortSignal.any([signal, budget.signal]) : budget.signal);
      for (const { rcpt, outcome, reply: hostReply, host, tls } of results) {
        const step = outcome === "delivered" ? "delivered" : outcome === "permanent" ? "bounced" : "deferred";
        trace({
          message: mail.inbound?.id ?? mail.messageId,
          at: new Date(clock.now()),
          step,
          ...rcptOf(mail, rcpt),
          ...(mail.account !== undefined && { account: mail.account }),
          ...(mail.zone !== undefined && { zone: mail.zone }),
          detail: {
            ...hostReply,
            messageId: mail.messageId,
            to: rcpt,
            cause: mail.cause,
            inSession: true,
            ...(host !== undefined && { host }),
            ...(tls !== undefined && { tls }),
          },
        });
      }
      return results;
    } catch (err) {
      const said = replyOf(smtpErrorOf(err));
      return mail.to.map((rcpt) => ({ rcpt, outcome: said.code < 500 ? "temporary" : "permanent", reply: said }));
    } finally {
      clearTimeout(timer);
      busyCount--;
    }
  };
}

/**
 * Returns results in the order and spelling of the caller: duplicate recipients share the result of their address.
 * Recipients without a result are deferred, because delivery is not confirmed.
 */
export const deliveryResults = (to: string[], results: RecipientResult[]): DeliveryResult[] =>
  toDeliveryResults(to, results, {
    ok: false,
    temporary: true,
    reply: reply(451, "4.3.0", "Message processing failed, try again later"),
  });

/** Like `deliveryResults`, but from rejections only: all other recipients were accepted. */
export const resultsWithRejections = (to: string[], refused: RecipientResult[]): DeliveryResult[] =>
  toDeliveryResults(to, refused, { ok: true });

function toDeliveryResults(
  to: string[],
  results: RecipientResult[],
  fallback: { ok: true } | { ok: false; temporary: boolean; reply: SmtpReply },
): DeliveryResult[] {
  const byRcpt = new Map(results.map((result) => [result.rcpt, result]));
  return to.map((rcpt): DeliveryResult => {
    const recipientResult = byRcpt.get(rcpt) ?? byRcpt.get(resolveRecipients({ to: [rcpt] }).good[0]?.rcpt ?? "");
    if (recipientResult === undefined) return { rcpt, ...fallback };
    return recipientResult.outcome === "delivered"
      ? { rcpt, ok: true }
      : { rcpt, ok: false, temporary: recipientResult.outcome === "temporary", reply: recipientResult.reply };
  });
}
