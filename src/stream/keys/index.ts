export { isPair, encodeJwk, encodePem, readPem } from "./forms.ts";
export { streamKeysMigrations } from "./keys-table.ts";
export { createSigningKeys } from "./keys.ts";
export type { SigningKeys } from "./port.ts";
