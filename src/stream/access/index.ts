export { type AccessOptions, createAccess } from "./access.ts";
export { createCountryLookup } from "./countries.ts";
export { frameAncestors } from "./origins.ts";
export type { Access, LiveInputResolver, Viewer, AccessPurpose } from "./port.ts";
export { viewerOf } from "./viewer.ts";
