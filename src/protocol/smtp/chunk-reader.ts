/**
 * Reads the message in BDAT commands (RFC 3030 2). Lines must end in CR LF, as with DATA: BINARYMIME is not announced,
 * and the message may be relayed with DATA, where a bare CR or LF could end it (CVE-2023-51764).
 */
export interface ChunkReader {
  /** Starts the next chunk. */
  begin(octets: number): void;
  /** Reads input for the current chunk. Once the chunk is complete, `rest` is the input after it. */
  push(input: Buffer): { content: Buffer; rest?: Buffer };
  /** Ends the message. Returns the line ending missing from its last line. */
  end(): Buffer;
  /** Returns the number of octets missing from the current chunk. */
  missingOctets(): number;
  /** Returns the first bare CR or LF. `end` detects a CR at the end of a message. */
  bareCrOrLf(): "CR" | "LF" | undefined;
}

const CR = 0x0d;
const LF = 0x0a;
const CRLF = Buffer.from("\r\n");

export function createBdatReader(): ChunkReader {
  let missingOctets = 0;
  let stray: "CR" | "LF" | undefined;
  let afterCr = false;
  let atLineStart = true;

  function checkLineEnds(content: Buffer) {
    if (content.length === 0) return;
    if (afterCr && content[0] !== LF) stray ??= "CR";
    let lf = content.indexOf(LF);
    let cr = content.indexOf(CR);
    if (lf === 0 && afterCr) lf = content.indexOf(LF, 1);
    // Every CR must be followed by LF, and every LF preceded by CR.
    while (stray === undefined && (cr !== -1 || lf !== -1)) {
      if (cr === content.length - 1 && lf === -1) break;
      if (cr === -1 || (lf !== -1 && lf < cr)) stray = "LF";
      else if (lf !== cr + 1) stray = "CR";
      cr = content.indexOf(CR, cr + 1);
      lf = lf === -1 ? -1 : content.indexOf(LF, lf + 1);
    }
    const last = content[content.length - 1];
    afterCr = last === CR;
    atLineStart = last === LF;
  }

  return {
    begin(octets) {
      missingOctets = octets;
    },
    push(input) {
      const content = input.subarray(0, missingOctets);
      missingOctets -= content.length;
      if (stray === undefined) checkLineEnds(content);
      return missingOctets === 0 ? { content, rest: input.subarray(content.length) } : { content };
    },
    end() {
      if (afterCr) stray ??= "CR";
      return atLineStart ? CRLF.subarray(2) : CRLF;
    },
    missingOctets: () => missingOctets,
    bareCrOrLf: () => stray,
  };
}
