import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";
import type { DnsEndpoint } from "../provider/exchange.ts";

/**
 * Sends a message and resolves with the first accepted response. Each query uses a new socket, so that an attacker must
 * guess the port (RFC 5452 9.2). Rejects if the port is unreachable, or with the signal's reason.
 */
export function exchangeUdp<Reply>(
  { host, port }: DnsEndpoint,
  message: Buffer,
  accept: (reply: Buffer) => Reply | undefined,
  signal: AbortSignal,
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  // Timers run before sockets are read: after a stall of the event loop, the reply may already be in the socket's
  // buffer.
  const onAbort = () => void setImmediate(() => reject(signal.reason));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  socket.on("error", reject);
  socket.on("message", (reply) => {
    const acceptedReply = accept(reply);
    if (acceptedReply !== undefined) resolve(acceptedReply);
  });
  // On a connected socket only datagrams from that server arrive, and an unreachable port is reported.
  socket.connect(port, host, (err?: Error | null) =>
    err ? reject(err) : socket.send(message, (sendError) => sendError && reject(sendError)),
  );
  return promise.finally(() => {
    signal.removeEventListener("abort", onAbort);
    socket.close();
  });
}
