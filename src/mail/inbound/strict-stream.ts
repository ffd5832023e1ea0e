import type { SMTPServerDataStream } from "smtp-server";
import { SMTPStream } from "smtp-server/lib/smtp-stream";
import { createDataReader, hasStrayLineEnd, type DataReader } from "../../protocol/smtp/index.ts";

/** The message as it arrives. */
export interface IncomingData extends SMTPServerDataStream {
  /** Set when the message holds a CR or LF that stands alone; its content is dropped from there on. */
  stray?: "CR" | "LF";
}

/** So many octets of a message show that it is on its way: what drips in more slowly is no different from silence. */
const PROGRESS = 4096;

/** smtp-server's parser with a DATA reader that insists on CRLF and drops what exceeds the size limit. */
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

  /** Octets that came together with the command being obeyed, behind it: sent without waiting for its answer. */
  get unread(): number {
    return this.#unread;
  }

  /** To be told of each command that is taken out of the stream. */
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
      // Before any line of the piece is obeyed. In data mode the reader below has its own eye on line ends.
      if (hasStrayLineEnd(text)) {
        this.#on.strayCommand();
        return next();
      }
      this.#unread = text.length;
    }
    super._write(chunk, encoding, next);
  }

  /** A command without its line end is none, even when nothing follows any more. */
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

/** A stream that its reader destroyed never drains. */
function onceReady(data: IncomingData, done: () => void) {
  const ready = () => {
    data.off("drain", ready).off("close", ready);
    done();
  };
  data.once("drain", ready).once("close", ready);
}
