import type { SMTPServerSession } from "smtp-server";
import { UserError, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import { canonicalDomain } from "../../protocol/rfc5322/index.ts";
import { receivedField } from "../../protocol/smtp/index.ts";
import { mailErrors, mebibytes, refusalOf, replyOf } from "../errors.ts";
import type { Spool } from "../messages/spool.ts";
import type { Envelope, MailSource, Settled, SmtpReply } from "../messages/types.ts";
import type { IncomingData } from "./connection.ts";
import { foldReplies } from "./fold.ts";

interface Options {
  name: string;
  /** For the text of a refusal. */
  messageBytes: number;
  receive: (envelope: Envelope, source: MailSource) => Promise<Settled[]>;
  spool: Spool;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Told of messages that were refused before anybody received them. */
  onRefused?: (envelope: Envelope, reply: SmtpReply) => void;
}

/** One message of an SMTP session, from DATA to the answer. Never rejects. */
export function createSession({ name, messageBytes, receive, spool, clock, ids, log, onRefused }: Options) {
  async function collect(data: IncomingData, envelope: Envelope, protocol: string): Promise<MailSource> {
    const id = ids.hex();
    const [recipient, ...others] = envelope.to;
    const prefix = receivedField({ helo: envelope.helo, ip: envelope.ip, by: name, protocol, id, recipient: others.length === 0 ? recipient : undefined, at: new Date(clock.now()) });
    // The rest of a message that is refused halfway must still be read: the answer belongs after its end.
    const source = await spool.collect(data.iterator({ destroyOnReturn: false }), { id, prefix });
    const refusal = refusalFor(data, messageBytes);
    if (refusal === undefined) return source;
    await source.discard();
    throw refusal;
  }

  return async (data: IncomingData, session: SMTPServerSession): Promise<SmtpReply> => {
    const envelope = envelopeOf(session);
    try {
      const source = await collect(data, envelope, protocolOf(session));
      return foldReplies(await receive(envelope, source));
    } catch (err) {
      if (data.errored === null && !(err instanceof UserError)) log.error({ err, ip: envelope.ip }, "smtp: a message could not be taken");
      await readToEnd(data);
      const reply = replyOf(refusalFor(data, messageBytes) ?? refusalOf(err));
      log.info({ ip: envelope.ip, from: envelope.from, to: envelope.to, reply }, "smtp: a message was refused");
      onRefused?.(envelope, reply);
      return reply;
    }
  };
}

/** What the stream guard found. */
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

function envelopeOf(session: SMTPServerSession): Envelope {
  const { mailFrom, rcptTo, smtpUtf8 = false } = session.envelope;
  const tls = session.tlsOptions ? `${session.tlsOptions.version} ${session.tlsOptions.name}` : undefined;
  return {
    from: mailFrom ? wireAddress(mailFrom.address) : "",
    to: rcptTo.map(({ address }) => wireAddress(address)),
    helo: session.hostNameAppearsAs || "",
    ip: session.remoteAddress,
    ...(tls === undefined ? {} : { tls }),
    smtputf8: smtpUtf8,
  };
}

/** smtp-server shows internationalised domains in Unicode; on the wire and in rules they are A-labels. */
function wireAddress(address: string): string {
  const at = address.lastIndexOf("@");
  return at === -1 ? address : `${address.slice(0, at)}@${canonicalDomain(address.slice(at + 1)) ?? address.slice(at + 1)}`;
}

/** RFC 3848, RFC 6531 4.3. */
function protocolOf(session: SMTPServerSession): string {
  return session.envelope.smtpUtf8 ? `UTF8SMTP${session.secure ? "S" : ""}` : session.transmissionType;
}

/** Tells smtp-server the reply. */
export function answerWith({ code, enhanced, text }: SmtpReply, done: (err?: Error | null, message?: string) => void): void {
  const line = `${enhanced} ${text}`;
  if (code < 300) done(null, line);
  else done(Object.assign(new Error(line), { responseCode: code }));
}
