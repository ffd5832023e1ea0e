export { certificateErrors } from "./errors.ts";
export { createHeldCertificates, type HeldCertificates } from "./held.ts";
export { readPair, type Pair } from "./pair.ts";
export { makeSelfSigned, type SelfSignedRequest } from "./self-signed.ts";
