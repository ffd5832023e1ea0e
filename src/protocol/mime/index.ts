export { boundaryOf, mediaTypeOf, transferEncodingOf } from "./content-type.ts";
export {
  createMimeScanner,
  MimeLimitError,
  MIME_LIMITS,
  type Entity,
  type MimeEvents,
  type MimeScanner,
} from "./scanner.ts";
export { planSevenBit, sevenBitBody, sevenBitHeader, type NotEncodable, type SevenBitPlan } from "./seven-bit.ts";
export { createBase64, createQuotedPrintable, type Encoder } from "./transfer-encoding.ts";
