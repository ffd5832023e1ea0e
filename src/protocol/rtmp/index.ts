export { amfObject, type AmfObject, type AmfValue, readAmf0, writeAmf0 } from "./amf0.ts";
export { createChunkReader, type ChunkReader } from "./chunks-read.ts";
export { encodeMessage } from "./chunks-write.ts";
export { readCommand, readMetadata, readStatus, type RtmpCommand, writeCommand, writeStatus } from "./commands.ts";
export { createHandshake, type Handshake } from "./handshake.ts";
export { CHUNK_STREAM, MESSAGE, type RtmpMessage, u32, USER_CONTROL, userControl } from "./messages.ts";
export { createRtmpPeer, type RtmpPeer, type RtmpPeerOptions } from "./peer.ts";
export { RtmpViolation } from "./violation.ts";
