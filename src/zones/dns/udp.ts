import { createSocket, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import { once } from "node:events";
import type { Log } from "../../kernel/index.ts";
import type { RateLimitDecision } from "./rate-limit.ts";
import type { Respond } from "./respond.ts";

interface UdpDeps {
  respond: Respond;
  log: Log;
  limit: (address: string) => RateLimitDecision;
}

/** Maximum number of queries in progress; further ones are dropped, and the client retries. */
const MAX_PENDING_QUERIES = 1000;
const TC = 0x02;

/** Rejects if the port is in use. */
export async function listenUdp({ respond, log, limit }: UdpDeps, host: string, port: number): Promise<Socket> {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  let pendingCount = 0;

  async function serve(message: Buffer, address: string, from: number) {
    const verdict = limit(address);
    if (verdict === "drop") return;
    const reply = verdict === "truncate" ? truncateReply(message) : await respond(message, "udp");
    // A failed send is equivalent to a lost datagram, which UDP allows.
    if (reply !== undefined && !isClosed) socket.send(reply, from, address, () => {});
  }

  let isClosed = false;
  socket.on("close", () => (isClosed = true));
  socket.on("message", (message, { address, port: from }) => {
    // Port 0 cannot receive datagrams.
    if (from === 0 || pendingCount >= MAX_PENDING_QUERIES) return;
    pendingCount++;
    void serve(message, address, from)
      .catch((err: unknown) => log.error({ err }, "dns: failed to answer a query over UDP"))
      .finally(() => pendingCount--);
  });
  socket.bind(port, host);
  try {
    await once(socket, "listening");
  } catch (err) {
    socket.close();
    throw err;
  }
  socket.on("error", (err) => log.warn({ err }, "dns: UDP socket failed"));
  return socket;
}

/** Returns a response that makes the client retry over TCP: the question with TC and no records. */
function truncateReply(message: Buffer): Buffer | undefined {
  if (message.length < 12 || (message[2]! & 0x80) !== 0) return undefined;
  const reply = Buffer.alloc(12);
  message.copy(reply, 0, 0, 2);
  reply[2] = 0x80 | (message[2]! & 0x79) | TC;
  return reply;
}
