import { Readable } from "node:stream";
import { formatMailRequest, formatRecipientRequest } from "../../../protocol/dsn/index.ts";
import type { ReplayableBody, DeliveryRequest, EnvelopeRecipient, TlsFailure, TlsPolicy } from "../types.ts";
import { createChannel, type Channel } from "./channel.ts";
import { openSocket } from "./connect.ts";
import { SessionFailure, sessionFailure } from "./failure.ts";
import type { NextHop } from "./next-hops.ts";
import { clean, reply } from "./replies.ts";
import { tlsFailureOf } from "./tls-failure.ts";
import { handshake, isPositive, type Extensions } from "./handshake.ts";
import { sendData } from "./message-data.ts";
import type { SmtpTimeouts } from "./timeouts.ts";
import {
  recipientReplyOf,
  recipientReplies,
  invalidAddress,
  type RecipientReply,
  type RecipientReplies,
} from "./transaction.ts";

export interface SessionOptions {
  /** The name in EHLO. */
  name: string;
  timeouts: SmtpTimeouts;
  localAddress?: { 4?: string; 6?: string };
  /** All PEM certificates to trust for `verified`. Default: the system's. */
  ca?: string[];
}

export interface SessionTarget extends NextHop {
  policy: TlsPolicy;
  /** TLS from the first byte. */
  implicitTls?: boolean;
  auth?: { user: string; pass: string };
}

/** An open connection that carries one message at a time. */
export interface DeliverySession {
  readonly target: SessionTarget;
  /** For example, `mx1.example.com [192.0.2.1]:25`. */
  readonly peer: string;
  /** Returns, for example, "TLSv1.3"; undefined on an unencrypted connection. */
  tlsVersion(): string | undefined;
  /** Returns why the certificate is not valid for the host; undefined if it is valid, or the connection unencrypted. */
  certificateFailure(): TlsFailure | undefined;
  /** Our address on this connection. */
  readonly sendingIp: string | undefined;
  /** The keywords of the EHLO reply, in upper case. */
  readonly extensions: ReadonlySet<string>;
  /** Maximum message size in octets (RFC 1870); 0 if not announced. */
  readonly maxSize: number;
  /** Returns the number of messages sent on it. */
  sentCount(): number;
  isUsable(): boolean;
  /**
   * Runs one transaction. Rejects with SessionFailure if the connection fails during it; replies received until then
   * are in `answers`.
   */
  send(
    deliveryRequest: Omit<DeliveryRequest, "to">,
    to: EnvelopeRecipient[],
    options: { smtputf8: boolean },
    signal: AbortSignal,
  ): Promise<RecipientReplies>;
  /** Sends QUIT. */
  quit(): void;
  destroy(): void;
}

const QUIT_TIMEOUT_MS = 5_000;

export const hopName = ({ host, address, port }: NextHop): string =>
  host === address ? `[${address}]:${port}` : `${host} [${address}]:${port}`;

/** Connects and performs the handshake: EHLO, TLS as the policy requires, AUTH. Rejects with SessionFailure. */
export async function openSession(
  target: SessionTarget,
  options: SessionOptions,
  signal: AbortSignal,
): Promise<DeliverySession> {
  const { policy, auth } = target;
  const { timeouts, localAddress, ca, name } = options;
  const peer = hopName(target);
  let channel: Channel | undefined;
  // A peer that closes the connection after STARTTLS counts as a TLS failure, like one that closes it during the
  // handshake.
  let isInTls = false;
  let sendingIp: string | undefined;
  try {
    const socket = await openSocket(
      target,
      { timeoutMs: timeouts.connectMs, ...(localAddress && { localAddress }) },
      signal,
    );
    sendingIp = socket.localAddress;
    const openedChannel = (channel = createChannel(socket));
    const extensions = await runBounded(openedChannel, { ms: 4 * timeouts.greetingMs, peer, signal }, () =>
      handshake({
        channel: openedChannel,
        peer,
        host: target.host,
        name,
        level: policy.level,
        implicitTls: target.implicitTls ?? false,
        verify: () => policy.verify?.(target.host, openedChannel.tlsSocket()!),
        auth,
        tls: {
          rejectUnauthorized: policy.level === "verified" && policy.verify === undefined,
          ...(ca !== undefined && { ca }),
          ...(policy.level === "opportunistic" ? {} : { minVersion: "TLSv1.2" as const }),
        },
        timeouts,
        onTls: (started) => (isInTls = started),
      }),
    );
    return createSession({ channel, target, peer, timeouts, sendingIp, extensions });
  } catch (err) {
    channel?.fail(new Error("the session was not established"));
    const failure = sessionFailure(signal.aborted ? createInterruption() : err, peer, isInTls);
    failure.sendingIp = sendingIp;
    throw failure;
  }
}

