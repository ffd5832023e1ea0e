import { defineErrors, UserError } from "../kernel/index.ts";
import type { SmtpReply } from "./smtp-reply.ts";

/**
 * All errors of the mail domain. The lower-case texts without a full stop and the header texts are matched by existing
 * Email Workers; they must not change.
 */
export const mailErrors = defineErrors("mail", {
  // ---- receiving a message
  messageTooLarge: {
    code: "E_CONTENT_TOO_LARGE",
    http: 400,
    smtp: 552,
    enhanced: "5.3.4",
    message: "Email message size is bigger than the production size limit of {limit}.",
    fix: "Send a smaller message, or send a link to large files.",
  },
  cannotParse: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.6.0",
    message: "could not parse email: {why}",
    fix: "Send a message with a valid RFC 5322 header section.",
  },
  strayLineEnd: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 550,
    enhanced: "5.6.11",
    message: "Bare {character} in message: lines must end with CR LF",
    fix: "End every line with CR LF (RFC 5321 2.3.8).",
  },
  loop: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.4.6",
    message: "Mail loop detected: message passed through {hops} servers",
    fix: "Check for two addresses that forward to each other.",
  },
  storageFull: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 507,
    smtp: 452,
    enhanced: "4.3.1",
    message: "Insufficient storage, try again later",
    fix: "Free up disk space for the mail folder.",
  },
  tooManyFiles: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 451,
    enhanced: "4.3.2",
    message: "Too many open files, try again later",
    fix: "Raise the open-file limit: LimitNOFILE= in the systemd unit, or `ulimit -n` in the shell that starts the server.",
  },
  fault: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 500,
    smtp: 451,
    enhanced: "4.3.0",
    message: "Message processing failed, try again later",
  },
  listenFailed: {
    code: "E_LISTEN",
    http: 500,
    message: "cannot listen for SMTP on {host}:{port}: {reason}",
    fix: "Use another address: {otherPort} selects a free port.",
  },
  rangeInvalid: {
    code: "E_SETTING",
    http: 400,
    message: "{setting}: {range} is neither an IP address nor a range",
    fix: "Use an address such as 10.0.0.5, or a range such as 10.0.0.0/24.",
  },
  portBusy: {
    code: "E_LISTEN",
    http: 500,
    message: "Cannot listen for SMTP: port {port} on {host} is in use by another program.",
    fix: "Stop that program, or use another port: {otherPort} selects a free one.",
  },

  reportsBusy: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 451,
    enhanced: "4.3.2",
    message: "Too many reports in progress, try again later",
  },

  // ---- delivering it to its recipient
  noSuchRecipient: {
    code: "E_RECIPIENT_NOT_ALLOWED",
    http: 400,
    smtp: 550,
    enhanced: "5.1.1",
    message: "No such recipient: {address}",
  },
  notThereYet: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "Mail for this address is temporarily rejected, try again later",
    fix: "Deploy the worker specified in the rule for this address.",
  },
  forwardedBefore: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.4.6",
    message: "Mail loop detected: message was already forwarded for {address}",
    fix: "Check for a destination that forwards mail back to this address.",
  },
  rejected: { code: "E_REJECTED", http: 400, smtp: 555, enhanced: "5.7.1", message: "{reason}" },
  handlerFailed: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 500,
    smtp: 451,
    enhanced: "4.3.0",
    message: "The worker for this address failed, try again later",
    fix: "Check the worker's log (`reelpost tail`).",
  },

  // ---- message.forward()
  destinationInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "destination address is invalid",
    fix: "Use one address like user@example.com without a display name. Given: {address}",
  },
  destinationNotVerified: {
    code: "E_RECIPIENT_NOT_ALLOWED",
    http: 403,
    message: "destination address not verified",
    fix: "Add {address} to the destination addresses and open the link in the verification email.",
  },
  alreadyForwarded: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "message already forwarded to this destination",
    fix: "Call forward() once per destination.",
  },
  sameWorker: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "cannot forward email to same worker",
    fix: "Forward to an address that does not route to this worker. Given: {address}",
  },
  tooManyForwards: {
    code: "E_TOO_MANY_RECIPIENTS",
    http: 400,
    message: "message already forwarded to {limit} destinations",
    fix: "Send to a mailing list instead.",
  },
  forwardHeaderNotAllowed: {
    code: "E_HEADER_NOT_ALLOWED",
    http: 400,
    message: "only X-* headers can be added to a forwarded message, not '{name}'",
    fix: "Use a header name that begins with X-.",
  },
  transientFailure: {
    code: "E_DELIVERY_FAILED",
    http: 502,
    message: "could not send email: Unknown error: transient error ({status}): {reply}",
    fix: "Try again later.",
  },
  permanentFailure: {
    code: "E_DELIVERY_FAILED",
    http: 502,
    message: "could not send email: Unknown error: permanent error ({status}): {reply}",
  },

  // ---- message.reply()
  notReplyable: { code: "E_VALIDATION_ERROR", http: 400, message: "Original email is not replyable", fix: "{why}" },
  alreadyReplied: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "message already replied to",
    fix: "Call reply() once per message.",
  },
  noInReplyTo: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "no In-Reply-To header found in reply message",
    fix: "Set In-Reply-To to the Message-ID of the incoming message: message.headers.get('Message-ID').",
  },
  inReplyToMismatch: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "In-Reply-To does not match original Message-ID",
    fix: "Set In-Reply-To to {messageId}.",
  },
  referencesInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "provided References header is invalid",
    fix: "Omit References (it is added automatically), or use the incoming References plus the incoming Message-ID, at most 100 entries.",
  },

  // ---- mail sent by a worker
  fromMismatch: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "From: header does not match mail from",
    fix: "Use {from} in the From: header, too.",
  },
  invalidMessageId: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "invalid message-id",
    fix: "Add a Message-ID header such as <id@example.com>.",
  },
  invalidHeaders: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "invalid headers set",
    fix: "Remove the Received header: only servers add it.",
  },
  senderFieldInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 550,
    enhanced: "5.6.0",
    message: "The {field} field contains no address: {value}",
    fix: "Set {field} to an address in one of your domains, or omit it (RFC 5322 3.6.2, 3.6.6).",
  },
  tooManySenders: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 550,
    enhanced: "5.6.0",
    message: "The message has {count} sender domains in addition to the From domain; the maximum is {limit}",
    fix: "Remove the Resent-From fields that earlier resends added.",
  },
  recipientNotAllowed: {
    code: "E_RECIPIENT_NOT_ALLOWED",
    http: 403,
    message: "email to {address} not allowed",
    fix: "{fix}",
  },
  senderNotAllowed: {
    code: "E_SENDER_NOT_VERIFIED",
    http: 403,
    message: "email from {address} not allowed",
    fix: "{fix}",
  },
  fieldMissing: { code: "E_FIELD_MISSING", http: 400, message: "'{field}' is required", fix: "{fix}" },
  invalidField: { code: "E_VALIDATION_ERROR", http: 400, message: "'{field}' {why}" },
  tooManyRecipients: {
    code: "E_TOO_MANY_RECIPIENTS",
    http: 400,
    message: "{count} recipients in to, cc and bcc together, maximum is {limit}",
    fix: "Split the recipients into several calls.",
  },
  senderDomainNotAvailable: {
    code: "E_SENDER_DOMAIN_NOT_AVAILABLE",
    http: 403,
    smtp: 550,
    enhanced: "5.7.1",
    message: "email from {domain} not allowed: {why}",
    fix: "Enable Email Sending for {domain} in a zone of this account, and publish its DNS records.",
  },
  sendingDisabled: {
    code: "E_SENDER_DOMAIN_NOT_AVAILABLE",
    http: 403,
    smtp: 550,
    enhanced: "5.7.1",
    message: "Email Sending is disabled for {domain}",
    fix: "Enable it for the domain.",
  },
  recipientSuppressed: {
    code: "E_RECIPIENT_SUPPRESSED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.1",
    message: "email to {address} not allowed: the address is on the suppression list",
    fix: "Remove the recipient, or delete the suppression if the address accepts mail.",
  },
  sendingTooFast: {
    code: "E_RATE_LIMIT_EXCEEDED",
    http: 429,
    smtp: 451,
    enhanced: "4.3.0",
    message: "Rate limit exceeded: {limit} messages per minute",
    fix: "Retry in {retryAfter} seconds.",
  },
  dailyLimitReached: {
    code: "E_DAILY_LIMIT_EXCEEDED",
    http: 429,
    smtp: 451,
    enhanced: "4.3.0",
    message: "Daily limit exceeded: {limit} messages per account",
    fix: "Retry tomorrow (UTC). Mail to verified addresses is still accepted.",
  },
  deliveryFailed: {
    code: "E_DELIVERY_FAILED",
    http: 502,
    message: "could not send email to {address}: {status} {reply}",
  },

  // ---- outbound mail
  queueFull: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 452,
    enhanced: "4.3.1",
    message: "The outbound queue is full, try again later",
    fix: "The queue holds {waiting} recipients (limit {limit}). Run `reelpost email queue list` to see why they are deferred, or raise the limit.",
  },
  senderInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 553,
    enhanced: "5.1.7",
    message: "Invalid sender address: {address}",
  },
  recipientInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 553,
    enhanced: "5.1.3",
    message: "Invalid recipient address: {address}",
  },
  noRecipients: {
    code: "E_FIELD_MISSING",
    http: 400,
    smtp: 554,
    enhanced: "5.5.1",
    message: "The message has no recipients",
  },
  outboundNotFound: {
    code: "E_NOT_FOUND",
    http: 404,
    message: "Queued message {id} not found",
    fix: "List the queue to find valid ids; finished messages are deleted.",
  },
  outboundGone: {
    code: "E_GONE",
    http: 410,
    message: "Cannot resend message {id}: its content was deleted",
    fix: "Send a new message. A queue setting determines how long the content of failed messages is kept.",
  },

  // ---- sender authentication
  notAuthenticated: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.26",
    message: "Message from {domain} ({ip}) rejected: SPF {spf}, DKIM {dkim}",
    fix: "Add {ip} to the SPF record of {domain}, or sign with DKIM.",
  },
  dmarcRejected: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.1",
    message: "Message rejected by the DMARC policy of {domain}",
    fix: "Send through a server in the SPF record of {domain}, or sign with a DKIM key of {domain}.",
  },
  spfRejected: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.23",
    message: "SPF check failed: {ip} may not send mail for {domain}",
    fix: "Add {ip} to the SPF record of {domain}.",
  },
  authorUnclear: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.1",
    message: "The From field contains {what}",
    fix: "Use a single From field whose addresses are all in one domain (RFC 5322 3.6).",
  },
  authenticationUnclear: {
    code: "E_REJECTED",
    http: 503,
    smtp: 451,
    enhanced: "4.4.3",
    message: "DNS lookup failed ({what}), try again later",
    fix: "Check the name servers of the domain.",
  },
  headerTooComplex: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.6.0",
    message: "The header section has more than {limit} lines",
    fix: "Reduce the number of header lines.",
  },
  verifierBusy: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 451,
    enhanced: "4.3.2",
    message: "Too many large messages in progress, try again later",
  },
  verifierFailed: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 500,
    smtp: 451,
    enhanced: "4.3.0",
    message: "Signature verification failed temporarily, try again later",
  },

  // ---- the headers field of a builder message
  headerPlatform: {
    code: "E_HEADER_NOT_ALLOWED",
    http: 400,
    message: "Header '{name}' is not allowed. It is auto-generated by the platform.",
  },
  headerNotAllowed: {
    code: "E_HEADER_NOT_ALLOWED",
    http: 400,
    message: "Header '{name}' is not allowed.",
    fix: "Use an allowed header, or a name that begins with X-.",
  },
  headerUseField: {
    code: "E_HEADER_USE_API_FIELD",
    http: 400,
    message: "Header '{name}' must be set via the '{field}' API field, not the 'headers' object.",
  },
  headerValueInvalid: { code: "E_HEADER_VALUE_INVALID", http: 400, message: "Header '{name}' {why}." },
  headerValueTooLong: {
    code: "E_HEADER_VALUE_TOO_LONG",
    http: 400,
    message: "Header '{name}' value exceeds {limit} byte limit.",
  },
  headerNameInvalid: { code: "E_HEADER_NAME_INVALID", http: 400, message: "Header name '{name}' {why}." },
  headersTooLarge: {
    code: "E_HEADERS_TOO_LARGE",
    http: 400,
    message: "Total custom headers payload ({size}KB) exceeds {limit}KB limit.",
  },
  headersTooMany: {
    code: "E_HEADERS_TOO_MANY",
    http: 400,
    message: "{count} allowlisted headers provided, maximum is {limit}.",
  },
});

