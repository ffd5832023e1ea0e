import type { SMTPServerSession } from "smtp-server";
import { SMTPConnection } from "smtp-server/lib/smtp-connection";
import type { SMTPStream } from "smtp-server/lib/smtp-stream";
import { noWishes, readMailParameters, readRecipientParameters, type Asked, type Extensions } from "./parameters.ts";
import type { Occupant, Place } from "./room.ts";
import { StrictStream } from "./strict-stream.ts";

/**
 * Extends smtp-server's connection: the strict parser, limits on the time for a command or message and on client
 * errors, replies that can be awaited, MAIL and RCPT parameters, and a greeting without the fixed 100 ms delay.
 */

export interface ConnectionLimits {
  /** Milliseconds for a client to complete its next command. RFC 5321 4.5.3.2.7: at least 5 minutes. */
  commandMs: number;
  /** Milliseconds for a complete message to arrive. */
  dataMs: number;
  /** Milliseconds for a TLS handshake. */
  handshakeMs: number;
  /** Milliseconds for a client to authenticate, if it must. */
  authMs?: number;
  /** Number of failed commands after which the session ends; reset when a message is accepted. */
  errors: number;
  /** Number of failed commands after which each further command is delayed, and the delay in milliseconds. */
  patience: number;
  tarpitMs: number;
  /** Maximum number of commands without an accepted message; each further one counts as failed. */
  commands: number;
}

export interface StrictSession extends SMTPServerSession {
  asked?: Asked;
}

/**
 * RFC 2920 3.1: a client must wait for the reply to these. A client that does not is not a mail server, or its commands
 * are injected through another protocol.
 */
const AWAITED = /^(?:EHLO|HELO|DATA)\b/i;

export class StrictConnection extends SMTPConnection implements Occupant {
  #deadline: NodeJS.Timeout | undefined;
  #authDeadline: NodeJS.Timeout | undefined;
  #held: NodeJS.Timeout | undefined;
  #errors = 0;
  #commands = 0;
  /** A message was announced and has not been answered yet. */
  #message = false;
  readonly #limits: ConnectionLimits;
  readonly #place: Place;

  constructor(
    server: SMTPConnection["_server"],
    socket: SMTPConnection["_socket"],
    options: ConstructorParameters<typeof SMTPConnection>[2],
    limits: ConnectionLimits,
    place: Place,
  ) {
    super(server, socket, options);
    this.#limits = limits;
    this.#place = place;
    place.occupant = this;
  }

  /** True while a message is being received or processed. */
  get busy(): boolean {
    return Boolean(this._dataStream) || this._handlerPending;
  }

  get resting(): boolean {
    const arriving = this._parser !== false && this._parser._dataMode;
    return !this._handlerPending && !this._upgrading && (!this._dataStream || arriving);
  }

  evict(): void {
    this.send(421, "4.3.2 Error: this server is busy and you were idle, closing connection");
    this._socket.destroySoon();
  }

  override init(): void {
    this._setListeners(() => {
      this.#expect(this.#limits.commandMs);
      const { authMs } = this.#limits;
      if (authMs !== undefined) {
        this.#authDeadline = setTimeout(() => this.#tooLate(), authMs).unref();
      }
      this.connectionReady();
    });
  }