const createInterruption = () => new SessionFailure(reply(451, "4.4.7", "the attempt was aborted"), { isLocal: true });

/**
 * Runs an exchange that fails at its deadline or when the attempt is aborted; late replies must not be taken for the
 * replies to another command.
 */
async function runBounded<Value>(
  channel: Channel,
  { ms, peer, signal }: { ms: number; peer: string; signal: AbortSignal },
  exchange: () => Promise<Value>,
): Promise<Value> {
  const onAbort = () => channel.fail(createInterruption());
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () => channel.fail(new SessionFailure(reply(451, "4.4.2", `${peer}: took longer than ${ms} ms`))),
    ms,
  );
  try {
    return await exchange();
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

interface SessionDeps {
  channel: Channel;
  target: SessionTarget;
  peer: string;
  timeouts: SmtpTimeouts;
  sendingIp: string | undefined;
  extensions: Extensions;
}

function createSession({ channel, target, peer, timeouts, sendingIp, extensions }: SessionDeps): DeliverySession {
  const { keywords } = extensions;
  let transactions = 0;

  const destroy = () => channel.fail(new Error("the connection was closed"));

  /**
   * Sends MAIL, RCPT and DATA, in one write if the server supports PIPELINING (RFC 2920 3.1). Without it, DATA is only
   * sent if a recipient was accepted; `data` is then "" otherwise.
   */
  async function sendEnvelope(
    mail: string,
    rcpts: string[],
  ): Promise<{ sender: string; recipients: string[]; data: string }> {
    if (keywords.has("PIPELINING")) {
      channel.send([mail, ...rcpts, "DATA"]);
      // The server may close the connection once it has rejected the sender or all recipients: the reason counts.
      const replyIfAny = () => channel.reply().catch(() => "");
      const sender = await channel.reply();
      const recipients: string[] = [];
      for (const _ of rcpts) recipients.push(await (isPositive(sender) ? channel.reply() : replyIfAny()));
      return { sender, recipients, data: await (recipients.some(isPositive) ? channel.reply() : replyIfAny()) };
    }
    const sender = await channel.command(mail);
    const recipients: string[] = [];
    if (!isPositive(sender)) return { sender, recipients, data: "" };
    for (const rcpt of rcpts) recipients.push(await channel.command(rcpt));
    return { sender, recipients, data: recipients.some(isPositive) ? await channel.command("DATA") : "" };
  }

  async function transact(
    { from, body, ret, envid }: Omit<DeliveryRequest, "to">,
    to: EnvelopeRecipient[],
    smtputf8: boolean,
    content: Readable | Uint8Array,
  ): Promise<RecipientReplies> {
    const rejected = new Map<string, RecipientReply>();
    for (const { rcpt } of to) if (!isSendable(rcpt)) rejected.set(rcpt, invalidAddress(rcpt));
    const sendable = to.filter(({ rcpt }) => !rejected.has(rcpt));
    const first = to.find(({ rcpt }) => rejected.has(rcpt));
    if (sendable.length === 0) return recipientReplies(to, rejected, rejected.get(first!.rcpt)!);
    const dsn = keywords.has("DSN");
    const mail = [
      `MAIL FROM:<${from}>`,
      ...(keywords.has("SIZE") ? [`SIZE=${body.size}`] : []),
      ...(body.eightBit && keywords.has("8BITMIME") ? ["BODY=8BITMIME"] : []),
      ...(smtputf8 ? ["SMTPUTF8"] : []),
      ...(dsn ? formatMailRequest({ ...(ret && { ret }), ...(envid !== undefined && { envid }) }) : []),
    ].join(" ");
    const rcpts = sendable.map(({ rcpt, notify, orcpt }) => {
      const request = { ...(notify && { notify }), ...(orcpt !== undefined && { orcpt }) };
      return [`RCPT TO:<${rcpt}>`, ...(dsn ? formatRecipientRequest(request) : [])].join(" ");
    });
    const { sender, recipients, data } = await sendEnvelope(mail, rcpts);
    // After a rejected sender, recipients are rejected for being out of order.
    if (!isPositive(sender)) return resetAfter(recipientReplies(to, rejected, recipientReplyOf(sender, "MAIL")), data);
    recipients.forEach((replyText, index) => {
      if (!isPositive(replyText)) rejected.set(sendable[index]!.rcpt, recipientReplyOf(replyText, "RCPT"));
    });
    if (rejected.size === new Set(to.map(({ rcpt }) => rcpt)).size)
      return resetAfter(recipientReplies(to, rejected, rejected.get(sendable[0]!.rcpt)!), data);
    if (!data.startsWith("3")) return resetAfter(recipientReplies(to, rejected, recipientReplyOf(data, "DATA")), data);
    return recipientReplies(to, rejected, await deliver(content));
  }

  async function deliver(content: Readable | Uint8Array): Promise<RecipientReply> {
    const end = await sendData(channel, content, timeouts);
    if ("unreadable" in end)
      throw new SessionFailure(reply(451, "4.3.0", `the message could not be read: ${clean(String(end.unreadable))}`), {
        isLocal: true,
        cause: end.unreadable,
      });
    if ("lost" in end)
      throw end.complete && !(end.lost instanceof SessionFailure) ? toLostAnswer(end.lost, peer) : end.lost;
    // No command may follow a partial message.
    if (!end.complete) destroy();
    return recipientReplyOf(end.reply, "message");
  }

  /**
   * Ends a transaction without a message, so that its sender and recipients do not remain in the session. If the server
   * has accepted a pipelined DATA command nevertheless, it expects a message (RFC 2920 3.1: a single dot).
   */
  async function resetAfter(answers: RecipientReplies, dataReply: string): Promise<RecipientReplies> {
    const closing = answers.some(({ reply: { code } }) => code === 421);
    const reset = async () => {
      if (dataReply.startsWith("3")) await channel.command(".");
      return channel.command("RSET");
    };
    const replyText = closing ? "" : await reset().catch(() => "");
    if (!isPositive(replyText)) destroy();
    return answers;
  }

  async function send(
    deliveryRequest: Omit<DeliveryRequest, "to">,
    to: EnvelopeRecipient[],
    smtputf8: boolean,
    signal: AbortSignal,
  ) {
    if (!isSendable(deliveryRequest.from)) return recipientReplies(to, new Map(), invalidAddress(deliveryRequest.from));
    const content = await openBody(deliveryRequest.body, peer);
    transactions++;
    channel.setSilence(timeouts.commandMs);
    try {
      const limits = { ms: timeouts.transactionMs, peer, signal };
      return await runBounded(channel, limits, () => transact(deliveryRequest, to, smtputf8, content));
    } finally {
      if (content instanceof Readable) content.on("error", () => {}).destroy();
      if (channel.isReady()) channel.setSilence(timeouts.commandMs);
    }
  }

  return {
    target,
    peer,
    tlsVersion() {
      const socket = channel.tlsSocket();
      return socket && (socket.getProtocol() ?? "TLS");
    },
    certificateFailure() {
      const error: unknown = channel.tlsSocket()?.authorizationError;
      return error ? tlsFailureOf({ code: String(error), message: String(error) }) : undefined;
    },
    sendingIp,
    extensions: new Set(keywords.keys()),
    maxSize: Number(keywords.get("SIZE")?.[0] ?? 0) || 0,
    sentCount: () => transactions,
    isUsable: channel.isReady,
    async send(deliveryRequest, to, { smtputf8 }, signal) {
      try {
        return await send(deliveryRequest, to, smtputf8, signal);
      } catch (err) {
        destroy();
        throw sessionFailure(signal.aborted && !(err instanceof SessionFailure) ? createInterruption() : err, peer);
      }
    },
    quit() {
      if (!channel.isReady()) return destroy();
      setTimeout(destroy, QUIT_TIMEOUT_MS).unref();
      channel.command("QUIT").then(destroy, () => {});
    },
    destroy,
  };
}

// oxlint-disable-next-line no-control-regex
const isSendable = (address: string) => !/[<>\x00-\x1f\x7f]/.test(address);

async function openBody(body: ReplayableBody, peer: string): Promise<Readable | Uint8Array> {
  try {
    return await body.open();
  } catch (err) {
    throw new SessionFailure(reply(451, "4.3.0", `the message for ${peer} could not be read: ${clean(String(err))}`), {
      isLocal: true,
      cause: err,
    });
  }
}

/** The only case in which a message may arrive twice: it is unknown whether the host accepted it. */
const toLostAnswer = (err: unknown, peer: string) =>
  new SessionFailure(
    reply(451, "4.4.2", `${peer}: the connection was lost after the message was sent, before the reply`),
    {
      afterMessage: true,
      cause: err,
    },
  );
