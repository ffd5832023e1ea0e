/** All that needs werift: a quarter of a second to load, which only those wait for who use it. */
export { createPeers } from "./peers.ts";
export { receivePublisher } from "./publisher.ts";
export { giveTracks, sendOnly, showTo } from "./viewer.ts";
