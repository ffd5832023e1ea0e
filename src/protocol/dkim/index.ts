export * from "./arc-seal.ts";
export * from "./relaxed.ts";
export { dkimSignatures, messageSignature, type SigningKey } from "./signature.ts";
