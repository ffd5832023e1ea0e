import { createHash } from "node:crypto";
import type { Clock, Ids } from "../../kernel/index.ts";
import {
  MAX_BOUNCE_BYTES,
  readBounce,
  readFeedback,
  type BouncedRecipient,
  type Feedback,
} from "../../protocol/dsn/index.ts";
import { headerValue, parseMessageId, readHeader, isSameMailAddress } from "../../protocol/rfc5322/index.ts";
import type { Srs } from "../../protocol/srs/index.ts";
import { replyOf } from "../errors.ts";
import type {
  Envelope,
  MailSource,
  DeliveryResult,
  SmtpReply,
  Trace,
  TraceEvent,
  Transport,
} from "../messages/index.ts";
import { suppressionFor } from "./classify.ts";
import { bounceErrors } from "./errors.ts";
import type { FailureHandler } from "./failures.ts";
import type { ReturnPaths } from "./paths.ts";
import type { PathRow, BouncesTable } from "./bounces-table.ts";

interface BounceProcessorDeps {
  srs: Srs;
  paths: ReturnPaths;
  table: BouncesTable;
  failures: FailureHandler;
  queue: Transport;
  trace: Trace;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
  forwardDomain: string;
  /** Maximum number of messages per hour to one return path, or forwarded to one sender. */
  perPath: number;
}

interface ReturnPathMail {
  rcpt: string;
  envelope: Pick<Envelope, "from">;
  source: MailSource;
  isAuthenticated: () => Promise<boolean>;
}

/** How long a repeated report is recognized: longer than any server retries to send a report. */
const DUPLICATE_WINDOW_MS = 10 * 86_400_000;

