/**
 * The parts of mailauth in use. They have a module of their own so that it is loaded with the first message instead of
 * at startup, because loading it takes longer than loading most of the program. The main module of mailauth also loads
 * BIMI and an HTTP client.
 */
export { arc, getARChain } from "mailauth/lib/arc/index.js";
export { dkimVerify } from "mailauth/lib/dkim/verify.js";
export { dmarc } from "mailauth/lib/dmarc/index.js";
export { spf } from "mailauth/lib/spf/index.js";
