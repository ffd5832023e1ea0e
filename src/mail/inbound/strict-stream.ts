import type { SMTPServerDataStream } from "smtp-server";
import { SMTPStream } from "smtp-server/lib/smtp-stream";
import { createDataReader, hasStrayLineEnd, type DataReader } from "../../protocol/smtp/index.ts";

/** An incoming message. */
export interface IncomingData extends SMTPServerDataStream {
  /** Set if the message contains a bare CR or LF; its content is dropped from there on. */
  stray?: "CR" | "LF";
}

/** Octets that count as progress of a message: slower data is treated like silence. */
const PROGRESS = 4096;

/** smtp-server's parser with a DATA reader that requires CRLF and drops data beyond the size limit. */
export class StrictStream extends SMTPStream {
  #reader: DataReader | undefined;
  #data: IncomingData | undefined;
  #dropped = false;
  #unread = 0;
  #unseen = 0;
  readonly #on: { strayCommand(): void; progress(): void };

  constructor(options: { maxCommandLength?: number | undefined; on: { strayCommand(): void; progress(): void } }) {
    super({ maxCommandLength: options.maxCommandLength });
    this.#on = options.on;
  }

  /** Octets received after the current command in the same chunk: sent without waiting for its reply. */
  get unread(): number {
    return this.#unread;
  }

  /** Must be called for each command taken from the stream. */
  obeyed(command: Buffer): void {
    this.#unread -= command.length + 2;
  }

  override startDataMode(maxBytes?: number | string | null): IncomingData {
    this.#reader = createDataReader();
    this.#dropped = false;
    return (this.#data = super.startDataMode(maxBytes));
  }

  override _write(chunk: Buffer, encoding: BufferEncoding | "buffer", next: (err?: Error | null) => void): void {
    if (!this.isClosed && !this._dataMode) {
      const text = this._remainder + chunk.toString("latin1");
      // Before any line of the chunk is processed. In data mode the reader below checks line ends.
      if (hasStrayLineEnd(text)) {
        this.#on.strayCommand();
        return next();
      }
      this.#unread = text.length;
    }
    super._write(chunk, encoding, next);
  }

  /** A command without a line end is ignored, even at the end of the stream. */
  override _flushData(): void {
    this._remainder = "";
  }

  override _feedDataStream(chunk: Buffer, done: (err?: Error | null) => void): void {
    const data = this.#data!;
    const { content, rest } = this.#reader!.push(chunk);
    if (this.#reader!.stray !== undefined) data.stray = this.#reader!.stray;
    this._countDataBytes(content.length);
    this.#unseen += content.length;
    if (this.#unseen >= PROGRESS) {
      this.#unseen = 0;
      this.#on.progress();
    }
    this.#dropped ||= data.stray !== undefined || data.sizeExceeded;
    const wanted = !this.#dropped && content.length > 0 && data.writable;
    if (rest !== undefined) this._endDataMode(wanted ? content : false, rest, done);
    else if (!wanted || data.write(content)) done();
    else onceReady(data, done);
  }
}

/** A stream destroyed by its reader never emits "drain". */
function onceReady(data: IncomingData, done: () => void) {
  const ready = () => {
    data.off("drain", ready).off("close", ready);
    done();
  };
  data.once("drain", ready).once("close", ready);
}
