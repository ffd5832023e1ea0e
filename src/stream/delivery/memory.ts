/** Buffers that files are read into and sent from, used again and again: a new one costs more (page faults, collection) than what is done with it. */
export interface SendMemory {
  take(): Buffer;
  give(buffer: Buffer): void;
}

/** `kept`: how many rest at most. More than that are made when more is under way, and dropped afterwards. */
export function createSendMemory({ size, kept }: { size: number; kept: number }): SendMemory {
  const rest: Buffer[] = [];
  return {
    take: () => rest.pop() ?? Buffer.allocUnsafeSlow(size),
    give(buffer) {
      if (rest.length < kept) rest.push(buffer);
    },
  };
}
