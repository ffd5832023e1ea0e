export { encodeClose, encodeFrame, OPCODE } from "./frames.ts";
export { acceptance, readHandshake } from "./handshake.ts";
export { createMessageReader, type SocketEvent } from "./messages.ts";
export { CLOSE, WebSocketViolation } from "./violation.ts";
