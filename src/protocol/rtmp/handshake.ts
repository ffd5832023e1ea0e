import { randomBytes } from "node:crypto";
import { RtmpViolation } from "./violation.ts";

/** Version of plain RTMP; version 6 is a variant with its own cipher, superseded by TLS (5.2.2). */
const VERSION = 3;
const HANDSHAKE_BYTES = 1536;

/** One side of the simple handshake (5.2). */
interface Handshake {
  /** Sent before any data is received. */
  readonly opening: Buffer;
  /**
   * Throws RtmpViolation at the first invalid octet. If `rest` is returned, the handshake is complete, and these octets
   * followed it.
   */
  push(bytes: Buffer): { send?: Buffer; rest?: Buffer };
}

/** Zero time and version indicate that the handshake has no digest. */
function createHello(): Buffer {
  const bytes = randomBytes(HANDSHAKE_BYTES);
  bytes.fill(0, 0, 8);
  return bytes;
}

/**
 * A server receives C0, C1 and C2, and a client S0, S1 and S2: a version octet, followed by two blocks of 1,536 octets.
 * The second block is ignored.
 */
export function createHandshake(role: "server" | "client"): Handshake {
  let heldBytes: Buffer = Buffer.alloc(0);
  let hasAnswered = false;

  function createResponse(peerHello: Buffer): Buffer {
    hasAnswered = true;
    return role === "client"
      ? Buffer.from(peerHello)
      : Buffer.concat([Buffer.from([VERSION]), createHello(), peerHello]);
  }

  return {
    opening: role === "server" ? Buffer.alloc(0) : Buffer.concat([Buffer.from([VERSION]), createHello()]),
    push(bytes) {
      // Always a copy: the input buffer may be reused.
      heldBytes = Buffer.concat([heldBytes, bytes]);
      if (heldBytes.length > 0 && heldBytes[0] !== VERSION)
        throw new RtmpViolation(`unsupported RTMP version ${heldBytes[0]}; expected ${VERSION}`);
      // Normally buffers at most up to C2: the peer must not send more before it gets the response, but any additional
      // data is kept.
      const send =
        !hasAnswered && heldBytes.length > HANDSHAKE_BYTES
          ? { send: createResponse(heldBytes.subarray(1, 1 + HANDSHAKE_BYTES)) }
          : {};
      if (heldBytes.length < 1 + 2 * HANDSHAKE_BYTES) return send;
      const rest = heldBytes.subarray(1 + 2 * HANDSHAKE_BYTES);
      heldBytes = Buffer.alloc(0);
      return { ...send, rest };
    },
  };
}
