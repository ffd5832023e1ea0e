import { defineErrors, UserError } from "../kernel/index.ts";
import type { SmtpReply } from "./messages/types.ts";

/**
 * Everything mail can refuse. The lower-case texts without a full stop and the header texts are the ones that Email Workers in the field
 * match on; they stay as they are.
 */
export const mailErrors = defineErrors("mail", {
  // ---- taking a message in
  messageTooLarge: {
    code: "E_CONTENT_TOO_LARGE",
    http: 400,
    smtp: 552,
    enhanced: "5.3.4",
    message: "Email message size is bigger than the production size limit of {limit}.",
    fix: "Send a smaller message, or share large files by a link.",
  },
  cannotParse: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.6.0",
    message: "could not parse email: {why}",
    fix: "Send a message whose header section follows RFC 5322.",
  },
  strayLineEnd: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 550,
    enhanced: "5.6.11",
    message: "Message has a bare {character}: lines end in CR LF",
    fix: "End every line of the message with CR LF (RFC 5321 2.3.8).",
  },
  loop: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.4.6",
    message: "Message has passed {hops} servers: it goes round in a loop",
    fix: "Look for two addresses that forward to each other.",
  },
  storageFull: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 507,
    smtp: 452,
    enhanced: "4.3.1",
    message: "Not enough storage to take the message, try again later",
    fix: "Free space on the disk that holds the mail folder.",
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
    message: "The message could not be processed, try again later",
  },
  listenFailed: {
    code: "E_LISTEN",
    http: 500,
    message: "cannot listen for SMTP on {host}:{port}: {reason}",
    fix: "Choose another address: {otherPort} takes any free port.",
  },
  rangeInvalid: {
    code: "E_SETTING",
    http: 400,
    message: "{setting}: {range} is neither an IP address nor a range of them",
    fix: "Write an address such as 10.0.0.5, or a range such as 10.0.0.0/24.",
  },
  portBusy: {
    code: "E_LISTEN",
    http: 500,
    message: "Port {port} on {host} is in use by another program; SMTP cannot listen there.",
    fix: "Stop that program, or choose another port: {otherPort} takes any free one.",
  },

  reportsBusy: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 451,
    enhanced: "4.3.2",
    message: "Too many reports are being read, try again later",
  },

  // ---- handing it to its recipient
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
    message: "Mail for this address cannot be handled now, try again later",
    fix: "Deploy the worker that the rule for this address names.",
  },
  forwardedBefore: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.4.6",
    message: "Message has been forwarded for {address} before: it goes round in a loop",
    fix: "Look for an address that sends back what is forwarded to it.",
  },
  rejected: { code: "E_REJECTED", http: 400, smtp: 555, enhanced: "5.7.1", message: "{reason}" },
  handlerFailed: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 500,
    smtp: 451,
    enhanced: "4.3.0",
    message: "The worker that handles this address failed, try again later",
    fix: "The worker's own log tells what went wrong.",
  },

  // ---- message.forward()
  destinationInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "destination address is invalid",
    fix: "Give one address, like user@example.com, without a display name. Given: {address}",
  },
  destinationNotVerified: {
    code: "E_RECIPIENT_NOT_ALLOWED",
    http: 403,
    message: "destination address not verified",
    fix: "Add {address} to the destination addresses and open the link in the mail it gets.",
  },
  alreadyForwarded: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "message already forwarded to this destination",
    fix: "Call forward() once for each destination.",
  },
  sameWorker: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "cannot forward email to same worker",
    fix: "Forward to an address that does not lead back to this worker. Given: {address}",
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
    fix: "Give the header a name that begins with X-.",
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
    fix: "Call reply() once for each message.",
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
    fix: "Leave References out (it is added), or give the incoming References followed by the incoming Message-ID, 100 entries at most.",
  },

  // ---- what a worker sends
  fromMismatch: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "From: header does not match mail from",
    fix: "Use {from} in the From: header too.",
  },
  invalidMessageId: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "invalid message-id",
    fix: "Give the message a Message-ID header, like <id@example.com>.",
  },
  invalidHeaders: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "invalid headers set",
    fix: "Leave out the Received header: servers write it.",
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
    fix: "Send in several calls.",
  },
  senderDomainNotAvailable: {
    code: "E_SENDER_DOMAIN_NOT_AVAILABLE",
    http: 403,
    smtp: 550,
    enhanced: "5.7.1",
    message: "email from {domain} not allowed: {why}",
    fix: "Enable Email Sending for {domain} in a zone of this account, and see that its records are in the DNS.",
  },
  sendingDisabled: {
    code: "E_SENDER_DOMAIN_NOT_AVAILABLE",
    http: 403,
    smtp: 550,
    enhanced: "5.7.1",
    message: "Email Sending is disabled for {domain}",
    fix: "Enable it again.",
  },
  recipientSuppressed: {
    code: "E_RECIPIENT_SUPPRESSED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.1",
    message: "email to {address} not allowed: the address is on the suppression list",
    fix: "Leave it out, or delete its suppression if you know that mail arrives and is wanted there.",
  },
  sendingTooFast: {
    code: "E_RATE_LIMIT_EXCEEDED",
    http: 429,
    smtp: 451,
    enhanced: "4.3.0",
    message: "Too many messages, at most {limit} in a minute",
    fix: "Try again in {retryAfter} seconds.",
  },
  dailyLimitReached: {
    code: "E_DAILY_LIMIT_EXCEEDED",
    http: 429,
    smtp: 451,
    enhanced: "4.3.0",
    message: "The account has sent the {limit} messages it may send in a day",
    fix: "Try again tomorrow (UTC); mail to verified addresses may still be sent.",
  },
  deliveryFailed: {
    code: "E_DELIVERY_FAILED",
    http: 502,
    message: "could not send email to {address}: {status} {reply}",
  },

  // ---- mail on its way out
  queueFull: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 452,
    enhanced: "4.3.1",
    message: "Too much mail waits to be sent, try again later",
    fix: "{waiting} recipients wait, {limit} may. `list` shows what keeps them; raise the limit if all is well.",
  },
  senderInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 553,
    enhanced: "5.1.7",
    message: "The sender address is not one: {address}",
  },
  recipientInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 553,
    enhanced: "5.1.3",
    message: "The recipient address is not one: {address}",
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
    message: "No queued message has the id {id}",
    fix: "List the queue for the ids there are; old ones are forgotten.",
  },
  outboundGone: {
    code: "E_GONE",
    http: 410,
    message: "Message {id} cannot be sent again: its content is no longer kept",
    fix: "Send it anew. How long the content of failed messages is kept is a setting of the queue.",
  },

  // ---- whether it is who it says it is
  notAuthenticated: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.26",
    message: "Mail of {domain} from {ip} passes neither SPF ({spf}) nor DKIM ({dkim})",
    fix: "Name {ip} in the SPF record of {domain}, or sign with DKIM.",
  },
  dmarcRejected: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.1",
    message: "Message fails DMARC, and the policy of {domain} is to reject it",
    fix: "Send it through a server that the SPF record of {domain} names, or sign it with a DKIM key of {domain}.",
  },
  spfRejected: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.23",
    message: "{ip} may not send mail of {domain} (SPF)",
    fix: "Name {ip} in the SPF record of {domain}.",
  },
  authorUnclear: {
    code: "E_REJECTED",
    http: 400,
    smtp: 550,
    enhanced: "5.7.1",
    message: "The From field names {what}",
    fix: "Send the message with one From field, and authors of one domain in it (RFC 5322 3.6).",
  },
  authenticationUnclear: {
    code: "E_REJECTED",
    http: 503,
    smtp: 451,
    enhanced: "4.4.3",
    message: "DNS did not tell {what}, try again later",
    fix: "Look at the name servers of the domain.",
  },
  headerTooComplex: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.6.0",
    message: "The header section has more than {limit} lines",
    fix: "Send a message with a smaller header section.",
  },
  verifierBusy: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 451,
    enhanced: "4.3.2",
    message: "Too many large messages at once, try again later",
  },
  verifierFailed: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 500,
    smtp: 451,
    enhanced: "4.3.0",
    message: "The signatures of the message could not be checked, try again later",
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
    fix: "Use a header of the allow-list, or a name that begins with X-.",
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
/** Limit of this process (EMFILE) or of the whole machine (ENFILE). */
const NO_DESCRIPTOR = new Set(["EMFILE", "ENFILE"]);

/** A file system, SQLite (SQLITE_FULL) or PostgreSQL (53100) without room. */
function isDiskFull(thrown: unknown): boolean {
  const { code, errcode } = (thrown ?? {}) as { code?: unknown; errcode?: unknown };
  return (typeof code === "string" && (DISK_FULL.has(code) || code === "53100")) || errcode === 13;
}

/**
 * The SMTP reply for an error thrown while handling a message. Errors of mail domains and workers keep their text. System errors contain paths,
 * hosts and limits of this server, so the peer gets neutral text and the log gets the cause.
 */
export function refusalOf(thrown: unknown): UserError {
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

/** 26214400 -> "25MiB". */
export const mebibytes = (bytes: number): string => `${Math.round((bytes / 1024 / 1024) * 100) / 100}MiB`;
