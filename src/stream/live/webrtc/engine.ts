/** All code that needs werift: loading it takes a quarter of a second, so it is loaded on first use. */
export { createPeers } from "./peers.ts";
export { receivePublisher } from "./publisher.ts";
export { addTracks, makeSendOnly, sendFeed } from "./viewer.ts";
