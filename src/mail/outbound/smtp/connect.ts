import { connect as connectSocket, isIPv6, type Socket } from "node:net";
import type { NextHop } from "./next-hops.ts";

interface ConnectOptions {
  timeoutMs: number;
  /** The local address, by family. */
  localAddress?: { 4?: string; 6?: string };
}

/** Resolves with a connected socket; rejects with the system's error, with ETIMEDOUT, or with the signal's reason. */
export function openSocket(
  { address, port }: NextHop,
  { timeoutMs, localAddress }: ConnectOptions,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const from = localAddress?.[isIPv6(address) ? 6 : 4];
    // Without noDelay, the end of the data waits for the server's delayed ACK of the content: 40 ms for each message.
    const socket = connectSocket({
      host: address,
      port,
      noDelay: true,
      ...(from !== undefined && { localAddress: from }),
    });
    const timer = setTimeout(
      () => fail(Object.assign(new Error(`no connection within ${timeoutMs} ms`), { code: "ETIMEDOUT" })),
      timeoutMs,
    );
    const onAbort = () => fail(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });

    function settle() {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      socket.removeListener("error", fail);
    }
    function fail(err: unknown) {
      settle();
      socket.on("error", () => {}).destroy();
      reject(err instanceof Error ? err : new Error(String(err)));
    }
    socket.once("error", fail).once("connect", () => {
      settle();
      resolve(socket);
    });
  });
}
