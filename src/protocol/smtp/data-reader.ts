/**
 * The receiving half of DATA (RFC 5321 4.1.1.4, 4.5.2): finds the end, removes stuffed dots and requires CRLF.
 *
 * Only `CRLF . CRLF` is the end. A lone CR or LF marks the message for rejection (`stray`): servers disagree on whether
 * such bytes end a line, and SMTP smuggling exploits this (CVE-2023-51764). Reading continues to the real end, so that
 * the client gets one reply per message.
 */
export interface DataReader {
  /**
   * Processes the next bytes. The content is a part of `chunk`, whose bytes may be moved. `rest` follows the end, once
   * the end has been found.
   */
  push(chunk: Buffer): { content: Buffer; rest?: Buffer };
  /** Returns the first bare CR or LF. */
  bareCrOrLf(): "CR" | "LF" | undefined;
}

const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;

const LINE_START = 0;
const AFTER_DOT = 1;
const AFTER_DOT_CR = 2;
const IN_LINE = 3;
const AFTER_CR = 4;

export function createDataReader(): DataReader {
  let state = LINE_START;
  let stray: "CR" | "LF" | undefined;

  function push(chunk: Buffer): { content: Buffer; rest?: Buffer } {
    // Content is compacted in place: until a dot is removed, `to` equals `at` and nothing is written.
    let to = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      switch (state) {
        case IN_LINE: {
          // Nearly all octets are within a line, so a separate loop handles them without the state machine.
          const from = at;
          while (at < chunk.length && chunk[at] !== CR && chunk[at] !== LF) at++;
          if (at > from) {
            if (to !== from) chunk.copyWithin(to, from, at);
            to += at - from;
            at--;
            continue;
          }
          if (byte === CR) state = AFTER_CR;
          else stray ??= "LF";
          break;
        }
        case LINE_START:
          if (byte === DOT) {
            state = AFTER_DOT;
            continue;
          }
          state = lineByte(byte);
          break;
        case AFTER_CR:
          if (byte === LF) state = LINE_START;
          else {
            stray ??= "CR";
            state = lineByte(byte);
          }
          break;
        case AFTER_DOT:
          // RFC 5321 4.5.2: a leading dot is either the end or stuffing; it is removed in both cases.
          if (byte === CR) {
            state = AFTER_DOT_CR;
            continue;
          }
          state = lineByte(byte);
          break;
        case AFTER_DOT_CR:
          if (byte === LF) {
            state = LINE_START;
            return { content: chunk.subarray(0, to), rest: chunk.subarray(at + 1) };
          }
          stray ??= "CR";
          state = lineByte(byte);
      }
      if (to !== at) chunk[to] = byte;
      to++;
    }
    return { content: chunk.subarray(0, to) };
  }

  /** Returns the state after a byte within a line. A stray LF does not start a line, so a dot after it is content. */
  function lineByte(byte: number): number {
    if (byte === LF) stray ??= "LF";
    return byte === CR ? AFTER_CR : IN_LINE;
  }

  return {
    push,
    bareCrOrLf: () => stray,
  };
}
