import { createFrameReader, OPCODE, type Frame } from "./frames.ts";
import { CLOSE, mayBeSent, WebSocketViolation } from "./violation.ts";

export type SocketEvent =
  | { kind: "text"; text: string }
  | { kind: "binary"; bytes: Buffer }
  | { kind: "ping" | "pong"; payload: Buffer }
  /** `code` is absent if the frame had none. This is always the last event. */
  | { kind: "close"; code?: number; reason: string };

interface MessageReader {
  /** Yields complete events lazily. Throws WebSocketViolation, after which reading stops. */
  push(chunk: Uint8Array): Iterable<SocketEvent>;
}

export interface MessageReaderOptions {
  /** Maximum number of octets in a message, over all its fragments. */
  maxMessage: number;
  /**
   * RFC 6455 5.1 requires a server to close the connection on an unmasked frame. `wrangler tail` sends its first frame
   * unmasked and all others masked; masking protects intermediate caches, not this server.
   */
  acceptUnmasked?: boolean;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The server side of RFC 6455 5.4 and 5.5: joins fragments, which may have control frames between them. */
export function createMessageReader({ maxMessage, acceptUnmasked = false }: MessageReaderOptions): MessageReader {
  const frames = createFrameReader({ maxPayload: Math.max(maxMessage, 125) });
  let open: { opcode: number; parts: Buffer[]; size: number } | undefined;
  let closed = false;

  function read(frame: Frame): SocketEvent | undefined {
    if (!frame.masked && !acceptUnmasked)
      throw new WebSocketViolation(CLOSE.protocolError, "a client masks its frames");
    switch (frame.opcode) {
      case OPCODE.close:
        closed = true;
        return readClose(frame.payload);
      case OPCODE.ping:
        return { kind: "ping", payload: frame.payload };
      case OPCODE.pong:
        return { kind: "pong", payload: frame.payload };
      default:
        return readData(frame);
    }
  }

  function readData({ opcode, fin, payload }: Frame): SocketEvent | undefined {
    if ((opcode === OPCODE.continuation) !== (open !== undefined))
      throw new WebSocketViolation(
        CLOSE.protocolError,
        open === undefined ? "a continuation of nothing" : "a message begins inside another",
      );
    open ??= { opcode, parts: [], size: 0 };
    open.size += payload.length;
    if (open.size > maxMessage) throw new WebSocketViolation(CLOSE.tooBig, `a message may have ${maxMessage} octets`);
    // Empty fragments would grow the list without ever reaching the size limit.
    if (payload.length > 0) open.parts.push(payload);
    if (!fin) return undefined;
    const bytes = Buffer.concat(open.parts);
    const isText = open.opcode === OPCODE.text;
    open = undefined;
    return isText ? { kind: "text", text: decode(bytes) } : { kind: "binary", bytes };
  }

  return {
    *push(chunk) {
      if (closed) return;
      for (const frame of frames.push(chunk)) {
        const event = read(frame);
        if (event !== undefined) yield event;
        if (closed) return;
      }
    },
  };
}

function readClose(payload: Buffer): SocketEvent {
  if (payload.length === 0) return { kind: "close", reason: "" };
  if (payload.length === 1 || !mayBeSent(payload.readUInt16BE()))
    throw new WebSocketViolation(CLOSE.protocolError, "a close frame without a valid code");
  return { kind: "close", code: payload.readUInt16BE(), reason: decode(payload.subarray(2)) };
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new WebSocketViolation(CLOSE.badData, "text is not UTF-8");
  }
}
