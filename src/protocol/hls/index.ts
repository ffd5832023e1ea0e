export { type BitRates, bitRatesOf } from "./bit-rates.ts";
export { type HlsPart, type LiveHlsSegment, type LowLatency, writeLivePlaylist } from "./live.ts";
export { type HlsSegment, writeMediaPlaylist } from "./media.ts";
export { type HlsRendition, type HlsVariant, writeMultivariant } from "./multivariant.ts";
