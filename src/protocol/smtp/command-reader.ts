/** Splits the input into command lines. A line ends only in CR LF (RFC 5321 2.3.8). */
interface CommandReader {
  push(chunk: Buffer): void;
  /** Returns the next line without its line ending; undefined if it is incomplete. */
  read(): CommandLine | undefined;
  /** Removes and returns all input not yet consumed as lines. */
  take(): Buffer;
  /** Returns the number of octets not yet consumed as lines. */
  bufferedOctets(): number;
}

type CommandLine = { ok: true; line: Buffer } | { ok: false; reason: "bare CR or LF" | "too long" };

const CR = 0x0d;
const LF = 0x0a;
const EMPTY = Buffer.alloc(0);

/** Creates a reader for command lines of at most `maxLength` octets, without the line ending. */
export function createCommandReader(maxLength: number): CommandReader {
  let input: Buffer = EMPTY;
  /** Number of octets at the beginning of `input` known to contain no CR or LF. */
  let scannedOctets = 0;

  /**
   * Returns the offset of the first CR or LF within the longest possible line; the length of the input if there is
   * none.
   */
  function findLineEnd(): number {
    const limit = Math.min(input.length, maxLength + 1);
    while (scannedOctets < limit && input[scannedOctets] !== CR && input[scannedOctets] !== LF) scannedOctets++;
    return scannedOctets;
  }

  function consume(octets: number) {
    input = input.subarray(octets);
    scannedOctets = 0;
  }

  return {
    push(chunk) {
      input = input.length === 0 ? chunk : Buffer.concat([input, chunk]);
    },
    read() {
      const end = findLineEnd();
      if (end > maxLength) return { ok: false, reason: "too long" };
      if (end === input.length) return undefined;
      if (input[end] === LF) return { ok: false, reason: "bare CR or LF" };
      if (end + 1 === input.length) return undefined;
      if (input[end + 1] !== LF) return { ok: false, reason: "bare CR or LF" };
      const line = input.subarray(0, end);
      consume(end + 2);
      return { ok: true, line };
    },
    take() {
      const rest = input;
      input = EMPTY;
      scannedOctets = 0;
      return rest;
    },
    bufferedOctets: () => input.length,
  };
}