/** Processes mail to return paths: bounces, complaints and automatic replies. */
export function createBounceProcessor({
  srs,
  paths,
  table,
  failures,
  queue,
  trace,
  clock,
  ids,
  forwardDomain,
  perPath,
}: BounceProcessorDeps) {
  /** Returns the rejection if it depends only on the envelope; otherwise undefined. */
  function refusal(rcpt: string, from: string): SmtpReply | undefined {
    if (srs.isOurs(rcpt)) {
      // Every recipient of a forward sees the SRS address of its sender. The address accepts only bounces, so that it
      // cannot be used to write to the sender.
      if (from !== "") return replyOf(bounceErrors.onlyReports());
      const srsResult = srs.reverse(rcpt, clock.now());
      return srsResult.ok
        ? undefined
        : replyOf(srsResult.why === "expired" ? bounceErrors.pathExpired() : bounceErrors.noSuchPath());
    }
    if (paths.complaintDomainOf(rcpt) !== undefined) return undefined;
    const pathResult = paths.read(rcpt, clock.now());
    return pathResult.ok
      ? undefined
      : replyOf(pathResult.why === "expired" ? bounceErrors.pathExpired() : bounceErrors.noSuchPath());
  }

  async function process(mail: ReturnPathMail): Promise<DeliveryResult> {
    const { rcpt, envelope } = mail;
    const refusalReply = refusal(rcpt, envelope.from);
    if (refusalReply !== undefined) return settledBy(rcpt, refusalReply);
    const duplicateKey = duplicateKeyOf(mail);
    if (duplicateKey !== undefined && (await table.marked([duplicateKey])).size > 0) {
      recordStep(mail.source.id, "dropped", { why: "duplicate report" }, { rcpt });
      return { rcpt, ok: true };
    }
    if ((await table.count(`at ${rcpt.toLowerCase()}`, clock.now())) > perPath)
      return settledBy(rcpt, replyOf(bounceErrors.tooManyReports()));
    const result = srs.isOurs(rcpt)
      ? await processSrs(mail)
      : paths.complaintDomainOf(rcpt) !== undefined
        ? await processComplaint(mail)
        : await processPath(mail);
    // This comes last: a process that dies before this point has not replied, so the report is sent again.
    if (result.ok && duplicateKey !== undefined)
      await table.mark([duplicateKey], clock.now() + DUPLICATE_WINDOW_MS, clock.now());
    return result;
  }

  async function processSrs({ rcpt, source }: ReturnPathMail): Promise<DeliveryResult> {
    const srsResult = srs.reverse(rcpt, clock.now());
    if (!srsResult.ok) return settledBy(rcpt, replyOf(bounceErrors.noSuchPath()));
    // A null sender does not prove that this is a bounce: other mail would reach the original sender with a local
    // signature.
    if (readBounce(await beginning(source)) === undefined) return settledBy(rcpt, replyOf(bounceErrors.onlyReports()));
    return forwardMessage(rcpt, source, srsResult.address, undefined);
  }

  async function processPath({ rcpt, envelope, source, isAuthenticated }: ReturnPathMail): Promise<DeliveryResult> {
    const foundPath = await pathAt(rcpt);
    if (foundPath === undefined) return settledBy(rcpt, replyOf(bounceErrors.pathExpired()));
    const { path } = foundPath;
    const bytes = await beginning(source);
    const bounce = envelope.from === "" ? readBounce(bytes) : undefined;
    const feedback = bounce === undefined && path.kind === "sent" ? readFeedback(bytes) : undefined;
    if (feedback !== undefined) return processFeedback(rcpt, source, foundPath, feedback, isAuthenticated);
    if (bounce === undefined && (envelope.from !== "" || path.kind === "forward"))
      return settledBy(rcpt, replyOf(bounceErrors.onlyReports()));
    for (const one of bounce?.recipients ?? []) await noteBounce(foundPath, one, bounce!.kind === "guess");
    if (path.kind === "forward") return processForwarded(rcpt, source, path);
    if (bounce !== undefined) return recordNoted(source, rcpt, path);
    // Autoresponders also use the return path; their replies are dropped.
    recordStep(source.id, "dropped", { why: "not a delivery report", about: path.header_id }, { rcpt, path });
    return { rcpt, ok: true };
  }

  async function pathAt(address: string): Promise<FoundPath | undefined> {
    const pathResult = paths.read(address, clock.now());
    const path = pathResult.ok ? await table.path(pathResult.id) : undefined;
    return pathResult.ok && path !== undefined ? { path, member: pathResult.member } : undefined;
  }

  /**
   * A complaint suppresses an address permanently, and every recipient of a message sees its return path, so only
   * complaints by authenticated authors count.
   */
  async function processFeedback(
    rcpt: string,
    source: MailSource,
    foundPath: FoundPath,
    feedback: Feedback,
    isAuthenticated: () => Promise<boolean>,
  ): Promise<DeliveryResult> {
    if (!(await isAuthenticated())) return settledBy(rcpt, replyOf(bounceErrors.reporterUnknown()));
    await recordComplaint(foundPath, feedback);
    return recordNoted(source, rcpt, foundPath.path);
  }

  /** Records the report in the log of the original message; its own log entry ends here. */
  function recordNoted(source: MailSource, rcpt: string, path: PathRow): DeliveryResult {
    recordStep(source.id, "handled", { report: true, about: path.header_id }, { rcpt, path });
    return { rcpt, ok: true };
  }

  async function processForwarded(rcpt: string, source: MailSource, path: PathRow): Promise<DeliveryResult> {
    if (path.sender !== "") return forwardMessage(rcpt, source, path.sender, path);
    // The original sender was not authenticated: a report to it could reach an uninvolved third party.
    recordStep(
      source.id,
      "dropped",
      { why: "the sender is not authenticated", about: path.message_id },
      { rcpt, path },
    );
    return { rcpt, ok: true };
  }

  /** Returns a bounce to the original sender, with a null sender so that it cannot bounce again. */
  async function forwardMessage(
    rcpt: string,
    source: MailSource,
    to: string,
    path: PathRow | undefined,
  ): Promise<DeliveryResult> {
    if ((await table.count(`to ${to.toLowerCase()}`, clock.now())) > perPath)
      return settledBy(rcpt, replyOf(bounceErrors.tooManyReports()));
    const account = path?.account_id ? { account: path.account_id } : {};
    const [result] = await queue.deliver({
      messageId: ids.messageId(forwardDomain),
      cause: "forward",
      from: "",
      to: [to],
      raw: () => source.open(),
      inbound: { id: source.id, rcpt },
      ...account,
    });
    if (result !== undefined && !result.ok) return { ...result, rcpt };
    recordStep(source.id, "forwarded", { to, report: true }, { rcpt, path });
    return { rcpt, ok: true };
  }

  /**
   * Handles mail to abuse@ of a bounce domain: the complaints that providers send there contain the return path of the
   * message.
   */
  async function processComplaint({ rcpt, source, isAuthenticated }: ReturnPathMail): Promise<DeliveryResult> {
    const feedback = readFeedback(await beginning(source));
    for (const address of [feedback?.mailFrom, feedback?.returnPath]) {
      const foundPath = address === undefined ? undefined : await pathAt(address);
      if (feedback !== undefined && foundPath?.path.kind === "sent")
        return processFeedback(rcpt, source, foundPath, feedback, isAuthenticated);
    }
    return settledBy(rcpt, replyOf(bounceErrors.onlyReports()));
  }

  async function noteBounce(foundPath: FoundPath, one: BouncedRecipient, guessed: boolean): Promise<void> {
    const { path } = foundPath;
    const rcpt = recipientOf(foundPath, [one.original, one.address]);
    const code = Number(/^\s*(\d{3})\b/.exec(one.diagnostic ?? "")?.[1] ?? 0);
    const step = one.action === "failed" ? "bounced" : one.action === "delayed" ? "deferred" : "delivered";
    const words = { ...(code === 0 ? {} : { code }), enhanced: one.status, text: one.diagnostic ?? "" };
    recordStep(
      path.message_id,
      step,
      {
        ...words,
        report: true,
        to: one.address,
        messageId: path.header_id,
        ...(one.remoteMta !== undefined && { host: one.remoteMta }),
      },
      { rcpt: path.rcpt ?? rcpt ?? one.address, path },
    );
    if (path.kind !== "sent" || rcpt === undefined || one.action !== "failed") return;
    const reason = suppressionFor({
      status: one.status,
      ...(code === 0 ? {} : { code }),
      text: one.diagnostic ?? "",
      guessed,
    });
    await failures.suppress(path.account_id, rcpt, reason, {
      ...domainOf(path),
      note: `${one.status} ${one.diagnostic ?? ""}`.trim(),
    });
  }

  async function recordComplaint(foundPath: FoundPath, feedback: Feedback): Promise<void> {
    const { path } = foundPath;
    const rcpt = recipientOf(foundPath, [...feedback.recipients, ...feedback.to]);
    recordStep(
      path.message_id,
      "bounced",
      {
        complaint: feedback.type,
        report: true,
        messageId: path.header_id,
        ...(feedback.userAgent !== undefined && { host: feedback.userAgent }),
      },
      { ...(rcpt !== undefined && { rcpt }), path },
    );
    // Reports that a message is not spam, and reports about signatures, suppress no address (RFC 5965 7.3, RFC 6591).
    if (rcpt === undefined || feedback.type === "not-spam" || feedback.type === "auth-failure") return;
    await failures.suppress(path.account_id, rcpt, "complaint", {
      ...domainOf(path),
      note: `feedback report: ${feedback.type}`,
    });
  }

  function recordStep(
    message: string,
    step: TraceEvent["step"],
    detail: Record<string, unknown>,
    { rcpt, path }: { rcpt?: string; path?: PathRow | undefined },
  ) {
    trace({
      message,
      at: new Date(clock.now()),
      step,
      detail,
      ...(rcpt !== undefined && { rcpt }),
      ...(path !== undefined && path.account_id !== "" && { account: path.account_id }),
      ...(path?.zone_id != null && { zone: path.zone_id }),
    });
  }

  return { refusal, process };
}

