import { UserError, type Clock, type Ids } from "../../kernel/index.ts";
import { headerValue, rfc5322Date } from "../../protocol/rfc5322/index.ts";
import type { Db } from "../../store/index.ts";
import type { Signer } from "../authenticate/index.ts";
import type { DkimKeys } from "../dkim-keys/index.ts";
import { mailErrors, mebibytes, replyOf } from "../errors.ts";
import {
  changeHeader,
  formatField,
  withFields,
  withHeader,
  type Spool,
  type MailSource,
  type Outbound,
  type DeliveryResult,
  type Trace,
  type Transport,
} from "../messages/index.ts";
import { createQuota } from "../../kernel/quota.ts";
import { createLocalLimits, type RateLimits } from "../../kernel/rate-limits.ts";
import type { BouncesService } from "../bounces/index.ts";
import type { Suppressions } from "../suppressions/index.ts";
import { readOutgoingMessage, type OutgoingMessage } from "./outgoing-message.ts";
import { composeWithLimit, DEFAULT_SEND_LIMITS, draftPartsOf, type SendLimits } from "./send-email.ts";
import { senderDomain, type SenderDomain, type SenderDeps } from "./sender.ts";
import type { Sending, SendRequest, SendResult } from "./types.ts";
import { createUsage } from "./usage.ts";

export interface SendingDeps extends SenderDeps {
  db: Db;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
  trace: Trace;
  spool: Pick<Spool, "fromMemory">;
  /** Tries to deliver while the caller waits, and queues deferred recipients. */
  transport: Transport;
  /** Queues mail, for a client that waits only until the message is durable. */
  queue: Transport;
  signer: Signer;
  dkimKeys: Pick<DkimKeys, "signers">;
  suppressions: Pick<Suppressions, "findSuppressed">;
  /** Return paths for bounces. If omitted, bounces go to the sender. */
  bounces?: Pick<BouncesService, "pathFor" | "pathsFor" | "recordRejection">;
  isVerified(account: string, address: string): Promise<boolean>;
  /** Stores mail from a domain that keeps sent messages. The caller still owns the source. */
  storeSent?: (mail: { account: string; zone: string; messageId: string; source: MailSource }) => Promise<void>;
  limits?: Partial<SendingLimits>;
  /** Counts messages per minute. Default: counts within this process. */
  rateLimits?: Pick<RateLimits, "quota">;
}

export interface SendingLimits extends SendLimits {
  /** Messages per minute per account; 0 means no limit. */
  perMinute: number;
  /** Messages per day per account to unverified addresses; 0 means no limit. */
  perDay: number;
}

/**
 * Fields removed from a complete message. Message-ID and DKIM-Signature are replaced by local ones: a new identifier
 * would break an existing signature. Bcc: RFC 5322 3.6.3. The others are added in transit, not by the sender.
 */
const DROPPED_FIELDS = new Set([
  "message-id",
  "dkim-signature",
  "bcc",
  "return-path",
  "feedback-id",
  "arc-seal",
  "arc-message-signature",
  "arc-authentication-results",
  "cfbl-address",
  "cfbl-feedback-id",
  "tls-report-domain",
  "tls-report-submitter",
]);

/**
 * Maximum number of rejections logged per minute per account, so that a client that retries endlessly does not fill the
 * disk.
 */
const MAX_REFUSALS_PER_MINUTE = 60;
const MINUTE_MS = 60_000;

