import { Socket, type SocketConstructorOpts } from "node:net";

/** As much as is read at once: most pictures, and what a client sends while it is being answered. */
const OCTETS = 64 * 1024;

/**
 * The connection of a socket that was taken just now, as one that reads into the same buffer always: what "data" gives is there until the listener returns, or
 * until the socket is resumed where the listener paused it. A buffer for each read would be most of what the collector of garbage is called for.
 *
 * `onread` can be given only where a socket is made, and sockets of servers are made by Node: the connection below is moved into another one. `taken` is left
 * without any; its server counts it until it is destroyed. Where there is nothing to move, `taken` is returned as it is.
 */
export function readIntoOneBuffer(taken: Socket): Socket {
  const holder = taken as unknown as { _handle: object | null };
  const handle = holder._handle;
  if (handle === null) return taken;
  holder._handle = null;
  const callback = (octets: number, buffer: Uint8Array) => {
    socket.emit("data", (buffer as Buffer).subarray(0, octets));
    return true;
  };
  // The types know a handle of another kind only.
  const options = {
    handle,
    onread: { buffer: Buffer.allocUnsafeSlow(OCTETS), callback },
  } as unknown as SocketConstructorOpts;
  const socket = new Socket(options);
  return socket;
}
