/** Queue of records for one reader. */
export interface ReaderQueue {
  push(text: string): void;
  /** The reader can accept more records. */
  drained(): void;
}

interface ReaderQueueOptions {
  /** Returns false if the record was accepted but the next one must wait for drained(). */
  write(text: string): boolean;
  /** The notice in place of this many lost records. */
  createLossNotice(lost: number): string;
  maxRecords: number;
  /** Maximum characters. */
  maxBytes: number;
}

/**
 * Limits the cost of a slow reader: above the limits, records are dropped, and a notice in their place states how many.
 */
export function createReaderQueue({ write, createLossNotice, maxRecords, maxBytes }: ReaderQueueOptions): ReaderQueue {
  const waiting: string[] = [];
  let bytes = 0;
  let blocked = false;
  let lost = 0;

  const isFull = (text: string) => waiting.length >= maxRecords || bytes + text.length > maxBytes;
  /** Sends one notice for a whole series of losses: records are accepted again once there is space for many. */
  const isHalfEmpty = () => waiting.length <= maxRecords / 2 && bytes <= maxBytes / 2;

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
    const text = createLossNotice(lost);
    lost = 0;
    send(text);
  }

  return {
    push(text) {
      if (lost > 0 && isHalfEmpty()) tellLoss();
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
