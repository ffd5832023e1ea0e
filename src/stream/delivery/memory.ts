/**
 * Reusable buffers for reading and sending files: allocating a new one costs more (page faults, garbage collection)
 * than reading and sending with it.
 */
export interface BufferPool {
  acquire(): Buffer;
  release(buffer: Buffer): void;
}

/** `maxIdle`: maximum number of idle buffers. More are allocated under load, and released afterwards. */
export function createBufferPool({ size, maxIdle }: { size: number; maxIdle: number }): BufferPool {
  const rest: Buffer[] = [];
  return {
    acquire: () => rest.pop() ?? Buffer.allocUnsafeSlow(size),
    release(buffer) {
      if (rest.length < maxIdle) rest.push(buffer);
    },
  };
}
