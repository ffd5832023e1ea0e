import { fieldRanges } from "../../protocol/rfc5322/index.ts";
import { mailErrors } from "../errors.ts";

/**
 * What a header section may cost. The verifier joins continuation lines one by one, and looks up every name of every signature's `h=` in all
 * fields: without these bounds one message of a megabyte buys minutes.
 */
const MAX_HEADER_LINES = 20_000;
/** Signatures that are looked at, from the top (RFC 6376 6.1 leaves the number to the verifier). */
const MAX_SIGNATURES = 10;
const MAX_SIGNATURE_BYTES = 16 * 1024;

/**
 * The header section without the signatures that are too many or too long. Throws UserError (554) for one of too many lines. Another
 * signature over a field that is left out does not hold; whoever sends such a message meant it so.
 */
export function verifiableHeader(block: Uint8Array): Uint8Array {
  let lines = 0;
  for (let at = block.indexOf(LF); at !== -1; at = block.indexOf(LF, at + 1)) {
    if (++lines > MAX_HEADER_LINES) throw mailErrors.headerTooComplex({ limit: MAX_HEADER_LINES });
  }
  const kept: Uint8Array[] = [];
  let signatures = 0;
  let from = 0;
  for (const [start, end] of fieldRanges(block)) {
    if (!isSignature(block.subarray(start, Math.min(end, start + 64)))) continue;
    if (end - start <= MAX_SIGNATURE_BYTES && ++signatures <= MAX_SIGNATURES) continue;
    kept.push(block.subarray(from, start));
    from = end;
  }
  return from === 0 ? block : Buffer.concat([...kept, block.subarray(from)]);
}

const LF = 0x0a;
const isSignature = (start: Uint8Array) =>
  /^dkim-signature[ \t\r\n]*:/i.test(Buffer.from(start.buffer, start.byteOffset, start.length).toString("latin1"));
