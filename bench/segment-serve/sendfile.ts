// Experimental, and not in every build of Node.
const ffi = process.getBuiltinModule("node:ffi");

const { sendfile } = ffi.dlopen(null, {
  sendfile: { arguments: ["i32", "i32", "pointer", "u64"], return: "i64" },
}).functions;
const offset = new BigInt64Array(1);
const offsetBytes = new Uint8Array(offset.buffer);

/**
 * Sends at most `count` bytes of a file, from `position`, to a socket (sendfile(2) of Linux). Takes file descriptors.
 * Returns the number of bytes that the socket accepted; -1 if it is full or broken.
 */
export function sendFile(socket: number, file: number, position: number, count: number): number {
  offset[0] = BigInt(position);
  return Number(sendfile(socket, file, offsetBytes, BigInt(count)));
}
