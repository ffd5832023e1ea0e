/**
 * Reusable buffers for reading and sending files: allocating a new one costs more (page faults, garbage collection)
 * than reading and sending with it.
 */
export interface SendMemory {
  take(): Buffer;
  give(buffer: Buffer): void;
}

/** `kept`: maximum number of idle buffers. More are allocated under load, and released afterwards. */
export function createSendMemory({ size, kept }: { size: number; kept: number }): SendMemory {
  const rest: Buffer[] = [];
  return {
    take: () => rest.pop() ?? Buffer.allocUnsafeSlow(size),
    give(buffer) {
      if (rest.length < kept) rest.push(buffer);
    },
  };
}
