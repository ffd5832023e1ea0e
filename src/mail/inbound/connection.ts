import { SMTPConnection } from "smtp-server/lib/smtp-connection";
import { SMTPStream } from "smtp-server/lib/smtp-stream";
import type { SMTPServerDataStream } from "smtp-server";
import { createDataReader, hasStrayLineEnd, type DataReader } from "../../protocol/smtp/index.ts";

/**
 * smtp-server's connection with three things of ours under its hood: the DATA reader that insists on CRLF and drops what exceeds the
 * size limit, a bound on how long a command or a message may take to arrive, and a greeting without the fixed 100 ms wait.
 */

/** The message as it arrives. */
export interface IncomingData extends SMTPServerDataStream {
  /** Set when the message holds a CR or LF that stands alone; its content is dropped from there on. */
  stray?: "CR" | "LF";
}

export interface ConnectionLimits {
  /** Milliseconds for a client to complete its next command. RFC 5321 4.5.3.2.7: at least 5 minutes. */
  commandMs: number;
  /** Milliseconds for the whole of a message to arrive. */
  dataMs: number;
}

class StrictStream extends SMTPStream {
  #reader: DataReader | undefined;
  #data: IncomingData | undefined;
  #dropped = false;
  readonly #onStrayCommand: () => void;

  constructor(options: { maxCommandLength?: number | undefined; onStrayCommand: () => void }) {
    super({ maxCommandLength: options.maxCommandLength });
    this.#onStrayCommand = options.onStrayCommand;
  }

  override startDataMode(maxBytes?: number | string | null): IncomingData {
    this.#reader = createDataReader();
    this.#dropped = false;
    return (this.#data = super.startDataMode(maxBytes));
  }

  override _write(chunk: Buffer, encoding: BufferEncoding | "buffer", next: (err?: Error | null) => void): void {
    // Before any line of the piece is obeyed. In data mode the reader below has its own eye on line ends.
    if (!this.isClosed && !this._dataMode && hasStrayLineEnd(this._remainder + chunk.toString("latin1"))) {
      this.#onStrayCommand();
      return next();
    }
    super._write(chunk, encoding, next);
  }

  override _feedDataStream(chunk: Buffer, done: (err?: Error | null) => void): void {
    const data = this.#data!;
    const { content, rest } = this.#reader!.push(chunk);
    if (this.#reader!.stray !== undefined) data.stray = this.#reader!.stray;
    this._countDataBytes(content.length);
    this.#dropped ||= data.stray !== undefined || data.sizeExceeded;
    const wanted = !this.#dropped && content.length > 0 && data.writable;
    if (rest !== undefined) this._endDataMode(wanted ? content : false, rest, done);
    else if (!wanted || data.write(content)) done();
    else onceReady(data, done);
  }
}

/** A stream that its reader destroyed never drains. */
function onceReady(data: IncomingData, done: () => void) {
  const ready = () => {
    data.off("drain", ready).off("close", ready);
    done();
  };
  data.once("drain", ready).once("close", ready);
}

export class StrictConnection extends SMTPConnection {
  #deadline: NodeJS.Timeout | undefined;
  #limits: ConnectionLimits;

  constructor(server: SMTPConnection["_server"], socket: SMTPConnection["_socket"], options: ConstructorParameters<typeof SMTPConnection>[2], limits: ConnectionLimits) {
    super(server, socket, options);
    this.#limits = limits;
  }

  /** Whether a message is on its way in or being handled. */
  get busy(): boolean {
    return Boolean(this._dataStream) || this._handlerPending;
  }

  override init(): void {
    this._setListeners(() => {
      const { maxClients } = this._server.options;
      if (maxClients && this._server.connections.size > maxClients) return this.send(421, `${this.name} Too many connections, try again later`, false);
      this.#expect(this.#limits.commandMs);
      this.connectionReady();
    });
  }

  override _createParser(): SMTPStream {
    const parser = new StrictStream({
      maxCommandLength: this._server.options.maxCommandLength,
      onStrayCommand: () => {
        this.send(500, "5.5.2 Error: commands end in CR LF, a bare CR or LF was received");
        this.close();
      },
    });
    parser.oncommand = (command, next) => this._onCommand(command, next);
    parser.on("error", (err) => this.send(421, `Error: ${err.message}`));
    return parser;
  }

  override _onClose(): void {
    clearTimeout(this.#deadline);
    super._onClose();
  }

  override _onCommand(command: Buffer, next?: () => void): void {
    this.#expect(this.#limits.commandMs);
    super._onCommand(command, next);
  }

  override handler_DATA(command: Buffer, next: () => void): void {
    super.handler_DATA(command, next);
    if (this._dataStream) {
      this.#expect(this.#limits.dataMs);
      // Once the message is in, the time is ours.
      this._dataStream.once("finish", () => clearTimeout(this.#deadline));
    }
  }

  /** A reply of ours may begin with its own enhanced code (RFC 2034); then no other is put in front. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    const own = typeof data === "string" && /^[245]\.\d{1,3}\.\d{1,3} /.test(data);
    super.send(code, data, own ? false : context);
    // The answer to a message: the next command may take its time again.
    if (!this._closing && !this._dataStream) this.#expect(this.#limits.commandMs);
  }

  #expect(ms: number) {
    clearTimeout(this.#deadline);
    if (this._closing || this._closed) return;
    this.#deadline = setTimeout(() => this.send(421, "4.4.2 Error: too slow, closing connection"), ms);
    this.#deadline.unref();
  }
}
