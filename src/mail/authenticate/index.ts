export { createAuthenticator, type Authenticator } from "./authenticate.ts";
export type { Resolver } from "./resolver.ts";
export { setUpAuthenticator } from "./setup.ts";
export { createSigner, type PemSigningKey, type Signer, type Signing } from "./sign.ts";
export { traceDetail, type Verdict } from "./verdict.ts";