export function createSending(deps: SendingDeps): Sending {
  const {
    db,
    clock,
    ids,
    trace,
    spool,
    transport,
    queue,
    signer,
    dkimKeys,
    suppressions,
    bounces,
    isVerified,
    storeSent,
    rateLimits = createLocalLimits(clock),
  } = deps;
  const limits: SendingLimits = { ...DEFAULT_SEND_LIMITS, perMinute: 0, perDay: 0, ...deps.limits };
  const minuteQuota = rateLimits.quota("mail.sending", { limit: limits.perMinute, perMs: MINUTE_MS });
  const refusals = createQuota({ clock, limit: MAX_REFUSALS_PER_MINUTE, perMs: MINUTE_MS });
  const usage = createUsage({ db, clock, limit: limits.perDay });

  async function send(request: SendRequest): Promise<SendResult> {
    const outgoing = readOutgoingMessage(request);
    const { recipients, author } = outgoing;
    if (recipients.length === 0)
      throw mailErrors.fieldMissing({
        field: request.via === "rest_raw" ? "recipients" : "to",
        fix: "Add at least one recipient.",
      });
    if (recipients.length > limits.recipients)
      throw mailErrors.tooManyRecipients({ count: recipients.length, limit: limits.recipients });
    const messageId = ids.messageId(author.domain);
    try {
      return await sendMessage(request, outgoing, messageId);
    } catch (err) {
      if (err instanceof UserError)
        traceRefused(
          request,
          outgoing,
          messageId,
          err,
          recipients.map(({ text }) => text),
        );
      throw err;
    }
  }

  /** Logs a rejection for the account; `to` contains the recipients that did not get the message. */
  function traceRefused(
    { account, via, script }: SendRequest,
    { author, sender, subject }: OutgoingMessage,
    messageId: string,
    refusal: UserError,
    to: string[],
  ): void {
    if (refusals.consume(account) > 0) return;
    const { code, enhanced } = refusal.entry.smtp === undefined ? { code: 550, enhanced: "5.6.0" } : replyOf(refusal);
    trace({
      message: messageId,
      at: new Date(clock.now()),
      account,
      step: "rejected",
      detail: {
        via,
        from: (sender ?? author).address,
        to,
        messageId,
        subject,
        code,
        enhanced,
        text: refusal.message,
        ...(script !== undefined && { script }),
      },
    });
  }

  async function sendMessage(request: SendRequest, outgoing: OutgoingMessage, messageId: string): Promise<SendResult> {
    const { recipients, author, sender } = outgoing;
    const { account } = request;
    const areAllVerified = once(async () =>
      (await Promise.all(recipients.map(({ mailbox }) => isVerified(account, mailbox.address)))).every(Boolean),
    );
    const from = await senderDomain(deps, account, author, areAllVerified);
    if (sender !== undefined && sender.domain !== author.domain)
      await senderDomain(deps, account, sender, areAllVerified);
    for (const { field, mailbox } of outgoing.otherSenders)
      await senderDomain(deps, account, mailbox, areAllVerified, field);
    if (request.raw !== undefined) await checkSize(request.raw, areAllVerified);
    const { left: remaining, suppressed } = await withoutSuppressed(request, outgoing, from);
    if (suppressed.length > 0)
      traceRefused(
        request,
        outgoing,
        messageId,
        mailErrors.recipientSuppressed({ address: suppressed[0] }),
        suppressed,
      );
    if (remaining.length === 0)
      return { messageId, delivered: [], queued: [], permanentBounces: [], rejections: [], suppressed };
    const wait = await minuteQuota.consume(account);
    if (wait > 0) throw mailErrors.sendingTooFast({ limit: limits.perMinute, retryAfter: wait });
    const source = await sourceOf(request, outgoing, messageId);
    // The built message may be larger than its parts.
    await checkSize(source, areAllVerified);
    if (limits.perDay > 0 && !(await areAllVerified())) await usage.consume(account);
    const deliveryResults = await handOver(request, { outgoing, left: remaining, from, messageId, source });
    return { messageId, ...(await toSendResult(request, from, remaining, deliveryResults)), suppressed };
  }

  /** A small message is within both limits, so its recipients need no check. */
  async function checkSize({ size }: MailSource, areAllVerified: () => Promise<boolean>): Promise<void> {
    if (size <= limits.messageBytes) return;
    const limit = (await areAllVerified()) ? limits.verifiedMessageBytes : limits.messageBytes;
    if (size > limit) throw mailErrors.messageTooLarge({ limit: mebibytes(limit) });
  }

  /**
   * Sends a submitted message to the recipients that are not suppressed (SMTP cannot reject only some of them after
   * DATA, RFC 5321); a call is rejected as a whole, unless its domain is configured otherwise.
   */
  async function withoutSuppressed(
    { account, via }: SendRequest,
    { recipients, author }: OutgoingMessage,
    { sending }: SenderDomain,
  ) {
    const suppressedAddresses = new Set(
      await suppressions.findSuppressed(
        account,
        author.domain,
        recipients.map(({ mailbox }) => mailbox.address),
      ),
    );
    const remaining = recipients.filter(({ mailbox }) => !suppressedAddresses.has(mailbox.address));
    const suppressed = recipients
      .filter(({ mailbox }) => suppressedAddresses.has(mailbox.address))
      .map(({ text }) => text);
    if (suppressed.length > 0 && via !== "smtp" && sending?.dropSuppressed !== true)
      throw mailErrors.recipientSuppressed({ address: suppressed[0], addresses: suppressed });
    return { left: remaining, suppressed };
  }

  async function sourceOf(
    { draft, raw }: SendRequest,
    { message }: OutgoingMessage,
    messageId: string,
  ): Promise<MailSource> {
    const at = new Date(clock.now());
    if (draft !== undefined)
      return spool.fromMemory(
        await composeWithLimit(draft, {
          maxBytes: Math.max(limits.messageBytes, limits.verifiedMessageBytes),
          messageId,
          at,
        }),
      );
    const date = headerValue(message!.fields, "date") === undefined ? formatField("Date", rfc5322Date(at)) : "";
    return withHeader(
      raw!,
      changeHeader(raw!, { drop: DROPPED_FIELDS, add: formatField("Message-ID", messageId) + date }),
    );
  }

  interface Handing {
    outgoing: OutgoingMessage;
    left: OutgoingMessage["recipients"];
    from: SenderDomain;
    messageId: string;
    source: MailSource;
  }

  async function handOver(
    { account, via, script, draft, dsn }: SendRequest,
    {
      outgoing: { author, sender, subject },
      left: remaining,
      from: { zone, name, use, sending },
      messageId,
      source,
    }: Handing,
  ): Promise<DeliveryResult[]> {
    const to = remaining.map(({ mailbox }) => mailbox.address);
    const keys = await dkimKeys.signers({ zone, domain: name, use });
    const signedSource = withFields(source, await signer.sign(source, { dkim: keys }));
    const envelopeSenders =
      sender === undefined
        ? { from: "" }
        : await returnPaths({ account, zone, name, use, messageId, to, sender: sender.address });
    if (sending?.previewEnabled === true) await storeSent?.({ account, zone, messageId, source: signedSource });
    trace({
      message: messageId,
      at: new Date(clock.now()),
      account,
      zone,
      step: "sent",
      detail: {
        via,
        from: (sender ?? author).address,
        to,
        messageId,
        subject,
        size: signedSource.size,
        ...(script !== undefined && { script }),
      },
    });
    const mail: Outbound = {
      messageId,
      cause: "send",
      ...envelopeSenders,
      to,
      raw: () => signedSource.open(),
      account,
      zone,
      senderAuthenticated: true,
      ...(script !== undefined && { script }),
      ...(dsn && { dsn }),
      ...(draft && { parts: draftPartsOf(draft) }),
    };
    return (via === "smtp" ? queue : transport).deliver(mail);
  }

  async function returnPaths({
    use,
    account,
    zone,
    name,
    messageId,
    to,
    sender,
  }: Pick<SenderDomain, "use" | "zone" | "name"> & {
    account: string;
    messageId: string;
    to: string[];
    sender: string;
  }): Promise<Pick<Outbound, "from" | "fromFor">> {
    if (bounces === undefined) return { from: sender };
    // The name has no bounce records of its own: bounces arrive at the forwarding domain of this server and are passed on
    // to the sender.
    if (use !== "sending")
      return {
        from: await bounces.pathFor({
          account,
          zone,
          sender,
          senderAuthenticated: true,
          inbound: { id: messageId, rcpt: sender },
        }),
      };
    const pathAddresses = await bounces.pathsFor({ account, zone, domain: name, messageId, to, from: sender });
    return {
      from: pathAddresses[0]!,
      ...(to.length > 1 && { fromFor: new Map(to.map((rcpt, at) => [rcpt, pathAddresses[at]!])) }),
    };
  }

  async function toSendResult(
    { account }: SendRequest,
    { name }: SenderDomain,
    remaining: OutgoingMessage["recipients"],
    deliveryResults: DeliveryResult[],
  ): Promise<Omit<SendResult, "messageId" | "suppressed">> {
    const texts = new Map(remaining.map(({ text, mailbox }) => [mailbox.address, text]));
    const textsOf = (resultsSubset: DeliveryResult[]) => resultsSubset.map(({ rcpt }) => texts.get(rcpt) ?? rcpt);
    const refusedResults = deliveryResults.filter((deliveryResult) => !deliveryResult.ok);
    // Even the queue did not accept the message: the caller still has it, and can retry.
    if (refusedResults.length === deliveryResults.length && refusedResults.every(({ temporary }) => temporary)) {
      const [{ rcpt, reply }] = refusedResults as [(typeof refusedResults)[number]];
      throw mailErrors.deliveryFailed({
        address: rcpt,
        status: reply.code,
        reply: `${reply.enhanced} ${reply.text}`,
        answer: reply,
      });
    }
    // The next rejection can be recorded instead; an error now would make the caller send the whole message again.
    for (const { rcpt, reply, temporary } of refusedResults)
      if (!temporary) await bounces?.recordRejection({ account, domain: name, rcpt, reply }).catch(() => {});
    return {
      delivered: textsOf(
        deliveryResults.filter((deliveryResult) => deliveryResult.ok && deliveryResult.queued !== true),
      ),
      queued: textsOf(deliveryResults.filter((deliveryResult) => deliveryResult.ok && deliveryResult.queued === true)),
      permanentBounces: textsOf(refusedResults),
      rejections: refusedResults.map(({ rcpt, reply }) => ({ rcpt: texts.get(rcpt) ?? rcpt, reply })),
    };
  }

  return { send, limits: usage.of, sweep: usage.sweep };
}

function once<Value>(work: () => Promise<Value>): () => Promise<Value> {
  let cachedValue: Promise<Value> | undefined;
  return () => (cachedValue ??= work());
}
