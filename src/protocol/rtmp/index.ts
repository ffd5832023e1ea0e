export { amfObject, type AmfObject, writeAmf0 } from "./amf0.ts";
export { readCommand, readMetadata, readStatus, type RtmpCommand, writeCommand, writeStatus } from "./commands.ts";
export { CHUNK_STREAM, MESSAGE, type RtmpMessage, writeU32, USER_CONTROL, userControl } from "./messages.ts";
export { createRtmpPeer, type RtmpPeer } from "./peer.ts";
export { RtmpViolation } from "./violation.ts";
