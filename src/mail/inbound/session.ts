import { UserError, type Log } from "../../kernel/index.ts";
import type { SaslCredentials, ServerSession } from "../../protocol/smtp/index.ts";
import { mailErrors, mebibytes, smtpErrorOf, replyOf } from "../errors.ts";
import type { DsnRequest, Spool, Envelope, MailSource, SmtpReply } from "../messages/index.ts";
import type { IncomingData } from "./incoming-message.ts";
import type { TranscriptLine } from "./transcript.ts";
import type { OnRejected } from "./types.ts";

/** The client of an SMTP session. */
export interface SmtpClient<User = unknown> {
  /** Behind a proxy, the address from the PROXY header. */
  readonly ip: string;
  /** Set after AUTH. */
  user: User | undefined;
  /** Protocol for the Received field, such as "ESMTPS". */
  protocolName(): string;
  /** Returns the envelope of the current transaction, as far as it is known. */
  envelope(): Envelope;
  /** Empty unless the server records transcripts. */
  transcript(): TranscriptLine[];
}

/** Decisions about a session. A command is accepted if the handler returns no reply. */
export interface SmtpHandlers<User = unknown> {
  onConnect?(client: SmtpClient<User>): void;
  onAuth?(credentials: SaslCredentials, client: SmtpClient<User>): Promise<{ user: User } | { reply: SmtpReply }>;
  onMail?(from: string, client: SmtpClient<User>): Promise<SmtpReply | undefined>;
  onRecipient?(rcpt: string, client: SmtpClient<User>): Promise<SmtpReply | undefined>;
  /** Called at the beginning of the message. Must read the message to its end; the reply is sent after that. */
  onData(data: IncomingData, client: SmtpClient<User>): Promise<SmtpReply>;
}

interface Received<User> {
  envelope: Envelope;
  client: SmtpClient<User>;
}

interface ReceptionOptions<User> {
  /** For the reply text of a rejection. */
  messageBytes: number;
  /** Returns the id of a message, and header fields to prepend. */
  begin(received: Received<User>): { id: string; prefix: string };
  /**
   * Returns the reply to a complete message. The callee owns the source from here on. If it throws a UserError with an
   * SMTP reply, that reply is sent.
   */
  accept(source: MailSource, received: Received<User>): Promise<SmtpReply>;
  spool: Spool;
  log: Log;
  /** Called for each message that is rejected before `accept`. */
  onRejected: OnRejected;
}

/** Receives one message, from DATA to the reply. Never rejects. */
export function createReception<User>({ messageBytes, begin, accept, spool, log, onRejected }: ReceptionOptions<User>) {
  async function collect(data: IncomingData, received: Received<User>): Promise<MailSource> {
    // A message that is rejected early must still be read: the reply must follow its end.
    const source = await spool.collect(data.iterator({ destroyOnReturn: false }), {
      ...begin(received),
      ownsChunks: true,
    });
    const refusal = rejectionFor(data, messageBytes);
    if (refusal === undefined) return source;
    await source.discard();
    throw refusal;
  }

  return async (data: IncomingData, client: SmtpClient<User>): Promise<SmtpReply> => {
    const envelope = client.envelope();
    try {
      const received = { envelope, client };
      return await accept(await collect(data, received), received);
    } catch (err) {
      const refusal = smtpErrorOf(err);
      // The cause of an internal error appears only in the log.
      if (data.errored === null && refusal !== err)
        log.error({ err, ip: envelope.ip }, "smtp: failed to accept a message");
      await readToEnd(data);
      const reply = replyOf(rejectionFor(data, messageBytes) ?? refusal);
      log.info({ ip: envelope.ip, from: envelope.from, to: envelope.to, reply }, "smtp: message rejected");
      onRejected(envelope, reply, "data", withReply(client.transcript(), reply));
      return reply;
    }
  };
}

/** Returns the transcript with a reply that has not been sent yet. */
export const withReply = (lines: TranscriptLine[], { code, enhanced, text }: SmtpReply): TranscriptLine[] =>
  lines.length === 0 ? [] : [...lines, { by: "S", text: [code, enhanced, text].filter(Boolean).join(" ") }];

/** Calls `onRejected`; a failure to report a rejection must not prevent the rejection. */
export function withLoggedErrors(onRefused: OnRejected | undefined, log: Log): OnRejected {
  return (...refusal) => {
    try {
      onRefused?.(...refusal);
    } catch (err) {
      log.error({ err }, "smtp: failed to log a rejection");
    }
  };
}

function rejectionFor({ stray, oversized }: IncomingData, messageBytes: number): UserError | undefined {
  if (stray !== undefined) return mailErrors.strayLineEnd({ character: stray });
  return oversized === true ? mailErrors.messageTooLarge({ limit: mebibytes(messageBytes) }) : undefined;
}

function readToEnd(data: IncomingData): Promise<void> {
  return new Promise((resolve) => {
    if (data.readableEnded || data.destroyed) return resolve();
    data.once("end", resolve).once("close", resolve).resume();
  });
}

/** Returns the envelope of the current transaction. */
export function envelopeOf(session: ServerSession, ip: string): Envelope {
  const transaction = session.currentTransaction();
  const tls = session.tlsCipher();
  const recipients = [...(transaction?.recipients.values() ?? [])];
  const dsn = transaction && dsnRequest(transaction.dsn, recipients);
  return {
    from: transaction?.from ?? "",
    to: recipients.map(({ address }) => address),
    helo: session.heloName(),
    ip,
    ...(tls === undefined ? {} : { tls }),
    smtputf8: transaction?.smtputf8 ?? false,
    ...(dsn === undefined ? {} : { dsn }),
  };
}

type Recipients = { address: string; dsn: NonNullable<DsnRequest["to"]>[string] }[];

/** Returns the DSN parameters of RFC 3461; undefined if the client sent none. */
function dsnRequest(mail: Omit<DsnRequest, "to">, recipients: Recipients): DsnRequest | undefined {
  const to = recipients.filter(({ dsn }) => Object.keys(dsn).length > 0).map(({ address, dsn }) => [address, dsn]);
  if (to.length === 0 && Object.keys(mail).length === 0) return undefined;
  return { ...mail, ...(to.length > 0 && { to: Object.fromEntries(to) }) };
}
