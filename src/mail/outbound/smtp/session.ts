import { Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import type { Body, Parcel, ParcelRecipient, TlsFailure, TlsPolicy } from "../types.ts";
import { openSocket } from "./connect.ts";
import { SessionFailure, sessionFailure } from "./failure.ts";
import type { NextHop } from "./next-hops.ts";
import { clean, reply } from "./replies.ts";
import { tlsFailureOf } from "./tls-failure.ts";
import { startTlsOptions } from "./tls-policy.ts";
import { tellingTimes, type SmtpTimeouts } from "./timeouts.ts";
import { readAnswers, type Answers, type Refusal } from "./transaction.ts";

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
  /** TLS from the first octet. */
  implicitTls?: boolean;
  auth?: { user: string; pass: string };
}

/** An open connection that carries one message at a time. */
export interface Session {
  readonly target: SessionTarget;
  /** `mx1.example.com [192.0.2.1]:25` */
  readonly peer: string;
  /** "TLSv1.3"; undefined for plain text. */
  readonly tls: string | undefined;
  /** Why the certificate does not verify for the host; undefined if it does, and for plain text. */
  readonly certificateFailure: TlsFailure | undefined;
  /** Our address on this connection. */
  readonly sendingIp: string | undefined;
  /** The keywords of the EHLO reply, in upper case. */
  readonly extensions: ReadonlySet<string>;
  /** Maximum message size in octets (RFC 1870); 0 if not announced. */
  readonly maxSize: number;
  /** Number of messages sent on it. */
  readonly sent: number;
  readonly usable: boolean;
  /**
   * Runs one transaction. Rejects with SessionFailure if the connection did not survive it; replies received until then
   * are in `answers`.
   */
  send(
    parcel: Omit<Parcel, "to">,
    to: ParcelRecipient[],
    options: { smtputf8: boolean },
    signal: AbortSignal,
  ): Promise<Answers>;
  /** Sends QUIT. */
  quit(): void;
  destroy(): void;
}

/** Undeclared members of nodemailer's connection. */
interface Inner {
  _supportedExtensions: string[];
  _maxAllowedSize: number;
  _sendCommand(text: string, log?: string): void;
}

const QUIT_MS = 5_000;

export const nameOf = ({ host, address, port }: NextHop): string =>
  host === address ? `[${address}]:${port}` : `${host} [${address}]:${port}`;

/** Connects, sends EHLO, starts TLS according to the policy, and logs in. Rejects with SessionFailure. */
export async function openSession(
  target: SessionTarget,
  options: SessionOptions,
  signal: AbortSignal,
): Promise<Session> {
  const peer = nameOf(target);
  const { timeouts } = options;
  let connection: SMTPConnection | undefined;
  // A peer that disconnects after the STARTTLS command fails at TLS, just like one that disconnects during the
  // handshake.
  let lastSaid = "";
  let sendingIp: string | undefined;
  try {
    const socket = await openSocket(
      target,
      { timeoutMs: timeouts.connectMs, ...(options.localAddress && { localAddress: options.localAddress }) },
      signal,
    );
    sendingIp = socket.localAddress;
    const verified = target.policy.level === "verified" && target.policy.verify === undefined;
    connection = new SMTPConnection({
      connection: socket,
      host: target.host,
      port: target.port,
      name: options.name,
      secure: target.implicitTls ?? false,
      ...startTlsOptions(target.policy.level),
      greetingTimeout: timeouts.greetingMs,
      // From here to the end of STARTTLS; connecting has its own timeout.
      connectionTimeout: 2 * timeouts.greetingMs,
      socketTimeout: timeouts.commandMs,
      // Nothing is left to send on close: QUIT waits for its reply.
      socketCloseTimeout: 0,
      maxResponseSize: 64 * 1024,
      tls: {
        rejectUnauthorized: verified,
        ...(options.ca !== undefined && { ca: options.ca }),
        ...(target.policy.level === "opportunistic" ? {} : { minVersion: "TLSv1.2" }),
      },
    });
    const inner = connection as unknown as Inner;
    const say = inner._sendCommand;
    inner._sendCommand = function sendCommand(text, log) {
      lastSaid = text;
      return say.call(inner, text, log);
    };
    const session = createSession(connection, target, peer, timeouts, sendingIp);
    await session.open(signal);
    inner._sendCommand = say;
    return session;
  } catch (err) {
    connection?.close();
    const failure = sessionFailure(
      signal.aborted ? interrupted() : err,
      peer,
      connection?.upgrading === true || lastSaid === "STARTTLS",
    );
    failure.sendingIp = sendingIp;
    throw failure;
  }
}

