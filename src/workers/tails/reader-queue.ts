/** Records on their way to one reader. */
export interface ReaderQueue {
  push(text: string): void;
  /** The reader can take more. */
  drained(): void;
}

export interface ReaderQueueOptions {
  /** False: the record is taken, and the next one not before drained(). */
  write(text: string): boolean;
  /** What to say where so many records are missing. */
  notice(lost: number): string;
  maxRecords: number;
  /** Characters. */
  maxBytes: number;
}

/** A bound on what a slow reader costs: beyond it records are left out, and the reader is told how many, where they would have stood. */
export function createReaderQueue({ write, notice, maxRecords, maxBytes }: ReaderQueueOptions): ReaderQueue {
  const waiting: string[] = [];
  let bytes = 0;
  let blocked = false;
  let lost = 0;

  const isFull = (text: string) => waiting.length >= maxRecords || bytes + text.length > maxBytes;
  /** One notice for a whole run of losses: records are taken again when there is room for a good many. */
  const hasRoomAgain = () => waiting.length <= maxRecords / 2 && bytes <= maxBytes / 2;

  function send(text: string) {
    if (blocked) {
      waiting.push(text);
      bytes += text.length;
    } else {
      blocked = !write(text);
    }
  }

  function tellLoss() {
    if (lost === 0) return;
    const text = notice(lost);
    lost = 0;
    send(text);
  }

  return {
    push(text) {
      if (lost > 0 && hasRoomAgain()) tellLoss();
      if (lost > 0 || (blocked && isFull(text))) lost++;
      else send(text);
    },
    drained() {
      blocked = false;
      while (!blocked && waiting.length > 0) {
        const text = waiting.shift()!;
        bytes -= text.length;
        blocked = !write(text);
      }
      if (!blocked) tellLoss();
    },
  };
}