interface FoundPath {
  path: PathRow;
  /** Index of the recipient this return path was created for. */
  member: number | undefined;
}

/**
 * Returns the recipient whose return path received the report, even if the report names another address, since aliases
 * redirect mail. Undefined for a report about another recipient of the message, whose own return path the reporter does
 * not have.
 */
function recipientOf(
  { path, member }: FoundPath,
  namedRecipients: readonly (string | undefined)[],
): string | undefined {
  const sent = JSON.parse(path.recipients) as string[];
  const ownRecipient = sent.length === 1 ? sent[0] : member === undefined ? undefined : sent[member];
  if (ownRecipient === undefined) return undefined;
  const isNamed = (rcpt: string) =>
    namedRecipients.some((address) => address !== undefined && isSameMailAddress(address, rcpt));
  return isNamed(ownRecipient) || !sent.some(isNamed) ? ownRecipient : undefined;
}

const domainOf = ({ domain }: PathRow) => (domain === null ? {} : { domain });

const settledBy = (rcpt: string, reply: SmtpReply): DeliveryResult => ({
  rcpt,
  ok: false,
  temporary: reply.code < 500,
  reply,
});

/** Returns the key for recognizing a repeated report: from a server that missed the reply, or a replayed copy. */
function duplicateKeyOf({ rcpt, source }: ReturnPathMail): string | undefined {
  const reading = readHeader(source.headerBlock);
  const id = reading.ok ? parseMessageId(headerValue(reading.fields, "message-id") ?? "") : undefined;
  return id === undefined
    ? undefined
    : `come ${createHash("sha256").update(`${rcpt.toLowerCase()}\0${id}`).digest("base64url")}`;
}

async function beginning(source: MailSource): Promise<Uint8Array> {
  const body = source.open();
  if (body instanceof Uint8Array) return body.subarray(0, MAX_BOUNCE_BYTES);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= MAX_BOUNCE_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_BOUNCE_BYTES);
}
