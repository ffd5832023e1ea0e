/**
 * The parts of mailauth in use, in a module of their own: it is loaded with the first message instead of at the start,
 * because it takes longer than most of the program. The main module of mailauth also loads BIMI and an HTTP client.
 */
export { arc, getARChain } from "mailauth/lib/arc/index.js";
export { dkimVerify } from "mailauth/lib/dkim/verify.js";
export { dmarc } from "mailauth/lib/dmarc/index.js";
export { spf } from "mailauth/lib/spf/index.js";
