import { randomBytes } from "node:crypto";
import { RtmpViolation } from "./violation.ts";

/** RTMP in the clear; 6 is that with a cipher of its own, which TLS has replaced (5.2.2). */
const VERSION = 3;
const SIZE = 1536;

/** The simple handshake (5.2), of one side. */
export interface Handshake {
  /** What is to be sent before anything came. */
  readonly opening: Buffer;
  /** Throws RtmpViolation at the first octet that is wrong. `rest`: it is over, and this is what followed it. */
  push(bytes: Buffer): { send?: Buffer; rest?: Buffer };
}

/** Time zero and version zero: that is how the other side knows that there is no digest in it. */
function hello(): Buffer {
  const bytes = randomBytes(SIZE);
  bytes.fill(0, 0, 8);
  return bytes;
}

/** What comes is C0, C1 and C2 for a server, and S0, S1 and S2 for a client: an octet of version, and twice 1,536 octets of which the second are not looked at. */
export function createHandshake(role: "server" | "client"): Handshake {
  let held: Buffer = Buffer.alloc(0);
  let answered = false;

  function answer(peers: Buffer): Buffer {
    answered = true;
    return role === "client" ? Buffer.from(peers) : Buffer.concat([Buffer.from([VERSION]), hello(), peers]);
  }

  return {
    opening: role === "server" ? Buffer.alloc(0) : Buffer.concat([Buffer.from([VERSION]), hello()]),
    push(bytes) {
      // A copy in any case: what came may be written over by what comes next.
      held = Buffer.concat([held, bytes]);
      if (held.length > 0 && held[0] !== VERSION)
        throw new RtmpViolation(`it begins with ${held[0]}, and RTMP with ${VERSION}`);
      // It is held up to C2 at most, so that this is small: nothing may follow before the other side has our answer, but what does follow is kept.
      const send = !answered && held.length > SIZE ? { send: answer(held.subarray(1, 1 + SIZE)) } : {};
      if (held.length < 1 + 2 * SIZE) return send;
      const rest = held.subarray(1 + 2 * SIZE);
      held = Buffer.alloc(0);
      return { ...send, rest };
    },
  };
}
