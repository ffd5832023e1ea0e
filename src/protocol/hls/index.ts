export { type BitRates, bitRatesOf, targetDurationOf } from "./bit-rates.ts";
export { type HlsPart, type LiveHlsSegment, type LivePlaylist, type LowLatency, writeLivePlaylist } from "./live.ts";
export { type HlsSegment, type MediaPlaylist, writeMediaPlaylist } from "./media.ts";
export { type HlsRendition, type HlsVariant, type MultivariantPlaylist, writeMultivariant } from "./multivariant.ts";
