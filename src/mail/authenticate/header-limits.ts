import { fieldRanges } from "../../protocol/rfc5322/index.ts";
import { mailErrors } from "../errors.ts";

/**
 * Limits on the header section. The verifier joins continuation lines one by one and looks up every name of every `h=`
 * in all fields: without these limits, a message of one megabyte would take minutes.
 */
const MAX_HEADER_LINES = 20_000;
/** Maximum number of signatures checked, from the top (RFC 6376 6.1 leaves the number to the verifier). */
const MAX_SIGNATURES = 10;
const MAX_SIGNATURE_BYTES = 16 * 1024;

/**
 * Returns the header section without signatures that exceed the limits. Throws UserError (554) if there are too many
 * lines. A signature that covers a removed field fails, which only affects messages crafted that way.
 */
export function verifiableHeader(block: Uint8Array): Uint8Array {
  let lines = 0;
  for (let at = block.indexOf(LF); at !== -1; at = block.indexOf(LF, at + 1)) {
    if (++lines > MAX_HEADER_LINES) throw mailErrors.headerTooComplex({ limit: MAX_HEADER_LINES });
  }
  const keptParts: Uint8Array[] = [];
  let signatures = 0;
  let from = 0;
  for (const [start, end] of fieldRanges(block)) {
    if (!isSignature(block.subarray(start, Math.min(end, start + 64)))) continue;
    if (end - start <= MAX_SIGNATURE_BYTES && ++signatures <= MAX_SIGNATURES) continue;
    keptParts.push(block.subarray(from, start));
    from = end;
  }
  return from === 0 ? block : Buffer.concat([...keptParts, block.subarray(from)]);
}

const LF = 0x0a;
const isSignature = (start: Uint8Array) =>
  /^dkim-signature[ \t\r\n]*:/i.test(Buffer.from(start.buffer, start.byteOffset, start.length).toString("latin1"));
