export * from "./arc-seal.ts";
export * from "./relaxed.ts";
export { dkimSignature, messageSignature, SIGNED_FIELDS, type Signed, type SigningKey } from "./signature.ts";
