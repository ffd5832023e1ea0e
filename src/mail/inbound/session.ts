import type { SMTPServerSession } from "smtp-server";
import { UserError, type Log } from "../../kernel/index.ts";
import { canonicalDomain } from "../../protocol/rfc5322/index.ts";
import { mailErrors, mebibytes, refusalOf, replyOf } from "../errors.ts";
import type { Spool, Envelope, MailSource, SmtpReply } from "../messages/index.ts";
import type { StrictSession } from "./connection.ts";
import { dsnRequest } from "./parameters.ts";
import type { IncomingData } from "./strict-stream.ts";
import type { OnRefused } from "./types.ts";

export interface Transaction {
  envelope: Envelope;
  session: SMTPServerSession;
}

interface Options {
  /** For the text of a rejection. */
  messageBytes: number;
  /** Id of a message, and the fields to put on top of it. */
  begin(transaction: Transaction): { id: string; prefix: string };
  /**
   * Handles a complete message and returns the reply. The source then belongs to the callee. A UserError with an SMTP
   * reply becomes the reply.
   */
  take(source: MailSource, transaction: Transaction): Promise<SmtpReply>;
  spool: Spool;
  log: Log;
  /** Called for messages that were rejected before they were received. */
  onRefused: OnRefused;
}

/** One message of an SMTP session, from DATA to the reply. Never rejects. */
export function createSession({ messageBytes, begin, take, spool, log, onRefused }: Options) {
  async function collect(data: IncomingData, transaction: Transaction): Promise<MailSource> {
    // The rest of a message that is rejected halfway must still be read: the reply is sent after its end.
    const source = await spool.collect(data.iterator({ destroyOnReturn: false }), begin(transaction));
    const refusal = refusalFor(data, messageBytes);
    if (refusal === undefined) return source;
    await source.discard();
    throw refusal;
  }

  return async (data: IncomingData, session: SMTPServerSession): Promise<SmtpReply> => {
    const envelope = envelopeOf(session);
    try {
      const transaction = { envelope, session };
      return await take(await collect(data, transaction), transaction);
    } catch (err) {
      const refusal = refusalOf(err);
      // For internal errors, only the log has the cause.
      if (data.errored === null && refusal !== err)
        log.error({ err, ip: envelope.ip }, "smtp: failed to accept a message");
      await readToEnd(data);
      const reply = replyOf(refusalFor(data, messageBytes) ?? refusal);
      log.info({ ip: envelope.ip, from: envelope.from, to: envelope.to, reply }, "smtp: message rejected");
      onRefused(envelope, reply, "data");
      return reply;
    }
  };
}

/** A failing listener must not prevent the rejection. */
export function safely(onRefused: OnRefused | undefined, log: Log): OnRefused {
  return (...told) => {
    try {
      onRefused?.(...told);
    } catch (err) {
      log.error({ err }, "smtp: failed to log a rejection");
    }
  };
}

/** The error found by the strict stream. */
function refusalFor(data: IncomingData, messageBytes: number): UserError | undefined {
  if (data.stray !== undefined) return mailErrors.strayLineEnd({ character: data.stray });
  return data.sizeExceeded ? mailErrors.messageTooLarge({ limit: mebibytes(messageBytes) }) : undefined;
}

function readToEnd(data: IncomingData): Promise<void> {
  return new Promise((resolve) => {
    if (data.readableEnded || data.destroyed) return resolve();
    data.once("end", resolve).once("close", resolve).resume();
  });
}

/** The envelope as far as the session has received it. */
export function envelopeOf(session: SMTPServerSession): Envelope {
  const { mailFrom, rcptTo, smtpUtf8 = false } = session.envelope;
  const tls = session.tlsOptions ? `${session.tlsOptions.version} ${session.tlsOptions.name}` : undefined;
  const { asked } = session as StrictSession;
  const dsn =
    asked &&
    dsnRequest(
      asked,
      rcptTo.map(({ address }) => address),
      wireAddress,
    );
  return {
    from: mailFrom ? wireAddress(mailFrom.address) : "",
    to: rcptTo.map(({ address }) => wireAddress(address)),
    helo: session.hostNameAppearsAs || "",
    ip: session.remoteAddress,
    ...(tls === undefined ? {} : { tls }),
    smtputf8: smtpUtf8,
    ...(dsn === undefined ? {} : { dsn }),
  };
}

/** smtp-server decodes internationalized domains to Unicode; SMTP and rules use A-labels. */
export function wireAddress(address: string): string {
  const at = address.lastIndexOf("@");
  return at === -1
    ? address
    : `${address.slice(0, at)}@${canonicalDomain(address.slice(at + 1)) ?? address.slice(at + 1)}`;
}

/** RFC 3848, RFC 6531 4.3. */
export function protocolOf(session: SMTPServerSession): string {
  return session.envelope.smtpUtf8 ? `UTF8SMTP${session.secure ? "S" : ""}` : session.transmissionType;
}

/** Passes the reply to smtp-server. */
export function answerWith(
  { code, enhanced, text }: SmtpReply,
  done: (err?: Error | null, message?: string) => void,
): void {
  const line = shortened(`${enhanced} ${text}`);
  if (code < 300) done(null, line);
  else done(Object.assign(new Error(line), { responseCode: code }));
}

/** RFC 5321 4.5.3.1.5: 512 octets including the code, a space and CR LF. */
const MAX_TEXT = 506;

function shortened(line: string): string {
  const octets = Buffer.from(line);
  if (octets.length <= MAX_TEXT) return line;
  // Do not cut inside a UTF-8 sequence.
  let end = MAX_TEXT - 3;
  while (end > 0 && (octets[end]! & 0xc0) === 0x80) end--;
  return `${octets.toString("utf8", 0, end)}...`;
}
