export * from "./arc-seal.ts";
export * from "./relaxed.ts";
export { dkimSignature, SIGNED_FIELDS, type Signed, type SigningKey } from "./signature.ts";