  override _createParser(): SMTPStream {
    const parser = new StrictStream({
      maxCommandLength: this._server.options.maxCommandLength,
      on: {
        strayCommand: () => this.#hangUp(500, "5.5.2 Error: commands end in CR LF, a bare CR or LF was received"),
        progress: () => this.#place.active(),
      },
    });
    parser.oncommand = (command, next) => {
      parser.obeyed(command);
      this._onCommand(command, next);
    };
    parser.on("error", (err) => this.#hangUp(500, `5.5.2 Error: ${err.message.toLowerCase()}`));
    return parser;
  }

  override _onClose(): void {
    for (const timer of [this.#deadline, this.#authDeadline, this.#held]) clearTimeout(timer);
    this.#place.leave();
    super._onClose();
  }

  override _onCommand(command: Buffer, next: () => void = () => {}): void {
    const { errors, patience, tarpitMs } = this.#limits;
    this.#place.active();
    this.#commands++;
    if (this.#errors >= errors) return this.send(421, "4.7.0 Error: too many errors, closing connection");
    if (this.#errors < patience) return this.#obey(command, next);
    clearTimeout(this.#deadline);
    this.#held = setTimeout(() => this.#obey(command, next), tarpitMs).unref();
  }

  #obey(command: Buffer, next: () => void) {
    // The connection closed while the command was delayed.
    if (this._closing || this._closed || this._parser === false) return next();
    this.#expect(this.#limits.commandMs);
    if (AWAITED.test(command.toString("latin1", 0, 8)) && this.#notAwaited) {
      this.#hangUp(554, "5.5.0 Error: SMTP protocol synchronization, wait for the answer to this command");
      return next();
    }
    super._onCommand(command, next);
  }

  get #notAwaited(): boolean {
    return (
      !this._upgrading && this._nextHandler === false && this._parser instanceof StrictStream && this._parser.unread > 0
    );
  }

  override handler_MAIL(command: Buffer, next: () => void): void {
    const read = readMailParameters(command, this.#extensions);
    if (!read.ok) {
      this.send(read.reply.code, `${read.reply.enhanced} ${read.reply.text}`);
      return next();
    }
    if (!this.session.envelope.mailFrom) (this.session as StrictSession).asked = { ...noWishes(), mail: read.asked };
    super.handler_MAIL(command, next);
  }

  override handler_RCPT(command: Buffer, next: () => void): void {
    const read = readRecipientParameters(command, this.#extensions, this.session.envelope.smtpUtf8 === true);
    if (!read.ok) {
      this.send(read.reply.code, `${read.reply.enhanced} ${read.reply.text}`);
      return next();
    }
    const path = this._parseAddressCommand("rcpt to", command);
    if (path !== false) (this.session as StrictSession).asked?.to.set(path.address.toLowerCase(), read.asked);
    super.handler_RCPT(command, next);
  }

  get #extensions(): Extensions {
    const { hideDSN, hideSMTPUTF8 } = this._server.options;
    return { dsn: hideDSN !== true, utf8: hideSMTPUTF8 !== true, auth: this._isSupported("AUTH") };
  }

  override handler_DATA(command: Buffer, next: () => void): void {
    super.handler_DATA(command, next);
    if (this._dataStream) {
      this.#message = true;
      this.#expect(this.#limits.dataMs);
      // After the message is complete, the client's timeout no longer applies.
      this._dataStream.once("finish", () => clearTimeout(this.#deadline));
    }
  }

  override upgrade(callback: () => void, secureCallback?: () => void): void {
    super.upgrade(callback, secureCallback);
    this.#expect(this.#limits.handshakeMs);
  }

  /** A reply may start with its own enhanced code (RFC 2034); then smtp-server must not add another. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const own = typeof data === "string" && /^[245]\.\d{1,3}\.\d{1,3} /.test(data);
    this.#account(code);
    super.send(code, data, own ? false : context);
    // After the reply to a message, the timeout for the next command starts again.
    if (!this._closing && !this._dataStream) this.#expect(this.#limits.commandMs);
  }

  /** A rejected message does not count as a protocol error of the client. */
  #account(code: number) {
    if (this.#message) {
      this.#message = false;
      if (code >= 300) return;
      this.#errors = 0;
      this.#commands = 0;
    } else if (code >= 500 || this.#commands > this.#limits.commands) this.#errors++;
  }

  #hangUp(code: number, text: string) {
    this.send(code, text);
    this.close();
  }

  #tooLate() {
    if (!this.session.user) this.send(421, "4.4.2 Error: authentication took too long, closing connection");
  }

  #expect(ms: number) {
    clearTimeout(this.#deadline);
    if (this._closing || this._closed) return;
    this.#deadline = setTimeout(() => this.send(421, "4.4.2 Error: too slow, closing connection"), ms).unref();
  }
}
