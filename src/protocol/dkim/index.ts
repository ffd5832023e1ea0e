export * from "./arc-seal.ts";
export * from "./relaxed.ts";
export { dkimSignature, messageSignature, type SigningKey } from "./signature.ts";