const interrupted = () => new SessionFailure(reply(451, "4.4.7", "the attempt was broken off"), { ours: true });

function createSession(
  connection: SMTPConnection,
  target: SessionTarget,
  peer: string,
  timeouts: SmtpTimeouts,
  sendingIp: string | undefined,
): Session & { open(signal: AbortSignal): Promise<void> } {
  const inner = connection as unknown as Inner;
  let sent = 0;
  let dead = false;
  /** Rejects the current exchange when the connection ends; there is only one at a time. */
  let onEnd: ((err: unknown) => void) | undefined;

  connection.on("error", (err: Error) => {
    dead = true;
    onEnd?.(err);
  });
  connection.on("end", () => {
    dead = true;
    // nodemailer notifies the pending exchange after closing, with a more precise error.
    setImmediate(() => onEnd?.(new Error("the connection was closed")));
  });

  /** Runs one exchange until its callback, its deadline, or the end of the connection, whichever is first. */
  async function exchange<Value>(
    ms: number,
    signal: AbortSignal,
    start: (done: (err: unknown, value: Value) => void) => void,
  ): Promise<Value> {
    let timer: NodeJS.Timeout | undefined;
    let onAbort: (() => void) | undefined;
    try {
      return await new Promise<Value>((resolve, reject) => {
        if (signal.aborted) return reject(interrupted());
        onEnd = reject;
        onAbort = () => reject(interrupted());
        signal.addEventListener("abort", onAbort, { once: true });
        timer = setTimeout(
          () => reject(new SessionFailure(reply(451, "4.4.2", `${peer}: took longer than ${ms} ms`))),
          ms,
        );
        start((err, value) => (err ? reject(err instanceof Error ? err : new Error(String(err))) : resolve(value)));
      });
    } catch (err) {
      // After a deadline or an abort a late reply may still arrive, and must not be taken for the reply to another
      // message.
      if (err instanceof SessionFailure) destroy();
      throw err;
    } finally {
      clearTimeout(timer);
      if (onAbort) signal.removeEventListener("abort", onAbort);
      onEnd = undefined;
    }
  }

  function destroy() {
    dead = true;
    connection.close();
  }

  const socket = () => (connection._socket || undefined) as TLSSocket | undefined;
  const answered = (): boolean => !dead && !connection.destroyed;

  async function send(
    parcel: Omit<Parcel, "to">,
    to: ParcelRecipient[],
    { smtputf8 }: { smtputf8: boolean },
    signal: AbortSignal,
  ): Promise<Answers> {
    const [{ notify, orcpt } = {}] = to;
    const envelope: SMTPConnection.Envelope & Refusal = {
      from: parcel.from,
      to: to.map(({ rcpt }) => rcpt),
      size: parcel.body.size,
      use8BitMime: parcel.body.eightBit,
      dsn: { ret: parcel.ret, envid: parcel.envid, notify, orcpt },
    };
    const body = tellingTimes(await openBody(parcel.body, peer), socket, timeouts);
    const restore = smtputf8 ? sayUtf8(inner) : undefined;
    sent++;
    let failed: unknown;
    try {
      const info = await exchange<{ response: string }>(timeouts.transactionMs, signal, (done) =>
        connection.send(envelope, body.stream, done as never),
      );
      return readAnswers(to, envelope, { response: info.response });
    } catch (err) {
      failed = err;
      if (body.error !== undefined)
        throw new SessionFailure(reply(451, "4.3.0", `the message could not be read: ${clean(String(body.error))}`), {
          ours: true,
          cause: body.error,
        });
      if (!answered() && (err as { response?: string }).response === undefined)
        throw body.finished && !signal.aborted ? lostAnswer(err, peer) : err;
      return readAnswers(to, envelope, { error: err as Error });
    } finally {
      restore?.();
      body.stream.destroy();
      if (failed === undefined) socket()?.setTimeout(timeouts.commandMs);
      else await afterFailure(body.started);
    }
  }

  /** A failed transaction leaves its sender and recipients behind in the session. */
  async function afterFailure(inData: boolean) {
    if (!answered()) return;
    // Half a message was sent: no command can follow.
    if (inData && bodyIsOpen()) return destroy();
    socket()?.setTimeout(timeouts.commandMs);
    try {
      await exchange<boolean>(timeouts.commandMs, new AbortController().signal, (done) =>
        connection.reset(done as never),
      );
    } catch {
      destroy();
    }
  }

  const bodyIsOpen = () => (connection as unknown as { _currentDataStream: unknown })._currentDataStream !== false;

  return {
    target,
    peer,
    get tls() {
      return connection.secure ? (socket()?.getProtocol?.() ?? "TLS") : undefined;
    },
    get certificateFailure() {
      const error = connection.secure ? (socket()?.authorizationError as unknown) : undefined;
      return error ? tlsFailureOf({ code: String(error), message: String(error) }) : undefined;
    },
    sendingIp,
    get extensions() {
      return new Set(inner._supportedExtensions);
    },
    get maxSize() {
      return inner._maxAllowedSize;
    },
    get sent() {
      return sent;
    },
    get usable() {
      return answered();
    },
    async open(signal) {
      await exchange<void>(4 * timeouts.greetingMs, signal, (done) =>
        connection.connect(((err?: Error) => done(err, undefined)) as never),
      );
      if (connection.secure) target.policy.verify?.(target.host, socket()!);
      if (target.auth === undefined) return;
      if (!connection.secure && target.policy.level !== "none")
        throw new SessionFailure(
          reply(451, "4.7.5", `${peer}: no password goes over a connection that is not encrypted`),
        );
      const { user, pass } = target.auth;
      await exchange<unknown>(timeouts.commandMs, signal, (done) =>
        connection.login({ credentials: { user, pass } }, done as never),
      );
    },
    async send(parcel, to, how, signal) {
      try {
        return await send(parcel, to, how, signal);
      } catch (err) {
        destroy();
        throw sessionFailure(signal.aborted && !(err instanceof SessionFailure) ? interrupted() : err, peer);
      }
    },
    quit() {
      if (!answered()) return destroy();
      connection.quit();
      setTimeout(destroy, QUIT_MS).unref();
    },
    destroy,
  };
}

async function openBody(body: Body, peer: string): Promise<Readable | Uint8Array> {
  try {
    return await body.open();
  } catch (err) {
    throw new SessionFailure(reply(451, "4.3.0", `the message for ${peer} could not be read: ${clean(String(err))}`), {
      ours: true,
      cause: err,
    });
  }
}

/** The only case in which a message may arrive twice: it is unknown whether the host accepted it. */
const lostAnswer = (err: unknown, peer: string) =>
  new SessionFailure(reply(451, "4.4.2", `${peer}: the connection was lost after the message, before its answer`), {
    afterMessage: true,
    cause: err,
  });

/**
 * nodemailer sends SMTPUTF8 for addresses only; a header section in UTF-8 needs it too (RFC 6531 3.4). Returns a
 * function that reverts this.
 */
function sayUtf8(inner: Inner): () => void {
  const say = inner._sendCommand;
  inner._sendCommand = function sendCommand(text, log) {
    const plain = !text.startsWith("MAIL FROM:") || / SMTPUTF8\b/.test(text.slice(text.lastIndexOf(">")));
    return say.call(inner, plain ? text : `${text} SMTPUTF8`, log);
  };
  return () => void (inner._sendCommand = say);
}
