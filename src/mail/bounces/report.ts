import { isAscii } from "node:buffer";
import type { Clock, Ids } from "../../kernel/index.ts";
import {
  buildReport,
  REPORT_SENDER,
  returnedPart,
  type DsnAction,
  type ReportedRecipient,
} from "../../protocol/dsn/index.ts";
import { createHeaderEndFinder, headerValue, parseMessageId, readHeader } from "../../protocol/rfc5322/index.ts";
import type { PemSigningKey, Signer } from "../authenticate/index.ts";
import type { DsnRequest, Outbound, SmtpReply } from "../messages/index.ts";

/** Contents and recipient of a report. */
export interface ReportRequest {
  /** Recipient of the report; never "". */
  to: string;
  account?: string | undefined;
  zone?: string | undefined;
  /** The undelivered inbound message, if there was one, and its recipient. */
  inbound?: { id: string; rcpt?: string };
  dsn?: Pick<DsnRequest, "ret" | "envid">;
  arrived?: Date;
  recipients: readonly RecipientOutcome[];
  /** Resolves with the parts of the message that are still available. */
  original: () => Promise<Original | undefined>;
}

export interface Original {
  /** The header section, without the empty line. */
  head: Uint8Array;
  /** Undefined if too large to return. */
  whole: (() => Uint8Array | Promise<Uint8Array>) | undefined;
  /** Size of the full message. */
  size: number;
}

export interface RecipientOutcome {
  rcpt: string;
  action: DsnAction;
  reply: SmtpReply;
  host?: string;
  /** For example, "rfc822;info@example.com". */
  orcpt?: string;
  retryUntil?: Date;
}

export interface ReportDeps {
  /** Host name of this server. */
  name: string;
  /** Domain of MAILER-DAEMON and of the signature. */
  domain: string;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId" | "token">;
  signer: Signer;
  keys: () => Promise<readonly PemSigningKey[]>;
}

/**
 * For larger messages only the header section is returned, whatever RET requests: reports must not be usable for
 * sending large mail.
 */
export const MAX_RETURNED = 64 * 1024;
const MAX_RETURNED_HEADER_BYTES = 32 * 1024;

/** Returns a signed report, ready for the queue. */
export async function composeReport(
  request: ReportRequest,
  { name, domain, clock, ids, signer, keys }: ReportDeps,
): Promise<Outbound> {
  const { to, recipients, dsn = {}, arrived, account, zone, inbound } = request;
  const original = await request.original();
  const messageId = ids.messageId(domain);
  const whole =
    original !== undefined && returnedPart(recipients[0]!.action, dsn, original.size, MAX_RETURNED) === "full"
      ? await original.whole?.()
      : undefined;
  const head = cutHeader(original?.head ?? new Uint8Array());
  const inReplyTo = messageIdOf(head);
  const { before, after } = buildReport({
    reportingMta: name,
    from: `MAILER-DAEMON@${domain}`,
    to,
    messageId,
    date: new Date(clock.now()),
    boundary: `report-${ids.token(18)}`,
    ...(dsn.envid !== undefined && { envelopeId: dsn.envid }),
    ...(arrived && { arrived }),
    ...(inReplyTo !== undefined && { inReplyTo }),
    recipients: recipients.map((one) => reported(one, clock.now())),
    returned: whole === undefined ? "headers" : "full",
    returnedUtf8: !isAscii(head),
  });
  const bytes = Buffer.concat([before, whole ?? head, after]);
  const headerBlock = bytes.subarray(0, createHeaderEndFinder().push(bytes) ?? bytes.length);
  const signature = await signer.sign(
    { headerBlock, open: (start = 0) => bytes.subarray(start) },
    { dkim: await keys() },
  );
  const signed = signature === "" ? bytes : Buffer.concat([Buffer.from(signature), bytes]);
  return {
    messageId,
    cause: "reply",
    from: REPORT_SENDER,
    to: [to],
    raw: () => signed,
    ...(account !== undefined && { account }),
    ...(zone !== undefined && { zone }),
    ...(inbound && { inbound }),
  };
}

function reported({ rcpt, action, reply, host, orcpt, retryUntil }: RecipientOutcome, now: number): ReportedRecipient {
  const [, type, address] = /^([A-Za-z0-9-]+);(.+)$/s.exec(orcpt ?? "") ?? [];
  return {
    address: rcpt,
    action,
    status: statusOf(action, reply),
    lastAttempt: new Date(now),
    // A host is "mx1.example.com [192.0.2.1]:25", but the field contains only the name.
    ...(host !== undefined && { remoteMta: host.split(" ", 1)[0]! }),
    ...(retryUntil && { retryUntil }),
    ...(reply.code === 0
      ? {}
      : { diagnostic: [reply.code, reply.enhanced, reply.text].filter((word) => word !== "").join(" ") }),
    ...(address !== undefined && { original: { type: type!, address } }),
  };
}

/** RFC 3464 2.3.4: the class of the status must match the action. */
function statusOf(action: DsnAction, { enhanced }: SmtpReply): string {
  const statusClass = { failed: "5", delayed: "4", delivered: "2", relayed: "2", expanded: "2" }[action];
  const [, rest] = /^[245]\.(\d{1,3}\.\d{1,3})$/.exec(enhanced) ?? [];
  // An expired deferral keeps "4.4.7" in its text, but is permanent.
  return `${statusClass}.${rest ?? "0.0"}`;
}

/** Truncates to the maximum size at a line ending. */
function cutHeader(head: Uint8Array): Buffer {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length);
  if (bytes.length <= MAX_RETURNED_HEADER_BYTES) return bytes;
  return bytes.subarray(0, bytes.lastIndexOf("\r\n", MAX_RETURNED_HEADER_BYTES) + 2);
}

function messageIdOf(head: Uint8Array): string | undefined {
  const reading = readHeader(head);
  return reading.ok ? parseMessageId(headerValue(reading.fields, "message-id") ?? "") : undefined;
}
