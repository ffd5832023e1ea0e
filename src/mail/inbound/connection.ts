import type { Socket } from "node:net";
import type { TlsSource } from "../../kernel/tls-source.ts";
import {
  createServerSession,
  formatReply,
  type Reply,
  type SmtpServerEvent,
  type ServerExtensions,
  type SmtpSessionLimits,
} from "../../protocol/smtp/index.ts";
import { createDeadline } from "./deadline.ts";
import { createIncomingMessage, type IncomingMessage } from "./incoming-message.ts";
import { createTranscript } from "./transcript.ts";
import type { ConnectionSlot, SlotHolder } from "./connection-limits.ts";
import { cipherOf, serverTls } from "./server-tls.ts";
import { envelopeOf, type SmtpClient, type SmtpHandlers } from "./session.ts";

export interface SessionTimeouts {
  /**
   * Milliseconds for a client to complete its next command, and for a pause within a message. RFC 5321 4.5.3.2.7: at
   * least 5 minutes.
   */
  commandMs: number;
  /** Milliseconds for a complete message to arrive. */
  dataMs: number;
  /** Milliseconds for a TLS handshake. */
  handshakeMs: number;
  /** Milliseconds for a client to authenticate, if authentication is required. */
  authMs?: number;
  /** Milliseconds by which a command is delayed if the client has made many errors. */
  tarpitMs: number;
}

interface ConnectionDeps<User> {
  /** The socket; with implicit TLS, after the handshake. */
  socket: Socket;
  /** The client's address; behind a proxy, the address from the PROXY header. */
  ip: string;
  name: string;
  extensions: ServerExtensions;
  maxSize: number;
  maxRecipients: number;
  limits: SessionTimeouts & SmtpSessionLimits;
  tls: Pick<TlsSource, "context"> | undefined;
  handlers: SmtpHandlers<User>;
  /** Records the session for the log. */
  transcribes?: boolean | undefined;
  /** Counts this connection toward the connection limits. */
  slot: ConnectionSlot;
  /** Returns true if the server is shutting down: it then ends each session as soon as it is not busy. */
  shuttingDown(): boolean;
  onError(err: Error): void;
  onClose(): void;
}

export interface SmtpConnection extends SlotHolder {
  /**
   * Ends the session unless a message is being received or processed, or a handler is deciding. With `force`, ends it
   * in any case.
   */
  shutDown(options?: { force: boolean }): void;
}

/**
 * The longest command other than AUTH is a RCPT with ORCPT, about 1,100 octets; AUTH has a token of a few hundred
 * octets.
 */
const MAX_COMMAND_BYTES = 4096;
/** Minimum number of octets of a message that count as progress. If a message is slower, the client counts as idle. */
const PROGRESS_BYTES = 4096;
/** Milliseconds that replies to a group of commands wait for the decision about the next command. */
const FLUSH_MS = 50;
/** Milliseconds for a client to close its side of the connection. */
const LINGER_MS = 5000;

const TOO_SLOW: Reply = { code: 421, enhanced: "4.4.2", text: "Error: too slow, closing connection" };
const NOT_AUTHENTICATED: Reply = {
  code: 421,
  enhanced: "4.4.2",
  text: "Error: authentication took too long, closing connection",
};
const EVICTED: Reply = {
  code: 421,
  enhanced: "4.3.2",
  text: "Error: this server is busy and you were idle, closing connection",
};
const SHUTTING_DOWN: Reply = { code: 421, enhanced: "4.3.2", text: "Server shutting down" };
const INTERNAL_ERROR: Reply = { code: 451, enhanced: "4.3.0", text: "Error: internal server error" };

/**
 * Drives the state machine of one SMTP session: socket, TLS, deadlines, backpressure, and the handlers' decisions. Starts
 * with the greeting.
 */