const DISK_FULL = new Set(["ENOSPC", "EDQUOT"]);
/** Descriptor limit of this process (EMFILE) or of the whole machine (ENFILE). */
const NO_DESCRIPTOR = new Set(["EMFILE", "ENFILE"]);

/** True if a file system, SQLite (SQLITE_FULL) or PostgreSQL (53100) is out of space. */
function isDiskFull(thrown: unknown): boolean {
  const { code, errcode } = (thrown ?? {}) as { code?: unknown; errcode?: unknown };
  return (typeof code === "string" && (DISK_FULL.has(code) || code === "53100")) || errcode === 13;
}

/**
 * Returns the SMTP reply for an error thrown while handling a message. Errors of mail domains and workers keep their
 * text. System errors contain paths, hosts and limits of this server, so the peer gets a neutral text and the log gets
 * the cause.
 */
export function smtpErrorOf(thrown: unknown): UserError {
  if (thrown instanceof UserError && thrown.entry.smtp !== undefined)
    return isMachineError(thrown) ? neutral(thrown) : thrown;
  if (NO_DESCRIPTOR.has((thrown as NodeJS.ErrnoException | undefined)?.code ?? ""))
    return mailErrors.tooManyFiles({}, { cause: thrown });
  return isDiskFull(thrown) ? mailErrors.storageFull({}, { cause: thrown }) : mailErrors.fault({}, { cause: thrown });
}

const isMachineError = (thrown: UserError): boolean => thrown.domain === "store" || thrown.kind === "machineFailed";

function neutral(thrown: UserError): UserError {
  const cause = { cause: thrown };
  if (thrown.entry.enhanced === "4.3.1") return mailErrors.storageFull({}, cause);
  if (thrown.kind === "tooManyFiles") return mailErrors.tooManyFiles({}, cause);
  if (thrown.kind === "tooLarge")
    return mailErrors.messageTooLarge({ limit: mebibytes(Number(thrown.details["maxBytes"])) }, cause);
  return mailErrors.fault({}, cause);
}

export function replyOf(refusal: UserError): SmtpReply {
  const { smtp = 451, enhanced = "4.3.0" } = refusal.entry;
  return { code: smtp, enhanced, text: refusal.message };
}

/** Formats a size: 26214400 -> "25MiB". */
export const mebibytes = (bytes: number): string => `${Math.round((bytes / 1024 / 1024) * 100) / 100}MiB`;
