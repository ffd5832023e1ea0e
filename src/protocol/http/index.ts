export { HOP_BY_HOP_FIELDS } from "./hop-by-hop.ts";
export { matchesEtag, readRange, type ByteRange } from "./range.ts";
