import { hostname } from "node:os";
import type { Clock, Ids, Log } from "../../kernel/index.ts";
import { networkOf } from "../../kernel/networks.ts";
import type { TlsSource } from "../../kernel/tls-source.ts";
import { receivedField } from "../../protocol/smtp/index.ts";
import { smtpErrorOf, replyOf } from "../errors.ts";
import {
  MAX_MESSAGE_BYTES,
  type Spool,
  type Envelope,
  type MailSource,
  type DeliveryResult,
  type SmtpReply,
} from "../messages/index.ts";
import { combineReplies } from "./combine-replies.ts";
import { createInspection } from "./inspect.ts";
import { createRate } from "./rate.ts";
import { startSmtpServer, type ServerLimits, type SmtpListener } from "./server.ts";
import { createReception, withLoggedErrors, withReply, type SmtpClient } from "./session.ts";
import type { BlockLists, CheckRecipient, ContentFilter, OnRejected, OnTranscript } from "./types.ts";

export interface SmtpListenerOptions {
  host: string;
  /** 0 selects any free port. */
  port: number;
  /** An inherited listening socket; overrides the address. */
  fd?: number | undefined;
  /** Host name in the greeting and in Received fields. Default: the machine's. */
  name?: string;
  /** Resolves when the message is stored or rejected for every recipient; the client gets its reply only then. */
  receive: (envelope: Envelope, source: MailSource) => Promise<DeliveryResult[]>;
  spool: Spool;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Called for mail that was rejected before it was received. */
  onRejected?: OnRejected;
  /** Called for each message that was received, after its outcome is known. If omitted, no transcripts are recorded. */
  onTranscript?: OnTranscript | undefined;
  limits?: Partial<SmtpLimits>;
  /** Counts messages per network across all processes. Default: `limits.messagesPerMinute`, counted in this process. */
  messageRate?: { consume(network: string): boolean | Promise<boolean> };
  /** If omitted, STARTTLS is not offered. */
  tls?: Pick<TlsSource, "context"> | undefined;
  /** True to announce DSN (RFC 3461). Set it only if delivery notifications are sent. Default false. */
  dsn?: boolean;
  /** Addresses and ranges of load balancers that send a PROXY header at the start of each connection. */
  proxies?: readonly string[];
  /** If omitted, every recipient is accepted at RCPT, and unknown ones are rejected after the message. */
  checkRecipient?: CheckRecipient;
  blockLists?: BlockLists | undefined;
  filter?: ContentFilter | undefined;
}

export interface SmtpLimits extends ServerLimits {
  /** Maximum message size in octets; announced as SIZE (RFC 1870). Default 26214400. */
  messageBytes: number;
  /** Maximum number of recipients per message; RFC 5321 4.5.3.1.8 requires 100. */
  recipients: number;
  /** Messages per minute from one IPv4 address or IPv6 /64; 0: no limit. */
  messagesPerMinute: number;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  connections: 500,
  connectionsPerNetwork: 500,
  minIdleMs: 10_000,
  commandMs: 5 * 60_000,
  dataMs: 15 * 60_000,
  handshakeMs: 30_000,
  proxyMs: 10_000,
  closeMs: 10_000,
  errors: 20,
  errorsBeforeDelay: 5,
  tarpitMs: 1000,
  commands: 1000,
};

export const DEFAULT_SMTP_LIMITS: SmtpLimits = {
  ...DEFAULT_SERVER_LIMITS,
  messageBytes: MAX_MESSAGE_BYTES,
  recipients: 100,
  messagesPerMinute: 0,
};

