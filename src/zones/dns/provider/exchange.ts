import { once } from "node:events";
import { connect } from "node:net";

export interface DnsEndpoint {
  /** IP address or host name. */
  host: string;
  port: number;
}

const TIMEOUT_MS = 10_000;

/** Sends a message over TCP and resolves with the response. Rejects after ten seconds, or when the connection fails. */
export async function exchange({ host, port }: DnsEndpoint, message: Buffer, signal?: AbortSignal): Promise<Buffer> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const socket = connect({ host, port, signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]) });
  try {
    await once(socket, "connect");
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    socket.write(Buffer.concat([length, message]));
    let received = Buffer.alloc(0);
    // There is only one message, so the length is at most 64 KB.
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const reply = received.subarray(2, 2 + received.readUInt16BE(0));
        if (reply.length < 12 || reply.readUInt16BE(0) !== message.readUInt16BE(0))
          throw new Error("the response does not match the request");
        return reply;
      }
    }
    throw new Error("the connection was closed before the response");
  } finally {
    socket.destroy();
  }
}
