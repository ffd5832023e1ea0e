import type { Socket } from "node:net";
import { readProxyHeader } from "./header.ts";

/**
 * Reads the PROXY header at the beginning of a connection; later octets stay in the socket. Calls `done` once. On
 * failure the socket is destroyed.
 */
export function readProxied(
  socket: Socket,
  withinMs: number,
  done: (err?: Error, client?: { ip: string; port: number }) => void,
): void {
  let bytes = Buffer.alloc(0);
  const timer = setTimeout(() => finish(new Error("it did not arrive in time")), withinMs).unref();

  function finish(err?: Error, client?: { ip: string; port: number }) {
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", onDisconnect).off("close", onDisconnect);
    if (err !== undefined) socket.on("error", () => {}).destroy();
    socket.off("error", finish);
    done(err, client);
  }

  function onDisconnect() {
    finish(new Error("the connection ended before the header"));
  }

  function onReadable() {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      bytes = Buffer.concat([bytes, chunk]);
      const header = readProxyHeader(bytes);
      if (header.state === "short") continue;
      if (header.state === "bad") return finish(new Error(header.why));
      const rest = bytes.subarray(header.length);
      if (rest.length > 0) socket.unshift(rest);
      return finish(undefined, header.client);
    }
  }

  socket.on("readable", onReadable).on("end", onDisconnect).on("close", onDisconnect).on("error", finish);
}