/** Listens for mail. Rejects with UserError if the port is unavailable or a range in `proxies` is invalid. */
export async function createSmtpListener(options: SmtpListenerOptions): Promise<SmtpListener> {
  const {
    name = hostname(),
    receive,
    spool,
    clock,
    ids,
    log,
    checkRecipient,
    blockLists,
    filter,
    dsn = false,
  } = options;
  const limits = { ...DEFAULT_SMTP_LIMITS, ...options.limits };
  const onRejected = withLoggedErrors(options.onRejected, log);
  const { onTranscript } = options;
  const rate = options.messageRate ?? createRate({ limit: limits.messagesPerMinute, perMs: 60_000, clock });
  const inspect = createInspection({ filter, log });
  const listingsByClient = new WeakMap<SmtpClient, Promise<SmtpReply | undefined>>();

  const reception = createReception({
    messageBytes: limits.messageBytes,
    spool,
    log,
    onRejected,
    begin({ envelope: { helo, ip, tls, to }, client }) {
      const id = ids.hex();
      const [recipient, ...earlierRecipients] = to;
      return {
        id,
        prefix: receivedField({
          helo,
          ip,
          by: name,
          protocol: client.protocolName(),
          id,
          tls,
          recipient: earlierRecipients.length === 0 ? recipient : undefined,
          at: new Date(clock.now()),
        }),
      };
    },
    async accept(source, { envelope, client }) {
      const { refused, source: inspectedSource } = await inspect(envelope, source);
      if (refused === undefined) {
        const { id } = inspectedSource;
        const reply = toPlainReply(combineReplies(await receive(envelope, inspectedSource)), envelope);
        onTranscript?.({ id, to: envelope.to, transcript: withReply(client.transcript(), reply) });
        return reply;
      }
      await source.discard();
      onRejected(envelope, refused, "data", withReply(client.transcript(), refused));
      return refused;
    },
  });

  async function checkRate(ip: string): Promise<SmtpReply | undefined> {
    return (await rate.consume(networkOf(ip)))
      ? undefined
      : { code: 451, enhanced: "4.7.1", text: "Too many messages from your network, try again later" };
  }

  /** Postmaster accepts mail even from listed clients (RFC 5321 4.5.1), because the listing may be a mistake. */
  async function refusalOfRecipient(rcpt: string, client: SmtpClient): Promise<SmtpReply | undefined> {
    try {
      const listedReply = /^postmaster(?:@|$)/i.test(rcpt) ? undefined : await listingsByClient.get(client);
      return listedReply ?? (await checkRecipient?.(rcpt, client.envelope()));
    } catch (err) {
      log.error({ err, rcpt }, "smtp: failed to check a recipient");
      return replyOf(smtpErrorOf(err));
    }
  }

  return startSmtpServer({
    ...options,
    name,
    limits,
    transcribes: onTranscript !== undefined,
    // Clients that authenticate use the submission listener.
    extensions: { pipelining: true, smtputf8: true, chunking: true, auth: false, dsn },
    maxSize: limits.messageBytes,
    maxRecipients: limits.recipients,
    handlers: {
      onConnect(client) {
        // The lookup runs while the client sends EHLO; the result is needed at the first recipient.
        if (blockLists !== undefined) listingsByClient.set(client, blockLists.find(client.ip));
      },
      async onMail(from, client) {
        const refusal = await checkRate(client.ip);
        if (refusal !== undefined)
          onRejected({ ...client.envelope(), from }, refusal, "mail", withReply(client.transcript(), refusal));
        return refusal;
      },
      async onRecipient(rcpt, client) {
        const refusal = await refusalOfRecipient(rcpt, client);
        if (refusal !== undefined)
          onRejected({ ...client.envelope(), to: [rcpt] }, refusal, "rcpt", withReply(client.transcript(), refusal));
        return refusal;
      },
      onData: reception,
    },
  });
}

/**
 * The text may come from a next hop in a UTF-8 session; it is converted to ASCII unless this session also uses SMTPUTF8
 * (RFC 6531 3.7.4.2).
 */
const toPlainReply = (reply: SmtpReply, { smtputf8 }: Envelope): SmtpReply =>
  smtputf8 ? reply : { ...reply, text: reply.text.replace(/[^ -~]/gu, "?") };
