export { encodeClose, encodeFrame, OPCODE, type Frame } from "./frames.ts";
export { acceptance, acceptOf, readHandshake, type Handshake } from "./handshake.ts";
export { createMessageReader, type MessageReader, type SocketEvent } from "./messages.ts";
export { CLOSE, WebSocketViolation } from "./violation.ts";
