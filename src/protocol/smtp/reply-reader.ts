/** Splits what a server sends into replies of one or many lines (RFC 5321 4.2.1). */
interface ReplyReader {
  push(octets: Buffer): void;
  /** Returns the next complete reply: its lines, joined by LF. */
  read(): string | undefined;
  /** True if a reply, or a part of one, is longer than the limit. */
  hasOverflowed(): boolean;
  /** Returns the number of octets of an incomplete reply. */
  bufferedOctets(): number;
}

const LF = 0x0a;
const EMPTY = Buffer.alloc(0);

/** `maxOctets`: maximum length of a reply. */
export function createReplyReader(maxOctets: number): ReplyReader {
  let input: Buffer = EMPTY;
  /** Octets at the beginning of `input` that are complete lines of an incomplete reply. */
  let lines = 0;
  let hasOverflowed = false;

  return {
    push(octets) {
      input = input.length === 0 ? octets : Buffer.concat([input, octets]);
    },
    read() {
      for (;;) {
        const end = input.indexOf(LF, lines);
        if ((end === -1 ? input.length : end) > maxOctets) hasOverflowed = true;
        if (hasOverflowed || end === -1) return undefined;
        // A line without a code ends the reply too; the caller sees that it is malformed.
        const isContinued = /^\d{3}-/.test(input.toString("latin1", lines, Math.min(end, lines + 4)));
        lines = end + 1;
        if (isContinued) continue;
        const reply = input.toString("utf8", 0, end).replace(/\r(?=\n|$)/g, "");
        input = input.subarray(lines);
        lines = 0;
        return reply;
      }
    },
    hasOverflowed: () => hasOverflowed,
    bufferedOctets: () => input.length,
  };
}