export function createSmtpConnection<User>(deps: ConnectionDeps<User>): SmtpConnection {
  const { name, ip, limits, handlers, slot } = deps;
  let { socket } = deps;
  const transcript = deps.transcribes === true ? createTranscript() : undefined;
  const session = createServerSession({
    ...deps,
    maxCommand: MAX_COMMAND_BYTES,
    tls: cipherOf(socket),
    onLine: transcript?.client,
  });
  const client: SmtpClient<User> = {
    ip,
    user: undefined,
    protocolName: session.protocolName,
    envelope: () => envelopeOf(session, ip),
    transcript: () => transcript?.lines() ?? [],
  };
  let message: IncomingMessage | undefined;
  let outcome: Promise<Reply> | undefined;
  /** Replies that have not been written yet. */
  let output = "";
  let isDeciding = false;
  let isUpgrading = false;
  let ended = false;
  let closed = false;
  let isProcessing = false;
  let unseenBytes = 0;
  let tarpitTimer: NodeJS.Timeout | undefined;
  let flushTimer: NodeJS.Timeout | undefined;
  let lingerTimer: NodeJS.Timeout | undefined;
  const deadline = createDeadline();
  const authDeadline =
    limits.authMs === undefined
      ? undefined
      : setTimeout(() => client.user === undefined && terminate(NOT_AUTHENTICATED), limits.authMs).unref();

  // ---- input

  function listen() {
    socket
      .on("data", receive)
      .on("drain", advance)
      .on("error", deps.onError)
      .on("close", close)
      .setTimeout(limits.commandMs, endIdle)
      .resume();
  }

  function receive(octets: Buffer) {
    if (ended) return;
    if (session.awaitedInput() === "data") {
      unseenBytes += octets.length;
      if (unseenBytes >= PROGRESS_BYTES) {
        unseenBytes = 0;
        slot.active();
      }
    }
    session.push(octets);
    advance();
  }

  const isBlocked = () =>
    closed ||
    ended ||
    isUpgrading ||
    isDeciding ||
    tarpitTimer !== undefined ||
    message?.isFull() === true ||
    socket.writableNeedDrain;

  /** Processes the buffered input as far as possible, then continues reading or waits. */
  function advance() {
    if (isProcessing) return;
    isProcessing = true;
    let hasCommand = false;
    while (!isBlocked()) {
      const event = session.next();
      if (event === undefined) break;
      if (event.type !== "content") hasCommand = true;
      handle(event);
    }
    isProcessing = false;
    if (hasCommand) slot.active();
    if (closed || ended) return;
    write();
    if (deps.shuttingDown()) connection.shutDown();
    expect(hasCommand);
    if (isBlocked()) socket.pause();
    else socket.resume();
  }

  function handle(event: SmtpServerEvent) {
    switch (event.type) {
      case "reply":
        return respond(event.reply);
      case "delay":
        tarpitTimer = setTimeout(() => {
          tarpitTimer = undefined;
          advance();
        }, limits.tarpitMs).unref();
        return;
      case "mail":
        return decide(handlers.onMail?.(session.currentTransaction()!.from, client));
      case "recipient":
        return decide(handlers.onRecipient?.(event.address, client));
      case "credentials":
        return decide(authenticate(event.credentials.username, event.credentials.password));
      case "data":
        message = createIncomingMessage(advance);
        outcome = handlers.onData(message.data, client);
        return;
      case "content":
        message?.push(event.content);
        return;
      case "message":
        message?.end(event);
        return decide(outcome, endMessage);
      case "aborted":
        return abortMessage();
      case "starttls":
        return startTls();
      case "close":
        end();
    }
  }

  // ---- decisions

  function decide(decision: Promise<Reply | undefined> | undefined, onReply = () => {}) {
    if (decision === undefined) return session.decide();
    isDeciding = true;
    const settle = (reply: Reply | undefined) => {
      isDeciding = false;
      if (closed) return;
      session.decide(reply);
      onReply();
      advance();
    };
    decision.then(settle, (err: Error) => {
      deps.onError(err);
      settle(INTERNAL_ERROR);
    });
  }

  async function authenticate(username: string, password: string): Promise<Reply | undefined> {
    const result = await handlers.onAuth!({ username, password }, client);
    if ("reply" in result) return result.reply;
    client.user = result.user;
    return undefined;
  }

  function endMessage() {
    message = undefined;
    outcome = undefined;
  }

  function abortMessage() {
    message?.destroy();
    message = undefined;
    // The handler sees the end of the connection in the message stream; its reply is discarded.
    outcome?.catch(() => {});
    outcome = undefined;
  }

  // ---- output

  function respond(reply: Reply) {
    const text = formatReply(reply);
    transcript?.server(text);
    output += text;
  }

  /** Sends the replies to a group of commands in one write (RFC 2920 3.2). */
  function write() {
    if (output === "") return;
    if (isDeciding && session.bufferedOctets() > 0) {
      flushTimer ??= setTimeout(flush, FLUSH_MS).unref();
      return;
    }
    flush();
  }

  function flush() {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    if (output === "" || !socket.writable || isUpgrading) return;
    const text = output;
    output = "";
    socket.write(text);
  }

  // ---- deadlines

  /** Sets the deadline of the input that the session is waiting for. `isDeadlineMet`: the last deadline was met. */
  function expect(isDeadlineMet: boolean) {
    if (isUpgrading || closed || ended) return;
    const phase =
      session.isReceiving() && !isDeciding ? "data" : session.awaitedInput() === "command" ? "command" : undefined;
    if (phase === undefined || tarpitTimer !== undefined) return deadline.clear();
    if (deadline.currentPhase() === phase && (phase === "data" || !isDeadlineMet)) return;
    deadline.set(phase, phase === "data" ? limits.dataMs : limits.commandMs, () => terminate(TOO_SLOW));
  }

  /** Called if no octet was transferred in either direction. */
  function endIdle() {
    if (!isDeciding && !isUpgrading && message?.isFull() !== true) terminate(TOO_SLOW);
  }

  // ---- TLS

  function startTls() {
    flush();
    isUpgrading = true;
    const plainSocket = socket;
    plainSocket.off("data", receive).off("drain", advance).off("close", close).setTimeout(0, endIdle);
    // RFC 3207 4.2: discards pipelined plaintext. Node would read it as part of the handshake.
    while (plainSocket.read() !== null);
    const secureSocket = serverTls(plainSocket, deps.tls!);
    socket = secureSocket;
    // Destroying the plain socket during a handshake leaves the TLS socket open.
    deadline.set("handshake", limits.handshakeMs, () => secureSocket.destroy());
    secureSocket.once("secure", () => {
      isUpgrading = false;
      session.tlsEstablished(cipherOf(secureSocket)!);
      transcript?.note(`TLS established: ${cipherOf(secureSocket)}`);
      client.user = undefined;
      secureSocket.off("error", deps.onError).off("close", close);
      listen();
      advance();
    });
    secureSocket.on("error", deps.onError).on("close", close);
  }

  // ---- the end

  function terminate(reply: Reply) {
    if (closed || ended) return;
    // A plaintext reply would corrupt the handshake.
    if (isUpgrading) return destroy();
    session.terminate(reply);
    for (let event = session.next(); event !== undefined; event = session.next()) handle(event);
  }

  /** Half-closes the connection. Further input from the client is ignored. */
  function end() {
    if (ended || closed) return;
    ended = true;
    flush();
    clearTimers();
    socket.end();
    socket.resume();
    lingerTimer = setTimeout(destroy, Math.min(LINGER_MS, limits.commandMs)).unref();
  }

  function destroy() {
    socket.destroy();
  }

  function close() {
    if (closed) return;
    closed = true;
    clearTimers();
    clearTimeout(lingerTimer);
    abortMessage();
    slot.release();
    deps.onClose();
  }

  function clearTimers() {
    deadline.clear();
    clearTimeout(authDeadline);
    clearTimeout(tarpitTimer);
    clearTimeout(flushTimer);
  }

  const connection: SmtpConnection = {
    isIdle: () => !isDeciding && !isUpgrading,
    evict() {
      terminate(EVICTED);
      socket.destroySoon();
    },
    shutDown({ force } = { force: false }) {
      if (force || !(isDeciding || session.isReceiving())) terminate(SHUTTING_DOWN);
    },
  };
  slot.holder = connection;
  transcript?.note(`connection from ${ip}${session.tlsCipher() === undefined ? "" : `, ${session.tlsCipher()}`}`);
  respond({ code: 220, text: `${name} ESMTP` });
  handlers.onConnect?.(client);
  listen();
  advance();
  return connection;
}
