/** Queue of records for one reader. */
export interface ReaderQueue {
  push(text: string): void;
  /** Call this when the reader can accept more records. */
  drained(): void;
}

interface ReaderQueueOptions {
  /** Returns false if the record was accepted but the next one must wait for drained(). */
  write(text: string): boolean;
  /** Creates the notice in place of this many lost records. */
  createLossNotice(lostCount: number): string;
  maxRecords: number;
  /** Maximum characters. */
  maxBytes: number;
}

/**
 * Limits the cost of a slow reader: above the limits, records are dropped, and a notice in their place states how many.
 */
export function createReaderQueue({ write, createLossNotice, maxRecords, maxBytes }: ReaderQueueOptions): ReaderQueue {
  const waitingTexts: string[] = [];
  let bytes = 0;
  let isBlocked = false;
  let lostCount = 0;

  const isFull = (text: string) => waitingTexts.length >= maxRecords || bytes + text.length > maxBytes;
  /**
   * True once there is space for many records: only then are records accepted again, so that one notice covers a whole
   * series of losses.
   */
  const isHalfEmpty = () => waitingTexts.length <= maxRecords / 2 && bytes <= maxBytes / 2;

  function send(text: string) {
    if (isBlocked) {
      waitingTexts.push(text);
      bytes += text.length;
    } else {
      isBlocked = !write(text);
    }
  }

  function sendLossNotice() {
    if (lostCount === 0) return;
    const text = createLossNotice(lostCount);
    lostCount = 0;
    send(text);
  }

  return {
    push(text) {
      if (lostCount > 0 && isHalfEmpty()) sendLossNotice();
      if (lostCount > 0 || (isBlocked && isFull(text))) lostCount++;
      else send(text);
    },
    drained() {
      isBlocked = false;
      while (!isBlocked && waitingTexts.length > 0) {
        const text = waitingTexts.shift()!;
        bytes -= text.length;
        isBlocked = !write(text);
      }
      if (!isBlocked) sendLossNotice();
    },
  };
}
