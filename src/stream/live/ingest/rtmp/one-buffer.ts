import { Socket, type SocketConstructorOpts } from "node:net";

/** Size of one read: large enough for most frames, and for data that a client sends while it waits for a response. */
const BUFFER_OCTETS = 64 * 1024;

/**
 * Wraps the connection of a newly accepted socket so that every read uses the same buffer: the data passed to "data"
 * listeners is valid until the listener returns, or until the socket is resumed if the listener paused it. A buffer per
 * read would cause most of the garbage collection.
 *
 * `onread` can only be set when a socket is created, and Node creates server sockets itself: the handle is moved into
 * another socket. `acceptedSocket` is left without a handle; its server counts it until it is destroyed. If
 * `acceptedSocket` has no handle, it is returned unchanged.
 */
export function reuseReadBuffer(acceptedSocket: Socket): Socket {
  const handleHolder = acceptedSocket as unknown as { _handle: object | null };
  const handle = handleHolder._handle;
  if (handle === null) return acceptedSocket;
  handleHolder._handle = null;
  const callback = (octets: number, buffer: Uint8Array) => {
    socket.emit("data", (buffer as Buffer).subarray(0, octets));
    return true;
  };
  // The type definitions only cover a different kind of handle.
  const options = {
    handle,
    onread: { buffer: Buffer.allocUnsafeSlow(BUFFER_OCTETS), callback },
  } as unknown as SocketConstructorOpts;
  const socket = new Socket(options);
  return socket;
}
